-- The air bridges of a flight.
-- The message carries the whole list.

local merge = require("merge")

---@type msgx.FLOP_ABTM.Script
return {
  kind   = "FLOP-ABTM",
  writes = { "ABTM" },
  decide = function(view, msg)
    return merge.flop(view, msg, { ABTM = merge.replace })
  end,
}
