package main

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"msgx/engine/catalogue"
	"msgx/engine/event"
)

// member and object are JSON in the order in which it is written here, which
// is catalogue order, for the reader's sake.
type member struct {
	name  string
	value any
}

type object []member

// MarshalJSON keeps the order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := plain(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// plain marshals without escaping what only HTML needs escaped.
func plain(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// document is a whole schema as text. That it can be written is an invariant:
// it is made of strings, numbers and lists only.
func document(o object) []byte {
	compact, err := plain(o)
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		panic(err)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func ref(name string) object { return object{{"$ref", "#/$defs/" + name}} }

// closed is an object of exactly these properties.
func closed(properties object, required ...string) object {
	o := object{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}
	if len(required) > 0 {
		o = append(o, member{"required", required})
	}
	return o
}

// head begins a schema.
func head(name, title, description string) object {
	return object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "urn:msgx:" + name},
		{"title", title},
		{"description", description},
		{"$comment", notice},
	}
}

// value describes the canonical value of a field.
func value(cat *catalogue.Catalogue, f *catalogue.Field) object {
	t, _ := cat.ValueType(f.Type)
	o := object{{"description", f.Meaning}}
	switch {
	case f.Type == catalogue.Flag:
		return append(o, member{"enum", f.Flags})
	case f.Type == catalogue.Duration:
		return append(o, member{"type", t.JSON}, member{"minimum", 0}, member{"maximum", math.MaxInt32})
	case t.JSON == "integer":
		return append(o, member{"type", t.JSON}, member{"minimum", math.MinInt32}, member{"maximum", math.MaxInt32})
	}
	o = append(o, member{"type", t.JSON})
	if f.MaxLen > 0 {
		o = append(o, member{"minLength", 1}, member{"maxLength", f.MaxLen})
	}
	if t.Canonical != "" {
		o = append(o, member{"pattern", t.Canonical})
	}
	if t.Format != "" {
		o = append(o, member{"format", t.Format})
	}
	return o
}

// entry describes an object or list entry: at least one part has a value.
func entry(cat *catalogue.Catalogue, fields []catalogue.Field, nested []catalogue.List) object {
	var properties object
	for i := range fields {
		properties = append(properties, member{fields[i].Tag, value(cat, &fields[i])})
	}
	for i := range nested {
		properties = append(properties, member{nested[i].Tag, list(cat, &nested[i])})
	}
	return append(closed(properties), member{"minProperties", 1})
}

func list(cat *catalogue.Catalogue, l *catalogue.List) object {
	return object{{"description", l.Meaning}, {"type", "array"}, {"minItems", 1}, {"items", entry(cat, l.Fields, l.Lists)}}
}

// common are the properties that both events begin with.
func common(cat *catalogue.Catalogue) object {
	date, _ := cat.ValueType(catalogue.Date)
	id, _ := cat.ValueType(catalogue.ID)
	return object{
		{"event_id", object{{"description", "the event; the same when it is delivered again"}, {"type", "string"}, {"pattern", "^[1-9][0-9]*$"}}},
		{"schema_version", object{{"description", "of this schema"}, {"const", event.SchemaVersion}}},
		{"flid", object{{"description", "the flight whose version this is"}, {"type", "string"}, {"pattern", id.Canonical}}},
		{"state_version", object{{"description", "grows by one with every change of the flight; guard against late duplicates by it"}, {"type", "integer"}, {"minimum", 1}}},
		{"state", object{{"enum", []string{"ACTIVE", "DELETED"}}}},
		{"operation_day", object{{"description", "left out while unknown"}, {"type", "string"}, {"pattern", date.Canonical}, {"format", "date"}}},
		{"msg_id", object{{"description", "the mailbox message that made this version"}, {"type", "string"}, {"pattern", "^[0-9]+$"}}},
		{"kind", object{{"description", "the kind of that message"}, {"type", "string"}, {"minLength", 1}}},
		{"ruleset", object{{"description", "the rule set that decided"}, {"type", "string"}}},
		{"updated_at", object{{"type", "string"}, {"format", "date-time"}}},
	}
}

