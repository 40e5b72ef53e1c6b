-- Seats.

local merge = require("merge")

---@type msgx.FLOP_MAXP.Script
return {
  kind   = "FLOP-MAXP",
  writes = { "MAXP" },
  decide = function(view, msg)
    return merge.flop(view, msg, { MAXP = merge.value })
  end,
}
