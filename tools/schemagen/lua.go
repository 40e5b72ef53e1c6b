package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"msgx/engine/catalogue"
)

// luarc is the configuration of the Lua language server for the repository.
func luarc() []byte {
	return []byte(`{
  "runtime.version": "Lua 5.1",
  "runtime.path": ["rules/lib/?.lua", "schemas/generated/lua/?.lua"],
  "runtime.builtin": {
    "basic": "disable", "bit32": "disable", "builtin": "enable", "coroutine": "disable", "debug": "disable", "ffi": "disable",
    "io": "disable", "jit": "disable", "math": "disable", "os": "disable", "package": "disable", "string": "disable",
    "table": "disable", "utf8": "disable"
  },
  "workspace.library": ["schemas/generated/lua"],
  "workspace.ignoreDir": ["engine", "golden", "bin"],
  "workspace.checkThirdParty": false
}
`)
}

// luaFlightModule is the library that the host provides under the name flight.
func luaFlightModule() []byte {
	return []byte(`---@meta flight
-- ` + notice + `

---What a flight consists of, in catalogue order: require("flight").
---@class msgx.FlightTags
---@field scalars string[] tags of the scalars
---@field objects string[] tags of the single objects
---@field lists string[] tags of the lists
---@field shape table<string, "scalar"|"object"|"list"> what a tag is
local flight = {}

return flight
`)
}

// luaWriter writes LuaCATS.
type luaWriter struct {
	bytes.Buffer
	cat *catalogue.Catalogue
}

func luaDefinitions(cat *catalogue.Catalogue) []byte {
	w := &luaWriter{cat: cat}
	w.line("---@meta msgx")
	w.line("-- " + notice)
	w.WriteString(luaPrelude)
	for _, t := range cat.Types {
		w.line("")
		w.line("---%s, such as %s", t.Name, luaExample(t))
		w.line("---(on the wire %s: %s)", t.Example, t.Wire)
		w.line("---@alias %s %s", luaType(t.Name), t.Lua)
	}
	w.parts()
	w.flight()
	w.record()
	w.message()
	w.WriteString(luaView)
	w.decision()
	w.kinds()
	return w.Bytes()
}

func (w *luaWriter) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// class begins a class after an empty line.
func (w *luaWriter) class(name, meaning string) {
	w.line("")
	w.line("---%s", meaning)
	w.line("---@class %s", name)
}

func (w *luaWriter) field(name, typ, meaning string) {
	w.line("---@field %s %s %s", name, typ, meaning)
}

// luaExample is a value as a rule would write it.
func luaExample(t catalogue.ValueType) string {
	if t.Lua == "integer" {
		return t.Value
	}
	return fmt.Sprintf("%q", t.Value)
}

func luaType(t catalogue.Type) string { return "msgx." + string(t) }

// valueType is the type of a field: its listed values for a flag.
func valueType(f *catalogue.Field) string {
	if f.Type != catalogue.Flag {
		return luaType(f.Type)
	}
	var values []string
	for _, v := range f.Flags {
		values = append(values, fmt.Sprintf("%q", v))
	}
	return strings.Join(values, "|")
}

func (w *luaWriter) fields(fields []catalogue.Field) {
	for i := range fields {
		f := &fields[i]
		w.field(f.Tag+"?", valueType(f), bounded(f))
	}
}

// bounded is the meaning of a field with its length.
func bounded(f *catalogue.Field) string {
	if f.MaxLen > 0 {
		return fmt.Sprintf("%s (at most %d characters)", f.Meaning, f.MaxLen)
	}
	return f.Meaning
}

// parts are the classes of objects and list entries.
func (w *luaWriter) parts() {
	for _, o := range w.cat.Flight.Objects {
		w.class("msgx."+o.Tag, o.Meaning)
		w.fields(o.Parts)
	}
	w.lists(w.cat.Flight.Lists)
}

func (w *luaWriter) lists(lists []catalogue.List) {
	for _, l := range lists {
		w.lists(l.Lists)
		w.class("msgx."+l.Tag, "one entry of "+l.Tag+", "+l.Meaning)
		w.fields(l.Fields)
		for _, nested := range l.Lists {
			w.field(nested.Tag+"?", "msgx."+nested.Tag+"[]", nested.Meaning)
		}
	}
}

