-- The doors of a flight.
-- Each record takes the place of the one with the same POID; the others stay.
-- A record with an empty POTM takes the place of that door's record: its time is gone.

local merge = require("merge")

local modes = {
  PORT = merge.by_key("POID"),
}

---@type msgx.FLOP_PORT.Script
return {
  kind   = "FLOP-PORT",
  writes = { "PORT" },
  decide = function(view, msg)
    return merge.flop(view, msg, modes)
  end,
}
