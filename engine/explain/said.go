package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// said tells what the last message said.
func (e *Explainer) said() *Said {
	m := e.message
	s := &Said{Kind: m.Kind, Family: m.Family, Identity: e.judge.Identity(m), SentAt: m.Meta.SentAt, Declared: m.Declared, Records: []SaidRecord{}}
	carries := []string{}
	if kind, ok := e.catalogue.KindNamed(m.Kind); ok {
		s.Meaning = kind.Meaning
		if carries = kind.Elements; slices.Equal(carries, []string{"*"}) {
			carries = e.catalogue.Tags()
		}
	}
	for i := range m.Records {
		s.Records = append(s.Records, e.record(&m.Records[i], carries))
	}
	return s
}

func (e *Explainer) record(r *message.Record, carries []string) SaidRecord {
	out := SaidRecord{Key: r.Key, Value: string(r.Value), Faults: r.Faults}
	if e.message.Family != message.Reference {
		out.FLID = r.FLID.String()
	}
	for tag, element := range r.Elements {
		out.Elements = append(out.Elements, SaidElement{Tag: tag, Meaning: e.meaning(tag), Empty: element.Empty, Value: e.value(tag, element)})
	}
	sort.Slice(out.Elements, func(i, j int) bool {
		a, b := out.Elements[i].Tag, out.Elements[j].Tag
		if x, y := e.catalogue.Order(a), e.catalogue.Order(b); x != y {
			return x < y
		}
		return a < b
	})
	for _, tag := range carries {
		if _, there := r.Elements[tag]; !there && tag != "FLID" && tag != "FFID" {
			out.Absent = append(out.Absent, tag)
		}
	}
	return out
}

func (e *Explainer) meaning(tag string) string {
	if f, ok := e.catalogue.Scalar(tag); ok {
		return f.Meaning
	}
	if o, ok := e.catalogue.Object(tag); ok {
		return o.Meaning
	}
	if l, ok := e.catalogue.List(tag); ok {
		return l.Meaning
	}
	return ""
}

// value writes what an element said as events have it: parts in catalogue order.
func (e *Explainer) value(tag string, element message.Element) json.RawMessage {
	switch {
	case element.Empty:
		return nil
	case element.Object != nil:
		var parts []catalogue.Field
		if o, ok := e.catalogue.Object(tag); ok {
			parts = o.Parts
		}
		return object(parts, element.Object, nil, nil)
	case element.Records != nil:
		list, _ := e.catalogue.List(tag)
		return records(list, element.Records)
	}
	if f, ok := e.catalogue.Scalar(tag); ok {
		return scalar(f.Type, element.Text)
	}
	return scalar(catalogue.Text, element.Text)
}

func scalar(t catalogue.Type, text string) json.RawMessage {
	if t == catalogue.Int || t == catalogue.Duration {
		return json.RawMessage(text)
	}
	return quoted(text)
}

// quoted is a JSON string without the escapes of HTML.
func quoted(text string) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err) // a string always encodes
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// object writes parts in the order of the fields, and behind them those that no field names.
func object(fields []catalogue.Field, parts map[string]string, lists []catalogue.List, nested map[string][]flight.Record) json.RawMessage {
	b := []byte{'{'}
	add := func(name string, value []byte) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, quoted(name)...), ':'), value...)
	}
	for i := range fields {
		if text, ok := parts[fields[i].Tag]; ok {
			add(fields[i].Tag, scalar(fields[i].Type, text))
		}
	}
	for i := range lists {
		if inner := nested[lists[i].Tag]; len(inner) > 0 {
			add(lists[i].Tag, records(&lists[i], inner))
		}
	}
	return append(b, '}')
}

func records(list *catalogue.List, entries []flight.Record) json.RawMessage {
	b := []byte{'['}
	for i, r := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, object(list.Fields, r.Fields, list.Lists, r.Lists)...)
	}
	return append(b, ']')
}

// ignored tells what the last message said in vain.
func (e *Explainer) ignored() Ignored {
	out := Ignored{Unknown: counted(e.message.Unknowns), Dropped: counted(e.message.Dropped)}
	trace := e.rules.trace
	if trace == nil || e.message.Family == message.Reference {
		return out
	}
	looked := map[string]bool{}
	for _, what := range trace.Reads {
		looked[what] = true
	}
	for i := range e.message.Records {
		for tag := range e.message.Records[i].Elements {
			if tag == "FLID" || tag == "FFID" || looked[fmt.Sprintf("record %d %s", i+1, tag)] || slices.Contains(out.NotLooked, tag) {
				continue
			}
			out.NotLooked = append(out.NotLooked, tag)
		}
	}
	slices.SortFunc(out.NotLooked, func(a, b string) int { return e.catalogue.Order(a) - e.catalogue.Order(b) })
	return out
}

func counted(list []message.Unknown) []Counted {
	var out []Counted
	for _, u := range list {
		out = append(out, Counted{u.Path, u.Count})
	}
	return out
}
