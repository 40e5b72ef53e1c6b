-- Flight status.

local merge = require("merge")

return {
  kind   = "FLOP-FTSS",
  writes = { "FTSS" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FTSS = merge.value })
  end,
}
