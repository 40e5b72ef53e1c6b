-- Previous station, estimated departure.

local merge = require("merge")

---@type msgx.FLOP_PEDT.Script
return {
  kind   = "FLOP-PEDT",
  writes = { "PEDT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { PEDT = merge.value })
  end,
}