// flight is the state of a flight as a rule sees it.
func (w *luaWriter) flight() {
	w.line("")
	w.line(`---@class msgx.Member
---@field FLID msgx.id
---@field FLNO? msgx.code`)
	w.class("msgx.Flight", "the current state of a flight, read-only; what has no value is nil, an empty list is {}")
	w.field("flid", "msgx.id", "the flight")
	w.field("state", `"ACTIVE"|"DELETED"`, "whether it lives")
	w.field("version", "integer", "grows by one with every change")
	w.field("operation_day?", "msgx.date", "nil while unknown, never changes once set")
	w.fields(w.cat.Flight.Scalars)
	for _, o := range w.cat.Flight.Objects {
		w.field(o.Tag+"?", "msgx."+o.Tag, o.Meaning)
	}
	for _, l := range w.cat.Flight.Lists {
		w.field(l.Tag, "msgx."+l.Tag+"[]", l.Meaning)
	}
	w.field("MAFL", "msgx.Member[]", "the active code-share children of a master, by FLID; the host derives it")
}

// record is one flight record of a message.
func (w *luaWriter) record() {
	w.class("msgx.Record", "one record of a message; what was absent is nil, what was empty is CLEAR")
	w.field("flid", "msgx.id", "the flight")
	w.field("ffid?", "msgx.text", "display key")
	for i := range w.cat.Flight.Scalars {
		f := &w.cat.Flight.Scalars[i]
		w.field(f.Tag+"?", valueType(f)+"|msgx.Clear", bounded(f))
	}
	for _, o := range w.cat.Flight.Objects {
		w.field(o.Tag+"?", "msgx."+o.Tag+"|msgx.Clear", o.Meaning)
	}
	for _, l := range w.cat.Flight.Lists {
		w.field(l.Tag+"?", "msgx."+l.Tag+"[]|msgx.Clear", l.Meaning)
	}
	w.class("msgx.ReferenceRecord", "one record of reference data")
	w.field("key?", "string", "its key, nil when it has none")
	w.field("value", "table<string, any>", "the whole record; attributes are \"@NAME\", a repeated element is an array")
}

func (w *luaWriter) message() {
	w.line("")
	w.line("---@alias msgx.Kind")
	for _, k := range w.cat.Kinds {
		w.line("---| %q # %s", k.Name, k.Meaning)
	}
	w.class("msgx.Meta", "the envelope of a message, in text as it stood")
	for _, f := range w.cat.Meta {
		name, typ := strings.ToLower(f.Tag), "string"
		if f.Type == catalogue.Stamp {
			name, typ = name+"?", luaType(f.Type)
		}
		w.field(name, typ, f.Meaning)
	}
	w.class("msgx.AnyMessage", "a decoded message, read-only")
	w.field("kind", "msgx.Kind", "what it is")
	w.field("meta", "msgx.Meta", "its envelope")
	w.field("recs?", "integer", "the declared number of records")
	w.field("records", "table[]", "in document order")
	for _, m := range [][3]string{{"msgx.Message", "msgx.Record", "of flights"}, {"msgx.ReferenceMessage", "msgx.ReferenceRecord", "of reference data"}} {
		w.class(m[0]+" : msgx.AnyMessage", "a message "+m[2])
		w.field("records", m[1]+"[]", "in document order")
	}
}

func (w *luaWriter) decision() {
	w.class("msgx.Set", "new values by tag; an object is set as a whole")
	for i := range w.cat.Flight.Scalars {
		f := &w.cat.Flight.Scalars[i]
		w.field(f.Tag+"?", valueType(f), bounded(f))
	}
	for _, o := range w.cat.Flight.Objects {
		w.field(o.Tag+"?", "msgx."+o.Tag, o.Meaning)
	}
	w.class("msgx.Lists", "whole new lists by tag; {} empties a list")
	var clearable []string
	for _, l := range w.cat.Flight.Lists {
		w.field(l.Tag+"?", "msgx."+l.Tag+"[]", l.Meaning)
	}
	for _, f := range w.cat.Flight.Scalars {
		clearable = append(clearable, f.Tag)
	}
	for _, o := range w.cat.Flight.Objects {
		clearable = append(clearable, o.Tag)
	}
	w.alias("msgx.ClearTag", clearable)
	tags := slices.DeleteFunc(w.cat.Tags(), func(tag string) bool { return tag == "FLID" })
	w.alias("msgx.Tag", tags)
	var types []string
	for _, r := range w.cat.References {
		types = append(types, r.Type)
	}
	w.alias("msgx.ReferenceType", types)
	w.requests()
	w.modes()
	w.keys()
	w.WriteString(luaDecision)
}

func (w *luaWriter) alias(name string, values []string) {
	w.line("")
	w.line("---@alias %s", name)
	for _, v := range values {
		w.line("---| %q", v)
	}
}
