-- The services of a flight.
-- Each record takes the place of the one with the same SRTC; the others stay.

local merge = require("merge")

local modes = {
  SRVT = merge.by_key("SRTC"),
}

---@type msgx.FLOP_SRVT.Script
return {
  kind   = "FLOP-SRVT",
  writes = { "SRVT" },
  decide = function(view, msg)
    return merge.flop(view, msg, modes)
  end,
}
