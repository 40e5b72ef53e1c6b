-- Next station, estimated arrival.

local merge = require("merge")

---@type msgx.FLOP_NEAT.Script
return {
  kind   = "FLOP-NEAT",
  writes = { "NEAT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { NEAT = merge.value })
  end,
}
