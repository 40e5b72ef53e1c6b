-- Estimated time.

local merge = require("merge")

return {
  kind   = "FLOP-ESTT",
  writes = { "ESTT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { ESTT = merge.value })
  end,
}
