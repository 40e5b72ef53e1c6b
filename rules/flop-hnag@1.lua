-- The handling agents of a flight: passenger, ground and maintenance.

local merge = require("merge")

local modes = {
  PHAG = merge.value,
  FHAG = merge.value,
  MHAG = merge.value,
}

---@type msgx.FLOP_HNAG.Script
return {
  kind   = "FLOP-HNAG",
  writes = { "PHAG", "FHAG", "MHAG" },
  decide = function(view, msg)
    return merge.flop(view, msg, modes)
  end,
}
