-- draft: one flight as a decision is about to change it.
--
-- The records of a message fold into drafts one after the other: a later record of the
-- same flight sees what an earlier one made of it. At the end each draft becomes one
-- entry of decision.changes.

local tags = require("flight") -- what a flight consists of, from the catalogue

local draft = {}

-- A flight that has nothing yet: as in a view, its lists are there and empty.
local blank = {}
for _, tag in ipairs(tags.lists) do
  blank[tag] = {}
end

-- Starts a draft. `flight` is the state it starts from, nil for a blank one.
---@param op "create"|"update"|"revive"|"delete"
---@param flid msgx.id
---@param flight? msgx.Flight
---@return msgx.Draft
function draft.open(op, flid, flight)
  return { op = op, flid = flid, flight = flight or blank, set = {}, cleared = {}, lists = {} }
end

-- Sets a scalar or an object.
---@param d msgx.Draft
---@param tag string
---@param value any
function draft.set(d, tag, value)
  d.cleared[tag] = nil
  d.set[tag] = value
end

-- Empties a scalar or an object.
---@param d msgx.Draft
---@param tag string
function draft.clear(d, tag)
  d.set[tag] = nil
  d.cleared[tag] = true
end

-- Gives a list its new content; {} empties it.
---@param d msgx.Draft
---@param tag string
---@param records table[]
function draft.replace(d, tag, records)
  d.lists[tag] = records
end

-- The content of a list as it stands now.
---@param d msgx.Draft
---@param tag string
---@return table[]
function draft.list(d, tag)
  return d.lists[tag] or d.flight[tag]
end

-- The draft as an entry of decision.changes.
---@param d msgx.Draft
---@return msgx.Change
function draft.change(d)
  local clear = {}
  for tag in pairs(d.cleared) do
    clear[#clear + 1] = tag
  end
  return { flid = d.flid, op = d.op, set = d.set, clear = clear, lists = d.lists }
end

return draft
