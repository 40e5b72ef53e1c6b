-- The planned route of a flight.
-- The message carries the whole list.

local merge = require("merge")

---@type msgx.FLOP_ROUT.Script
return {
  kind   = "FLOP-ROUT",
  writes = { "ROUT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { ROUT = merge.replace })
  end,
}
