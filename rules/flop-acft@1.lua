-- Aircraft type.

local merge = require("merge")

return {
  kind   = "FLOP-ACFT",
  writes = { "ACFT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { ACFT = merge.value })
  end,
}
