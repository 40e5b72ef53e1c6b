-- Runway.

local merge = require("merge")

---@type msgx.FLOP_RUNW.Script
return {
  kind   = "FLOP-RUNW",
  writes = { "RUNW" },
  decide = function(view, msg)
    return merge.flop(view, msg, { RUNW = merge.value })
  end,
}
