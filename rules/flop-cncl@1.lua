-- Cancelled at.

local merge = require("merge")

---@type msgx.FLOP_CNCL.Script
return {
  kind   = "FLOP-CNCL",
  writes = { "CNCL" },
  decide = function(view, msg)
    return merge.flop(view, msg, { CNCL = merge.value })
  end,
}
