-- The gate allocations of a flight.
-- The message carries the whole list.
-- The same gate twice is two allocations.

local merge = require("merge")

---@type msgx.FLOP_GTDT.Script
return {
  kind   = "FLOP-GTDT",
  writes = { "GTDT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { GTDT = merge.replace })
  end,
}
