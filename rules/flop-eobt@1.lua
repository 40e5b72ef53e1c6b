-- Estimated off-block time.

local merge = require("merge")

---@type msgx.FLOP_EOBT.Script
return {
  kind   = "FLOP-EOBT",
  writes = { "EOBT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { EOBT = merge.value })
  end,
}
