-- Registration.

local merge = require("merge")

---@type msgx.FLOP_RENO.Script
return {
  kind   = "FLOP-RENO",
  writes = { "RENO" },
  decide = function(view, msg)
    return merge.flop(view, msg, { RENO = merge.value })
  end,
}
