package rulebook

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rulebook/diagnostic"
)

// giver turns what the host knows into frozen Lua tables. Flights and reference data
// are filled when they are read: most rules look at one field of one flight.
type giver struct {
	*machine
	shapes *shapes
}

func (g giver) table(fields int) *lua.LTable {
	t := g.state.CreateTable(0, fields)
	t.Metatable = g.frozen
	return t
}

func (g giver) list(length int) *lua.LTable {
	t := g.state.CreateTable(length, 0)
	t.Metatable = g.frozen
	return t
}

func (g giver) view(v decision.View, settings Settings, reads []string) *lua.LTable {
	t := g.table(3)
	t.RawSetString("flights", g.lazyTable(flights{g, v.Flights}, len(v.Flights)))
	s := g.table(1)
	s.RawSetString("absent_optional", lua.LString(settings.AbsentOptional))
	t.RawSetString("settings", s)
	if len(reads) > 0 {
		refs := g.table(len(reads))
		for _, typ := range reads {
			refs.RawSetString(typ, g.lazyTable(references{g, v.Refs[typ]}, len(v.Refs[typ])))
		}
		t.RawSetString("refs", refs)
	}
	return t
}

// flights is view.flights.
type flights struct {
	giver
	states map[flight.ID]*flight.State
}

func (f flights) field(key string) lua.LValue {
	id, err := flight.ParseID(key)
	if err != nil || id.String() != key || f.states[id] == nil {
		return lua.LNil
	}
	return f.lazyTable(state{f.giver, f.states[id]}, 4)
}

func (f flights) keys() []string {
	var out []string
	for id, s := range f.states {
		if s != nil {
			out = append(out, id.String())
		}
	}
	return out
}

// state is one flight of the view.
type state struct {
	giver
	flight *flight.State
}

func (s state) field(key string) lua.LValue {
	switch key {
	case "flid":
		return lua.LString(s.flight.ID.String())
	case "state":
		return lua.LString(s.flight.Status)
	case "version":
		return lua.LNumber(s.flight.Version)
	case "operation_day":
		if s.flight.OperationDay == "" {
			return lua.LNil
		}
		return lua.LString(s.flight.OperationDay)
	case "MAFL":
		return s.members()
	}
	if text, ok := s.flight.Fields[key]; ok {
		if f, ok := s.shapes.cat.Scalar(key); ok {
			return s.scalar(f, text)
		}
	}
	if shape := s.shapes.objects[key]; shape != nil {
		return s.object(shape)
	}
	if shape := s.shapes.lists[key]; shape != nil {
		return s.records(shape, s.flight.Lists[key])
	}
	return lua.LNil
}

func (s state) keys() []string {
	keys := []string{"flid", "state", "version", "MAFL"}
	if s.flight.OperationDay != "" {
		keys = append(keys, "operation_day")
	}
	for _, f := range s.shapes.cat.Flight.Scalars {
		if _, ok := s.flight.Fields[f.Tag]; ok {
			keys = append(keys, f.Tag)
		}
	}
	for _, o := range s.shapes.cat.Flight.Objects {
		if s.object(s.shapes.objects[o.Tag]) != lua.LNil {
			keys = append(keys, o.Tag)
		}
	}
	for _, l := range s.shapes.cat.Flight.Lists {
		keys = append(keys, l.Tag)
	}
	return keys
}

func (s state) object(shape *shape) lua.LValue {
	var t *lua.LTable
	for _, tag := range shape.order {
		text, ok := s.flight.Fields[shape.tag+"."+tag]
		if !ok {
			continue
		}
		if t == nil {
			t = s.table(len(shape.order))
		}
		t.RawSetString(tag, s.scalar(shape.fields[tag], text))
	}
	if t == nil {
		return lua.LNil
	}
	return t
}

func (s state) members() lua.LValue {
	t := s.list(len(s.flight.Members))
	for i, m := range s.flight.Members {
		entry := s.table(2)
		entry.RawSetString("FLID", lua.LString(m.FLID.String()))
		if m.FLNO != "" {
			entry.RawSetString("FLNO", lua.LString(m.FLNO))
		}
		t.RawSetInt(i+1, entry)
	}
	return t
}

// scalar gives a value in canonical text the type that the catalogue says.
func (g giver) scalar(f *catalogue.Field, text string) lua.LValue {
	if !g.shapes.integer[f.Type] {
		return lua.LString(text)
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		g.failed = diagnostic.BrokenHost
		panic(fmt.Sprintf("%s: %s is not the canonical text of an integer", f.Tag, strconv.Quote(text)))
	}
	return lua.LNumber(n)
}

