-- Final time.

local merge = require("merge")

return {
  kind   = "FLOP-FINT",
  writes = { "FINT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FINT = merge.value })
  end,
}
