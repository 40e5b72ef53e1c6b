-- Flight status.

local merge = require("merge")

---@type msgx.FLOP_FTSS.Script
return {
  kind   = "FLOP-FTSS",
  writes = { "FTSS" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FTSS = merge.value })
  end,
}
