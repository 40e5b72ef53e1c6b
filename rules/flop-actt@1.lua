-- Actual time.

local merge = require("merge")

return {
  kind   = "FLOP-ACTT",
  writes = { "ACTT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { ACTT = merge.value })
  end,
}
