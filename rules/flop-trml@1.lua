-- Terminal.

local merge = require("merge")

---@type msgx.FLOP_TRML.Script
return {
  kind   = "FLOP-TRML",
  writes = { "TRML" },
  decide = function(view, msg)
    return merge.flop(view, msg, { TRML = merge.value })
  end,
}
