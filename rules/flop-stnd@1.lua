-- Current stand.

local merge = require("merge")

return {
  kind   = "FLOP-STND",
  writes = { "STND" },
  decide = function(view, msg)
    return merge.flop(view, msg, { STND = merge.value })
  end,
}
