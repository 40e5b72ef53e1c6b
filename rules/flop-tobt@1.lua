-- Target off-block time.

local merge = require("merge")

---@type msgx.FLOP_TOBT.Script
return {
  kind   = "FLOP-TOBT",
  writes = { "TOBT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { TOBT = merge.value })
  end,
}
