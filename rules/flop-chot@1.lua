-- The chocks of a flight.
-- The message carries the whole list.

local merge = require("merge")

---@type msgx.FLOP_CHOT.Script
return {
  kind   = "FLOP-CHOT",
  writes = { "CHOT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { CHOT = merge.replace })
  end,
}
