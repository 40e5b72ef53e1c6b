-- Engine start requested.

local merge = require("merge")

---@type msgx.FLOP_EGSR.Script
return {
  kind   = "FLOP-EGSR",
  writes = { "EGSR" },
  decide = function(view, msg)
    return merge.flop(view, msg, { EGSR = merge.value })
  end,
}
