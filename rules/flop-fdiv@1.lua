-- Diversion.
-- The object is taken as a whole.

local merge = require("merge")

return {
  kind   = "FLOP-FDIV",
  writes = { "FDIV" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FDIV = merge.value })
  end,
}
