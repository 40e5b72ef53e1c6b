-- Remark.

local merge = require("merge")

---@type msgx.FLOP_REMC.Script
return {
  kind   = "FLOP-REMC",
  writes = { "REMC" },
  decide = function(view, msg)
    return merge.flop(view, msg, { REMC = merge.value })
  end,
}
