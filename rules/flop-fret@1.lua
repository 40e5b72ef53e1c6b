-- Return.
-- The object is taken as a whole.

local merge = require("merge")

---@type msgx.FLOP_FRET.Script
return {
  kind   = "FLOP-FRET",
  writes = { "FRET" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FRET = merge.value })
  end,
}
