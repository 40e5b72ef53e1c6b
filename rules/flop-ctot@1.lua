-- Calculated take-off time.

local merge = require("merge")

---@type msgx.FLOP_CTOT.Script
return {
  kind   = "FLOP-CTOT",
  writes = { "CTOT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { CTOT = merge.value })
  end,
}
