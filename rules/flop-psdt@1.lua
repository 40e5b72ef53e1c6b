-- The planned stands of a flight.
-- The message carries the whole list.
-- The same stand twice is two allocations.

local merge = require("merge")

---@type msgx.FLOP_PSDT.Script
return {
  kind   = "FLOP-PSDT",
  writes = { "PSDT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { PSDT = merge.replace })
  end,
}
