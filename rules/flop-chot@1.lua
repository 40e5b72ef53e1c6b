-- The chocks of a flight.
-- The message carries the whole list.

local merge = require("merge")

return {
  kind   = "FLOP-CHOT",
  writes = { "CHOT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { CHOT = merge.replace })
  end,
}
