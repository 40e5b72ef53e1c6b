-- Final time.

local merge = require("merge")

---@type msgx.FLOP_FINT.Script
return {
  kind   = "FLOP-FINT",
  writes = { "FINT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FINT = merge.value })
  end,
}
