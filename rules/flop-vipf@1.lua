-- The VIPs of a flight.
-- Each record takes the place of the one with the same VPCD; the others stay.
-- A VIP comes with all its services (VIPT).

local merge = require("merge")

local modes = {
  VIPF = merge.by_key("VPCD"),
}

---@type msgx.FLOP_VIPF.Script
return {
  kind   = "FLOP-VIPF",
  writes = { "VIPF" },
  decide = function(view, msg)
    return merge.flop(view, msg, modes)
  end,
}
