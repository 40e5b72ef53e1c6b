package rehearse

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// ParseState reads a world as people write it, in YAML:
//
//   - flight: 1000345
//     version: 3                 # 1 when left out
//     operation_day: 2021-01-23  # as SODT says when left out; ~ for none
//     FLNO: CA101
//     SODT: 2021-01-23 05:35     # airport time; the long form is understood as well
//     FDIV: {DDES: PEK, DDIR: TO, TEXT: fog}
//     GTDT:
//   - {GTNO: 1, GATE: G1}
//   - flight: 1000346
//     state: DELETED             # ACTIVE when left out
//   - reference: SLST
//     key: S209
//     value: {SCOD: S209}
//
// A value is the text as it stands, whatever YAML makes of it elsewhere: 01, ON
// and null are texts. MAFL follows from the children; where it is written it
// has to be right. All faults are told at once, each with its line.
func ParseState(cat *catalogue.Catalogue, zone *time.Location, data []byte) (World, error) {
	w := World{Flights: map[flight.ID]*flight.State{}, Refs: map[string]map[string]json.RawMessage{}}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return w, fmt.Errorf("state: %w", err)
	}
	if len(doc.Content) == 0 {
		return w, nil
	}
	p := &parser{cat: cat, zone: zone, world: w, stated: map[flight.ID]*yaml.Node{}}
	root := doc.Content[0]
	if root.Kind != yaml.SequenceNode {
		p.fault(root, "expected a list of flights and reference records")
	}
	for _, n := range root.Content {
		p.entry(n)
	}
	p.derive()
	if err := errors.Join(p.faults...); err != nil {
		return w, err
	}
	return w, nil
}

type parser struct {
	cat    *catalogue.Catalogue
	zone   *time.Location
	world  World
	stated map[flight.ID]*yaml.Node // MAFL as written
	faults []error
}

func (p *parser) fault(n *yaml.Node, format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf("state: line %d: %s", n.Line, fmt.Sprintf(format, args...)))
}

// pairs walks the keys of a mapping in order; a key may stand once.
func (p *parser) pairs(n *yaml.Node, visit func(key string, k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.fault(n, "expected keys and values")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if seen[key] {
			p.fault(n.Content[i], "%s stands twice", key)
		}
		seen[key] = true
		visit(key, n.Content[i], n.Content[i+1])
	}
}

func (p *parser) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		p.fault(n, "%s: expected a text (leave out what is absent)", what)
		return ""
	}
	return n.Value
}

func (p *parser) entry(n *yaml.Node) {
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 {
		switch n.Content[0].Value {
		case "flight":
			p.flight(n)
			return
		case "reference":
			p.reference(n)
			return
		}
	}
	p.fault(n, "expected an entry that begins with flight: or reference:")
}

func (p *parser) flight(n *yaml.Node) {
	s := &flight.State{Status: flight.Active, Version: 1, Fields: flight.Fields{}, Lists: map[string][]flight.Record{}}
	dated := false
	p.pairs(n, func(key string, k, v *yaml.Node) {
		switch key {
		case "flight":
			id, err := flight.ParseID(p.text(v, key))
			if err != nil {
				p.fault(v, "flight: found %q, %v", v.Value, err)
			}
			s.ID = id
		case "state":
			if s.Status = flight.Status(p.text(v, key)); s.Status != flight.Active && s.Status != flight.Deleted {
				p.fault(v, "state: found %q, expected ACTIVE or DELETED", v.Value)
			}
		case "version":
			version, err := strconv.ParseInt(p.text(v, key), 10, 64)
			if err != nil || version < 1 {
				p.fault(v, "version: found %q, expected a number from 1", v.Value)
			}
			s.Version = version
		case "operation_day":
			if dated = true; v.Tag != "!!null" {
				s.OperationDay = p.text(v, key)
				if _, err := time.Parse(time.DateOnly, s.OperationDay); err != nil {
					p.fault(v, "operation_day: found %q, expected a date such as 2021-01-23 or ~ for none", v.Value)
				}
			}
		case "MAFL":
			p.stated[s.ID] = v
		default:
			p.tag(s, key, k, v)
		}
	})
	if sodt := s.Fields["SODT"]; sodt != "" && !dated {
		s.OperationDay, _ = decision.OperationDay(sodt, p.zone, 0)
	}
	if p.world.Flights[s.ID] != nil {
		p.fault(n, "flight %s stands twice", s.ID)
	}
	p.world.Flights[s.ID] = s
}

