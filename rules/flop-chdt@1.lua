-- The baggage chutes of a flight.
-- The message carries the whole list.
-- The same chute twice is two allocations.

local merge = require("merge")

---@type msgx.FLOP_CHDT.Script
return {
  kind   = "FLOP-CHDT",
  writes = { "CHDT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { CHDT = merge.replace })
  end,
}
