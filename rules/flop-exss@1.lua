-- The external status of a flight and its remark.

local merge = require("merge")

local modes = {
  EXSC = merge.value,
  EXSR = merge.value,
}

---@type msgx.FLOP_EXSS.Script
return {
  kind   = "FLOP-EXSS",
  writes = { "EXSC", "EXSR" },
  decide = function(view, msg)
    return merge.flop(view, msg, modes)
  end,
}