// tag reads a scalar, an object or a list of a flight.
func (p *parser) tag(s *flight.State, tag string, k, v *yaml.Node) {
	if f, ok := p.cat.Scalar(tag); ok && tag != "FLID" {
		s.Fields[tag] = p.value(f, v)
		return
	}
	if o, ok := p.cat.Object(tag); ok {
		p.pairs(v, func(part string, k, v *yaml.Node) {
			if f, ok := catalogue.PartOf(o.Parts, part); ok {
				s.Fields[tag+"."+part] = p.value(f, v)
			} else {
				p.fault(k, "%s: unknown part %q", tag, part)
			}
		})
		return
	}
	if l, ok := p.cat.List(tag); ok {
		s.Lists[tag] = p.records(l, v)
		return
	}
	p.fault(k, "unknown tag %q, expected state, version, operation_day, or a scalar, object or list of the catalogue", tag)
}

func (p *parser) records(l *catalogue.List, n *yaml.Node) []flight.Record {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		p.fault(n, "%s: expected a list of records (leave out an empty list)", l.Tag)
		return nil
	}
	var out []flight.Record
	for _, item := range n.Content {
		r := flight.Record{Fields: flight.Fields{}}
		p.pairs(item, func(tag string, k, v *yaml.Node) {
			if f, ok := catalogue.PartOf(l.Fields, tag); ok {
				r.Fields[tag] = p.value(f, v)
				return
			}
			i := slices.IndexFunc(l.Lists, func(nested catalogue.List) bool { return nested.Tag == tag })
			if i < 0 {
				p.fault(k, "%s: unknown part %q", l.Tag, tag)
				return
			}
			if r.Lists == nil {
				r.Lists = map[string][]flight.Record{}
			}
			r.Lists[tag] = p.records(&l.Lists[i], v)
		})
		out = append(out, r)
	}
	return out
}

// value is canonical text; of a time the short form is understood too.
func (p *parser) value(f *catalogue.Field, n *yaml.Node) string {
	text := p.text(n, f.Tag)
	if f.Type == catalogue.Datetime {
		if t, err := time.ParseInLocation(shortTime, text, p.zone); err == nil {
			text = t.Format(time.RFC3339)
		}
	}
	if wrong := decision.CheckText(f, text, p.zone); text != "" && wrong != "" {
		p.fault(n, "%s %s", f.Tag, wrong)
	}
	return text
}

func (p *parser) reference(n *yaml.Node) {
	var typ, key string
	var value json.RawMessage
	p.pairs(n, func(name string, k, v *yaml.Node) {
		switch name {
		case "reference":
			typ = p.text(v, name)
			if _, ok := p.cat.Reference(typ); !ok {
				p.fault(v, "unknown reference type %q", typ)
			}
		case "key":
			key = p.text(v, name)
		case "value":
			value = appendNode(nil, v)
		default:
			p.fault(k, "unknown key %q, expected key and value", name)
		}
	})
	if key == "" || value == nil {
		p.fault(n, "a reference needs key and value")
		return
	}
	if p.world.Refs[typ] == nil {
		p.world.Refs[typ] = map[string]json.RawMessage{}
	}
	p.world.Refs[typ][key] = value
}

// appendNode writes YAML as JSON with every value a text, as reference records have it.
func appendNode(b []byte, n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSON(b, n.Content[i].Value), ':')
			b = appendNode(b, n.Content[i+1])
		}
		return append(b, '}')
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendNode(b, item)
		}
		return append(b, ']')
	}
	if n.Tag == "!!null" {
		return append(b, "null"...)
	}
	return appendJSON(b, n.Value)
}

// derive gives masters their MAFL and holds what was written to it.
func (p *parser) derive() {
	for _, id := range slices.Sorted(maps.Keys(p.world.Flights)) {
		s := p.world.Flights[id]
		if master, child := s.Master(); child && s.Status == flight.Active && p.world.Flights[master].IsMaster() {
			m := p.world.Flights[master]
			m.Members = append(m.Members, flight.Member{FLID: id, FLNO: s.Fields["FLNO"]})
		}
	}
	for id, n := range p.stated {
		want := membersText(p.world.Flights[id].Members)
		if got := p.membersOf(n); got != want {
			p.fault(n, "MAFL of flight %s is %s, expected %s from the flights that state it as MAID", id, got, want)
		}
	}
}

func (p *parser) membersOf(n *yaml.Node) string {
	var members []flight.Member
	for _, item := range n.Content {
		var m flight.Member
		p.pairs(item, func(key string, k, v *yaml.Node) {
			switch key {
			case "FLID":
				m.FLID, _ = flight.ParseID(v.Value)
			case "FLNO":
				m.FLNO = message.SafeText(v.Value, 20)
			default:
				p.fault(k, "MAFL: unknown part %q", key)
			}
		})
		members = append(members, m)
	}
	return membersText(members)
}
