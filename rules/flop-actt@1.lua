-- Actual time.

local merge = require("merge")

---@type msgx.FLOP_ACTT.Script
return {
  kind   = "FLOP-ACTT",
  writes = { "ACTT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { ACTT = merge.value })
  end,
}
