-- Internal estimate.

local merge = require("merge")

---@type msgx.FLOP_IEST.Script
return {
  kind   = "FLOP-IEST",
  writes = { "IEST" },
  decide = function(view, msg)
    return merge.flop(view, msg, { IEST = merge.value })
  end,
}
