-- Abnormality.
-- The object is taken as a whole.

local merge = require("merge")

---@type msgx.FLOP_FLAB.Script
return {
  kind   = "FLOP-FLAB",
  writes = { "FLAB" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FLAB = merge.value })
  end,
}
