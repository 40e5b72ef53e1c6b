-- The turnaround of a flight: operator, number and FLID of the other leg.

local merge = require("merge")

local modes = {
  TAOP = merge.value,
  TAFL = merge.value,
  TAID = merge.value,
}

---@type msgx.FLOP_TAOP.Script
return {
  kind   = "FLOP-TAOP",
  writes = { "TAOP", "TAFL", "TAID" },
  decide = function(view, msg)
    return merge.flop(view, msg, modes)
  end,
}
