-- Registration.

local merge = require("merge")

return {
  kind   = "FLOP-RENO",
  writes = { "RENO" },
  decide = function(view, msg)
    return merge.flop(view, msg, { RENO = merge.value })
  end,
}
