-- merge: how what a message says becomes what a decision changes.
--
-- A mode is a function(d, tag, said): it writes what the message said about one element
-- into a draft. `said` is CLEAR when the element was empty; an element that was
-- absent is never handed to a mode, so absent always keeps.

local draft = require("draft")
local flight = require("flight") -- what a flight consists of, from the catalogue

local merge = {}

---------------------------------------------------------------------------
-- Modes for scalars and objects

-- A value sets, empty clears.
---@param d msgx.Draft
---@param tag string
---@param said any
function merge.value(d, tag, said)
  if said == CLEAR then
    draft.clear(d, tag)
  else
    draft.set(d, tag, said)
  end
end

---------------------------------------------------------------------------
-- Modes for lists

-- The list becomes exactly what the message carries; empty clears it.
---@param d msgx.Draft
---@param tag string
---@param said any
function merge.replace(d, tag, said)
  if said == CLEAR then
    draft.replace(d, tag, {})
  else
    draft.replace(d, tag, said)
  end
end

-- The key of a record: the values of all its key elements as one text, or nil when
-- one of them is missing. The length before each value keeps "a","bc" and "ab","c" apart.
---@param record table
---@param elements string[]
---@return string?
local function key_of(record, elements)
  local key = ""
  for _, element in ipairs(elements) do
    local value = record[element]
    if value == nil then
      return nil
    end
    value = tostring(value)
    key = key .. #value .. ":" .. value
  end
  return key
end

-- The records of a message by key, each key with all its records in order.
---@param records table[]
---@param elements string[]
---@return table<string, table[]>
local function group(records, elements)
  local groups = {}
  for _, record in ipairs(records) do
    local key = key_of(record, elements)
    if key then
      groups[key] = groups[key] or {}
      table.insert(groups[key], record)
    end
  end
  return groups
end

-- The list with the message's records put in by key. For each key of the message, all
-- records of the list with that key go, and the message's records of that key, all of them, take
-- the first one's place. New keys and records without a key are appended. Fields are not merged.
---@param list table[]
---@param said table[]
---@param elements string[]
---@return table[]
local function put_by_key(list, said, elements)
  local groups = group(said, elements)
  local placed, result = {}, {}
  for _, record in ipairs(list) do
    local key = key_of(record, elements)
    if not groups[key] then -- nor is a record without a key in any group
      table.insert(result, record)
    elseif not placed[key] then
      placed[key] = true
      for _, new in ipairs(groups[key]) do
        table.insert(result, new)
      end
    end
  end
  for _, record in ipairs(said) do
    local key = key_of(record, elements)
    if not placed[key] then
      table.insert(result, record)
    end
  end
  return result
end

-- merge.by_key("CODE"), or of several elements: merge.by_key("PUST", "PSID").
-- Empty clears the list.
---@param ... msgx.ListElement
---@return msgx.ListMode
function merge.by_key(...)
  local elements = { ... }
  return function(d, tag, said)
    if said == CLEAR then
      draft.replace(d, tag, {})
    else
      draft.replace(d, tag, put_by_key(draft.list(d, tag), said, elements))
    end
  end
end

---------------------------------------------------------------------------
-- A mode made of another

-- Empty keeps: only a value does what the other mode does.
---@param mode msgx.Mode
---@return msgx.Mode
function merge.set_only(mode)
  return function(d, tag, said)
    if said ~= CLEAR then
      mode(d, tag, said)
    end
  end
end

---------------------------------------------------------------------------
-- Whole messages

-- The entries of decision.changes, in the order in which the message first names the flights.
---@param drafts msgx.Draft[]
---@return msgx.Change[]
local function changes_of(drafts)
  local changes = {}
  for _, d in ipairs(drafts) do
    table.insert(changes, draft.change(d))
  end
  return changes
end

-- An operation on flights that exist. `modes` says what happens to each element:
--
--   merge.flop(view, msg, { GTDT = merge.replace })
--
-- A record for an unknown or deleted flight is left out and named; when all are left out,
-- the message is skipped for that reason.
---@param view msgx.View
---@param msg msgx.AnyMessage
---@param modes msgx.Modes
---@return msgx.Decision
function merge.flop(view, msg, modes)
  ---@type msgx.Draft[], table<msgx.id, msgx.Draft>, msgx.Note[]
  local drafts, by_flid, notes = {}, {}, {}
  for _, record in ipairs(msg.records) do
    local flid = record.flid
    local current = view.flights[flid]
    if not current then
      table.insert(notes, { flid = flid, reason = "flight-unknown" })
    elseif current.state == "DELETED" then
      table.insert(notes, { flid = flid, reason = "flight-deleted" })
    else
      local d = by_flid[flid]
      if not d then
        d = draft.open("update", flid, current)
        by_flid[flid] = d
        table.insert(drafts, d)
      end
      for tag, mode in pairs(modes) do
        if record[tag] ~= nil then
          mode(d, tag, record[tag])
        end
      end
    end
  end
  if #drafts == 0 then -- the host hands over no operation without records
    return { skip = notes[1].reason }
  end
  return { changes = changes_of(drafts), notes = notes }
end

-- Empties what the flight has and the record does not carry. FFID names the flight and is never
-- emptied; without FLID or SODT the host rejects a schedule, so these are always carried.
---@param d msgx.Draft
---@param record msgx.Record
local function clear_absent(d, record)
  for tag, value in pairs(d.flight) do
    local shape = flight.shape[tag]
    if shape and record[tag] == nil and tag ~= "FFID" then
      if shape ~= "list" then
        draft.clear(d, tag)
      elseif #value > 0 then
        draft.replace(d, tag, {})
      end
    end
  end
end

-- A flight that is not there is created; a deleted one is revived and starts blank.
---@param view msgx.View
---@param flid msgx.id
---@return msgx.Draft
local function start(view, flid)
  local current = view.flights[flid]
  if not current then
    return draft.open("create", flid)
  elseif current.state == "DELETED" then
    return draft.open("revive", flid)
  end
  return draft.open("update", flid, current)
end

-- Flights as a schedule carries them, with one mode for scalars and objects and one for lists:
--
--   merge.schedule(view, msg, { value = merge.value, list = merge.replace, absent = "clear" })
--
-- absent = "clear" empties what a record does not carry; anything else, or nothing, keeps it. A flight that the message
-- does not name is never touched, and none is named twice: the host rejects such a schedule.
---@param view msgx.View
---@param msg msgx.Message
---@param how msgx.How
---@return msgx.Decision
function merge.schedule(view, msg, how)
  local drafts = {}
  for _, record in ipairs(msg.records) do
    local d = start(view, record.flid)
    table.insert(drafts, d)
    if how.absent == "clear" then
      clear_absent(d, record)
    end
    for tag, said in pairs(record) do
      local shape = flight.shape[tag]
      if shape == "list" then
        how.list(d, tag, said)
      elseif shape and tag ~= "FLID" then
        how.value(d, tag, said)
      end
    end
  end
  return { changes = changes_of(drafts) }
end

return merge
