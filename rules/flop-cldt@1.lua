-- The baggage belts of a flight.
-- The message carries the whole list.
-- The same belt twice is two allocations.

local merge = require("merge")

---@type msgx.FLOP_CLDT.Script
return {
  kind   = "FLOP-CLDT",
  writes = { "CLDT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { CLDT = merge.replace })
  end,
}
