-- Engine started.

local merge = require("merge")

---@type msgx.FLOP_EGST.Script
return {
  kind   = "FLOP-EGST",
  writes = { "EGST" },
  decide = function(view, msg)
    return merge.flop(view, msg, { EGST = merge.value })
  end,
}
