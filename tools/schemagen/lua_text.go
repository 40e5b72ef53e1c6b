package main

// What does not depend on the catalogue.

const luaPrelude = `
---Stands for an element that was there and empty. It occurs only in the records of
---a message: compare with it (said == CLEAR), never put it into a decision.
---@class msgx.Clear
CLEAR = {}
`

const luaView = `
---The settings of the configuration that reach rules.
---@class msgx.Settings
---@field absent_optional "keep"|"clear" what the absence of a field in a schedule means

---What a rule may look at, read-only: the flights that the message names, their masters and
---children, deleted ones among them, and the reference data that the script reads.
---@class msgx.View
---@field flights table<msgx.id, msgx.Flight>
---@field refs? table<msgx.ReferenceType, table<string, table<string, any>>> only with "reads" in the script
---@field settings msgx.Settings
`

const luaDecision = `
---What happens to one flight; one entry for each FLID.
---@class msgx.Change
---@field flid msgx.id
---@field op "create"|"update"|"revive"|"delete"
---@field set? msgx.Set
---@field clear? msgx.ClearTag[] tags of scalars and objects to empty
---@field lists? msgx.Lists

---What happens to one reference record.
---@class msgx.RefChange
---@field type msgx.ReferenceType
---@field key string
---@field op "upsert"|"delete"
---@field value? table<string, any> the whole record, for an upsert

---Names what was left out, and why.
---@class msgx.Note
---@field flid? msgx.id
---@field reason string

---What a rule decides. skip and reject stand alone.
---@class msgx.Decision
---@field changes? msgx.Change[]
---@field refs? msgx.RefChange[]
---@field outbound? msgx.Outbound[]
---@field notes? msgx.Note[]
---@field skip? string the message ends SKIPPED with this reason
---@field reject? string the message ends DEAD (PROTOCOL) with this reason

---What the file of any script returns, but for decide: each kind has a class of its own with the
---message that decide gets, such as msgx.FLOP_GTDT.Script.
---@class msgx.Script
---@field kind? msgx.Kind the kind it handles
---@field kinds? string[] or several; "REF-*" stands for all that begin so
---@field writes (msgx.Tag|"*")[] the footprint: the host refuses a decision outside it
---@field ops? ("create"|"update"|"revive"|"delete")[] what it may do; only update when not given
---@field reads? msgx.ReferenceType[] reference data that it wants in view.refs

---What the file of a script for schedules returns.
---@class msgx.Schedule.Script : msgx.Script
---@field decide fun(view: msgx.View, msg: msgx.Message): msgx.Decision

---What the file of a script for reference data returns.
---@class msgx.Reference.Script : msgx.Script
---@field decide fun(view: msgx.View, msg: msgx.ReferenceMessage): msgx.Decision

---One flight as a decision is about to change it: require("draft").
---@class msgx.Draft
---@field op "create"|"update"|"revive"|"delete"
---@field flid msgx.id
---@field flight msgx.Flight|table the state it starts from
---@field set msgx.Set
---@field cleared table<string, true>
---@field lists msgx.Lists

---What becomes of an element that a message carries; said is CLEAR when it was empty.
---@alias msgx.Mode fun(d: msgx.Draft, tag: string, said: any)

---A mode for scalars and objects: merge.value, or merge.set_only of it.
---@alias msgx.ValueMode msgx.Mode

---A mode for lists: merge.replace, merge.by_key, or merge.set_only of one of them.
---@alias msgx.ListMode msgx.Mode

---What merge.schedule does with what a schedule carries.
---@class msgx.How
---@field value msgx.ValueMode for scalars and objects
---@field list msgx.ListMode for lists
---@field absent? "keep"|"clear" what becomes of what a record does not carry

---What handlers.lua returns: kind to script at its version, such as "flop-gtdt@1".
---@class msgx.Handlers
---@field defaults? table<string, string> pattern to script, for kinds without an entry of their own
---@field unsupported? msgx.Kind[] kinds that no script handles
---@field [msgx.Kind] string
`
