-- Approved time.

local merge = require("merge")

---@type msgx.FLOP_APPT.Script
return {
  kind   = "FLOP-APPT",
  writes = { "APPT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { APPT = merge.value })
  end,
}
