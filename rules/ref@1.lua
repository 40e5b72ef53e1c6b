-- Reference data of any type. ADD, UPD, DNLD and RESP write their records, DEL removes
-- them; a record that a message does not carry stays. A wrong RECS is named, no more.

return {
  kinds  = { "REF-*" },
  writes = {},
  ops    = {},
  decide = function(_, msg)
    local op = msg.meta.styp == "DEL" and "delete" or "upsert"
    local refs, notes = {}, {}
    if msg.recs and msg.recs ~= #msg.records then
      table.insert(notes, { reason = "record-count " .. msg.recs .. ", found " .. #msg.records })
    end
    for _, record in ipairs(msg.records) do
      table.insert(refs, {
        type  = msg.kind:sub(#"REF-" + 1),
        key   = record.key,
        op    = op,
        value = op == "upsert" and record.value or nil,
      })
    end
    return { refs = refs, notes = notes }
  end,
}
