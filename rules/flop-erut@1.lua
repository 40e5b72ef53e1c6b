-- The estimated route of a flight.
-- The message carries the whole list.

local merge = require("merge")

---@type msgx.FLOP_ERUT.Script
return {
  kind   = "FLOP-ERUT",
  writes = { "ERUT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { ERUT = merge.replace })
  end,
}
