-- Next station, actual arrival.

local merge = require("merge")

---@type msgx.FLOP_NAAT.Script
return {
  kind   = "FLOP-NAAT",
  writes = { "NAAT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { NAAT = merge.value })
  end,
}
