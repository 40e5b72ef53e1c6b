-- The delays of a flight.
-- Each record takes the place of the one with the same CODE; the others stay.

local merge = require("merge")

local modes = {
  DELY = merge.by_key("CODE"),
}

---@type msgx.FLOP_DELY.Script
return {
  kind   = "FLOP-DELY",
  writes = { "DELY" },
  decide = function(view, msg)
    return merge.flop(view, msg, modes)
  end,
}