// records gives a list. It remembers where the table came from: a list that a
// rule hands back untouched needs no conversion.
func (g giver) records(shape *shape, records []flight.Record) *lua.LTable {
	t := g.list(len(records))
	for i, r := range records {
		entry := g.table(len(r.Fields) + len(r.Lists))
		for tag, text := range r.Fields {
			if f := shape.fields[tag]; f != nil {
				entry.RawSetString(tag, g.scalar(f, text))
			}
		}
		for tag, nested := range r.Lists {
			if s := shape.nested[tag]; s != nil {
				entry.RawSetString(tag, g.records(s, nested))
			}
		}
		t.RawSetInt(i+1, entry)
	}
	g.origin[t] = given{shape: shape, records: records}
	return t
}

func (g giver) message(msg *message.Message) *lua.LTable {
	t := g.table(4)
	t.RawSetString("kind", lua.LString(msg.Kind))
	meta := g.table(5)
	for _, m := range [][2]string{{"sndr", msg.Meta.Sender}, {"seqn", msg.Meta.Sequence}, {"type", msg.Meta.Type},
		{"styp", msg.Meta.Subtype}, {"dttm", msg.Meta.SentAt}} {
		if m[1] != "" {
			meta.RawSetString(m[0], lua.LString(m[1]))
		}
	}
	t.RawSetString("meta", meta)
	if msg.Declared != nil {
		t.RawSetString("recs", lua.LNumber(*msg.Declared))
	}
	records := g.list(len(msg.Records))
	for i := range msg.Records {
		if msg.Family == message.Reference {
			records.RawSetInt(i+1, g.referenceRecord(&msg.Records[i]))
		} else {
			records.RawSetInt(i+1, g.flightRecord(&msg.Records[i]))
		}
	}
	t.RawSetString("records", records)
	return t
}

func (g giver) flightRecord(r *message.Record) *lua.LTable {
	t := g.table(len(r.Elements) + 2)
	for tag, e := range r.Elements {
		if v := g.element(tag, e); v != lua.LNil {
			t.RawSetString(tag, v)
		}
	}
	t.RawSetString("flid", lua.LString(r.FLID.String()))
	if r.FFID != "" {
		t.RawSetString("ffid", lua.LString(r.FFID))
	}
	return t
}

func (g giver) element(tag string, e message.Element) lua.LValue {
	if e.Empty {
		return g.clear
	}
	if f, ok := g.shapes.cat.Scalar(tag); ok {
		return g.scalar(f, e.Text)
	}
	if shape := g.shapes.objects[tag]; shape != nil {
		t := g.table(len(e.Object))
		for part, text := range e.Object {
			if f := shape.fields[part]; f != nil {
				t.RawSetString(part, g.scalar(f, text))
			}
		}
		return t
	}
	if shape := g.shapes.lists[tag]; shape != nil {
		return g.records(shape, e.Records)
	}
	return lua.LNil // an element that means nothing to a flight, such as FDEL
}

func (g giver) referenceRecord(r *message.Record) *lua.LTable {
	t := g.table(2)
	if r.Key != "" {
		t.RawSetString("key", lua.LString(r.Key))
	}
	t.RawSetString("value", g.document(r.Value))
	return t
}

// references is view.refs[type].
type references struct {
	giver
	records map[string]json.RawMessage
}

func (r references) field(key string) lua.LValue {
	raw, ok := r.records[key]
	if !ok {
		return lua.LNil
	}
	return r.document(raw)
}

func (r references) keys() []string { return slices.Collect(maps.Keys(r.records)) }

// document gives a reference record, filled when it is read; handed back
// untouched it is stored byte for byte as it came.
func (g giver) document(raw json.RawMessage) lua.LValue {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return lua.LNil
	}
	t := g.lazyTable(document{g, fields}, len(fields))
	g.origin[t] = given{raw: raw}
	return t
}

type document struct {
	giver
	fields map[string]json.RawMessage
}

func (d document) field(key string) lua.LValue { return d.value(d.fields[key]) }
func (d document) keys() []string              { return slices.Collect(maps.Keys(d.fields)) }

// value gives a part of a reference record: text, a list, or a record of its own. An
// element that was empty is the empty text.
func (g giver) value(raw json.RawMessage) lua.LValue {
	if string(raw) == "null" {
		return lua.LString("")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
		return lua.LString(text)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil {
		t := g.list(len(list))
		for i, entry := range list {
			t.RawSetInt(i+1, g.value(entry))
		}
		g.origin[t] = given{raw: raw}
		return t
	}
	return g.document(raw)
}
