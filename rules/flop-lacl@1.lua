-- Last call.

local merge = require("merge")

return {
  kind   = "FLOP-LACL",
  writes = { "LACL" },
  decide = function(view, msg)
    return merge.flop(view, msg, { LACL = merge.value })
  end,
}
