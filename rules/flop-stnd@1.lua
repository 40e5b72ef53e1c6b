-- Current stand.

local merge = require("merge")

---@type msgx.FLOP_STND.Script
return {
  kind   = "FLOP-STND",
  writes = { "STND" },
  decide = function(view, msg)
    return merge.flop(view, msg, { STND = merge.value })
  end,
}
