-- Estimated time.

local merge = require("merge")

---@type msgx.FLOP_ESTT.Script
return {
  kind   = "FLOP-ESTT",
  writes = { "ESTT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { ESTT = merge.value })
  end,
}
