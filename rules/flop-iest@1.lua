-- Internal estimate.

local merge = require("merge")

return {
  kind   = "FLOP-IEST",
  writes = { "IEST" },
  decide = function(view, msg)
    return merge.flop(view, msg, { IEST = merge.value })
  end,
}
