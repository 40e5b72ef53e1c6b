-- Diversion.
-- The object is taken as a whole.

local merge = require("merge")

---@type msgx.FLOP_FDIV.Script
return {
  kind   = "FLOP-FDIV",
  writes = { "FDIV" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FDIV = merge.value })
  end,
}
