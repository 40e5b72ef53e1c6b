-- Aircraft type.

local merge = require("merge")

---@type msgx.FLOP_ACFT.Script
return {
  kind   = "FLOP-ACFT",
  writes = { "ACFT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { ACFT = merge.value })
  end,
}
