-- Previous station, actual departure.

local merge = require("merge")

---@type msgx.FLOP_PADT.Script
return {
  kind   = "FLOP-PADT",
  writes = { "PADT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { PADT = merge.value })
  end,
}
