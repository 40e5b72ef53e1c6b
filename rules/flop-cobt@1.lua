-- Calculated off-block time.

local merge = require("merge")

---@type msgx.FLOP_COBT.Script
return {
  kind   = "FLOP-COBT",
  writes = { "COBT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { COBT = merge.value })
  end,
}
