-- The VIPs of a flight: how many, and of what rank.

local merge = require("merge")

local modes = {
  VIPP = merge.value,
  VIPR = merge.value,
}

---@type msgx.FLOP_VIPP.Script
return {
  kind   = "FLOP-VIPP",
  writes = { "VIPP", "VIPR" },
  decide = function(view, msg)
    return merge.flop(view, msg, modes)
  end,
}