// always are the common properties that are never left out.
var always = []string{"event_id", "schema_version", "flid", "state_version", "state", "msg_id", "kind", "ruleset", "updated_at"}

// fields are the parts of a flight by path, with what each holds.
func fields(cat *catalogue.Catalogue) (state object, paths object) {
	for i := range cat.Flight.Scalars {
		f := &cat.Flight.Scalars[i]
		if f.Tag == "FLID" {
			continue // it is flid already
		}
		state = append(state, member{f.Tag, value(cat, f)})
		paths = append(paths, member{f.Tag, value(cat, f)})
	}
	for _, o := range cat.Flight.Objects {
		whole := append(object{{"description", o.Meaning}}, entry(cat, o.Parts, nil)...)
		state = append(state, member{o.Tag, whole})
		for i := range o.Parts {
			paths = append(paths, member{o.Tag + "." + o.Parts[i].Tag, value(cat, &o.Parts[i])})
		}
	}
	for i := range cat.Flight.Lists {
		l := &cat.Flight.Lists[i]
		state = append(state, member{l.Tag, list(cat, l)})
		paths = append(paths, member{l.Tag, list(cat, l)})
	}
	members := membership(cat)
	return append(state, member{"MAFL", members}), append(paths, member{"MAFL", members})
}

func membership(cat *catalogue.Catalogue) object {
	id, _ := cat.Scalar("FLID")
	number, _ := cat.Scalar("FLNO")
	return object{{"description", "the active code-share children of a master, by FLID"}, {"type", "array"}, {"minItems", 1},
		{"items", closed(object{{"FLID", value(cat, id)}, {"FLNO", value(cat, number)}}, "FLID")}}
}

// schdSchema describes the value of the topic that keeps the latest state.
func schdSchema(cat *catalogue.Catalogue) []byte {
	state, _ := fields(cat)
	o := head("event-schd", "The complete state of a flight",
		"Value of the compacted topic; the key is the FLID. A deleted flight is the null value. What has no value is left out. "+
			"Identifiers and decimals are strings, because a float would spoil them.")
	return document(append(o, closed(append(common(cat), state...), always...)...))
}

// msgSchema describes the value of the topic that tells every change.
func msgSchema(cat *catalogue.Catalogue) []byte {
	_, paths := fields(cat)
	day, _ := cat.ValueType(catalogue.Date)
	paths = append(paths,
		member{"STATE", object{{"enum", []string{"ACTIVE", "DELETED"}}}},
		member{"OPERATION_DAY", object{{"type", "string"}, {"pattern", day.Canonical}, {"format", "date"}}})
	var changes []any
	var defs object
	for _, p := range paths {
		defs = append(defs, member{p.name, p.value})
		either := object{{"anyOf", []any{object{{"type", "null"}}, ref(p.name)}}}
		changes = append(changes, closed(object{{"path", object{{"const", p.name}}}, {"before", either}, {"after", either}}, "path", "before", "after"))
	}
	id, _ := cat.ValueType(catalogue.ID)
	properties := slices.Concat(
		object{{"type", object{{"description", "TOMBSTONE tells a deletion"}, {"enum", []string{"UPSERT", "TOMBSTONE"}}}}},
		common(cat),
		object{
			{"op", object{{"description", "what happened to the flight"}, {"enum", []string{"create", "update", "revive", "delete"}}}},
			{"script", object{{"description", "the script that decided, with its version"}, {"type", "string"}}},
			{"key", object{{"description", "the key of the event: the flight, or its master for a code-share child"}, {"type", "string"}, {"pattern", id.Canonical}}},
			{"changes", object{{"description", "in catalogue order; null before or after means no value"}, {"type", "array"}, {"items", object{{"oneOf", changes}}}}},
		})
	o := head("event-msg", "One change of a flight",
		"Value of the topic that tells every change of every flight in order; it notifies and is not the state.")
	o = append(o, closed(properties, append([]string{"type", "op", "script", "key", "changes"}, always...)...)...)
	return document(append(o, member{"$defs", defs}))
}
