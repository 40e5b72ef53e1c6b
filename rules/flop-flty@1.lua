-- Flight type.

local merge = require("merge")

---@type msgx.FLOP_FLTY.Script
return {
  kind   = "FLOP-FLTY",
  writes = { "FLTY" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FLTY = merge.value })
  end,
}
