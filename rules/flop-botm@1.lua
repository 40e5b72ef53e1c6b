-- Boarding opened.

local merge = require("merge")

return {
  kind   = "FLOP-BOTM",
  writes = { "BOTM" },
  decide = function(view, msg)
    return merge.flop(view, msg, { BOTM = merge.value })
  end,
}
