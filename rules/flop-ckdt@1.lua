-- The check-in counters of a flight.
-- The message carries the whole list.
-- The same counter twice is two allocations.

local merge = require("merge")

---@type msgx.FLOP_CKDT.Script
return {
  kind   = "FLOP-CKDT",
  writes = { "CKDT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { CKDT = merge.replace })
  end,
}
