-- The deletion of a flight. A flight that is unknown or already deleted is as it should
-- be: the message succeeds without effect.

---@type msgx.FDEL.Script
return {
  kind   = "FDEL",
  writes = {},
  ops    = { "delete" },
  decide = function(view, msg)
    local changes, notes, named = {}, {}, {}
    for _, record in ipairs(msg.records) do
      local flid = record.flid
      local current = view.flights[flid]
      if not current then
        table.insert(notes, { flid = flid, reason = "flight-unknown" })
      elseif current.state == "DELETED" then
        table.insert(notes, { flid = flid, reason = "flight-deleted" })
      elseif not named[flid] then
        named[flid] = true
        table.insert(changes, { flid = flid, op = "delete" })
      end
    end
    return { changes = changes, notes = notes }
  end,
}
