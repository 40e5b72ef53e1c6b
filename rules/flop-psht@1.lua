-- The push-backs of a flight.
-- Each record takes the place of the one with the same PUST and PSID; the others stay.
-- A record that lacks PUST or PSID has no key and is appended.

local merge = require("merge")

local modes = {
  PSHT = merge.by_key("PUST", "PSID"),
}

---@type msgx.FLOP_PSHT.Script
return {
  kind   = "FLOP-PSHT",
  writes = { "PSHT" },
  decide = function(view, msg)
    return merge.flop(view, msg, modes)
  end,
}
