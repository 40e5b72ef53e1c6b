-- Engine start requested.

local merge = require("merge")

return {
  kind   = "FLOP-EGSR",
  writes = { "EGSR" },
  decide = function(view, msg)
    return merge.flop(view, msg, { EGSR = merge.value })
  end,
}
