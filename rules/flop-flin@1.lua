-- Domestic, international or mixed.

local merge = require("merge")

---@type msgx.FLOP_FLIN.Script
return {
  kind   = "FLOP-FLIN",
  writes = { "FLIN" },
  decide = function(view, msg)
    return merge.flop(view, msg, { FLIN = merge.value })
  end,
}
