-- The taxi times of a flight.
-- Each record takes the place of the one with the same TRST; the others stay.

local merge = require("merge")

local modes = {
  TIPT = merge.by_key("TRST"),
}

---@type msgx.FLOP_TIPT.Script
return {
  kind   = "FLOP-TIPT",
  writes = { "TIPT" },
  decide = function(view, msg)
    return merge.flop(view, msg, modes)
  end,
}
