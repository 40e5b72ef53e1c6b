-- Runway.

local merge = require("merge")

return {
  kind   = "FLOP-RUNW",
  writes = { "RUNW" },
  decide = function(view, msg)
    return merge.flop(view, msg, { RUNW = merge.value })
  end,
}
