-- The daily schedule, pushed (DNLD) or asked for (RESP).
-- Every flight it carries is created, updated or revived; no other flight is touched.
-- It overwrites what operations have set where both carry a field.

local merge = require("merge")

---@type msgx.Schedule.Script
return {
  kinds  = { "SCHD-DNLD", "SCHD-RESP" },
  writes = { "*" },
  ops    = { "create", "update", "revive" },
  decide = function(view, msg)
    return merge.schedule(view, msg, {
      value  = merge.value,
      list   = merge.replace,
      absent = view.settings.absent_optional,
    })
  end,
}
