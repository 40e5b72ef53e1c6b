-- Reference data of any type. ADD, UPD, DNLD and RESP write their records, DEL removes
-- them; a record that a message does not carry stays. A wrong RECS is named,
-- no more. A record without a key never comes here: the host calls the message malformed.

---@type msgx.Reference.Script
return {
  kinds  = { "REF-*" },
  writes = {},
  ops    = {},
  decide = function(_, msg)
    local reference_type = msg.kind:sub(#"REF-" + 1)
    local deletes = msg.meta.styp == "DEL"
    local refs, notes = {}, {}
    if msg.recs and msg.recs ~= #msg.records then
      table.insert(notes, { reason = "record-count " .. msg.recs .. ", found " .. #msg.records })
    end
    for _, record in ipairs(msg.records) do
      if deletes then
        table.insert(refs, { type = reference_type, key = record.key, op = "delete" })
      else
        table.insert(refs, { type = reference_type, key = record.key, op = "upsert", value = record.value })
      end
    end
    return { refs = refs, notes = notes }
  end,
}
