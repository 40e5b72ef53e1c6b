-- Last call.

local merge = require("merge")

---@type msgx.FLOP_LACL.Script
return {
  kind   = "FLOP-LACL",
  writes = { "LACL" },
  decide = function(view, msg)
    return merge.flop(view, msg, { LACL = merge.value })
  end,
}
