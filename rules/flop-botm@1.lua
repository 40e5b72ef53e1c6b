-- Boarding opened.

local merge = require("merge")

---@type msgx.FLOP_BOTM.Script
return {
  kind   = "FLOP-BOTM",
  writes = { "BOTM" },
  decide = function(view, msg)
    return merge.flop(view, msg, { BOTM = merge.value })
  end,
}
