-- An additional flight: created, updated or revived with the values it carries.
-- What is empty or absent stays as it is.

local merge = require("merge")

local how = {
  value = merge.set_only(merge.value),
  list  = merge.set_only(merge.replace),
}

---@type msgx.Schedule.Script
return {
  kind   = "SCHD-ADFT",
  writes = { "*" },
  ops    = { "create", "update", "revive" },
  decide = function(view, msg)
    return merge.schedule(view, msg, how)
  end,
}
