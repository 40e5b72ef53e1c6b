-- Abnormality.
-- The object is taken as a whole.

local merge = require("merge")

return {
  kind   = "FLOP-FLAB",
  writes = { "FLAB" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FLAB = merge.value })
  end,
}
