---@meta flight
-- Generated from the catalogue by "go generate ./schemas"; do not edit.

---What a flight consists of, in catalogue order: require("flight").
---@class msgx.FlightTags
---@field scalars string[] tags of the scalars
---@field objects string[] tags of the single objects
---@field lists string[] tags of the lists
---@field shape table<string, "scalar"|"object"|"list"> what a tag is
local flight = {}

return flight
