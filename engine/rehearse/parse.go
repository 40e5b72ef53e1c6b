package rehearse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/nearest"
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
// has to be right.
//
// Shared states lie below: an entry of data takes the place of the entry for the same flight or
// reference record in one of them; two shared states must not both have one.
//
// All faults are told at once, each with its line: the error is Faults.
func ParseState(cat *catalogue.Catalogue, zone *time.Location, data []byte, shared ...Layer) (World, error) {
	w := World{Flights: map[flight.ID]*flight.State{}, Refs: map[string]map[string]json.RawMessage{}}
	p := &parser{cat: cat, zone: zone, world: w, stated: map[flight.ID]stated{}, from: map[string]string{}}
	for _, l := range shared {
		p.read(l)
	}
	p.read(Layer{Data: data})
	p.derive()
	return w, p.faults.orNil()
}

// Layer is a state with a name, such as a file that several cases share.
type Layer struct {
	Name string
	Data []byte
}

type parser struct {
	cat    *catalogue.Catalogue
	zone   *time.Location
	world  World
	layer  string               // the one being read
	from   map[string]string    // the layer of each entry, by what it is of
	stated map[flight.ID]stated // MAFL as written
	faults Faults
}

// stated is MAFL as it is written, and in which layer.
type stated struct {
	layer string
	node  *yaml.Node
}

func (p *parser) fault(n *yaml.Node, format string, args ...any) {
	p.faults = append(p.faults, Fault{Layer: p.layer, Line: n.Line, Text: fmt.Sprintf(format, args...)})
}

func (p *parser) read(l Layer) {
	p.layer = l.Name
	var doc, more yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(l.Data))
	if err := in.Decode(&doc); err != nil {
		if !errors.Is(err, io.EOF) {
			p.faults = append(p.faults, yamlFault(l.Name, err))
		}
		return
	}
	switch err := in.Decode(&more); {
	case err == nil:
		p.fault(&more, "a second YAML document begins here, expected one list")
		return
	case !errors.Is(err, io.EOF):
		p.faults = append(p.faults, yamlFault(l.Name, err))
		return
	}
	if p.aliased(&doc) || len(doc.Content) == 0 {
		return
	}
	root := doc.Content[0]
	if root.Kind != yaml.SequenceNode {
		p.fault(root, "expected a list of flights and reference records")
		return
	}
	for _, n := range root.Content {
		p.entry(n)
	}
}

// aliased refuses what stands for something written elsewhere: a state is read by people.
func (p *parser) aliased(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		p.fault(n, "found the alias *%s, expected what it stands for", n.Value)
		return true
	}
	found := false
	for _, part := range n.Content {
		found = p.aliased(part) || found
	}
	return found
}

// claim notes where an entry comes from; an entry stands once, but for one that takes
// the place of a shared one.
func (p *parser) claim(n *yaml.Node, what string) {
	before, known := p.from[what]
	switch {
	case known && before == p.layer:
		p.fault(n, "%s stands twice", what)
	case known && p.layer != "":
		p.fault(n, "%s is in the state %s as well, expected shared states to have nothing in common", what, before)
	}
	p.from[what] = p.layer
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
	first := ""
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 {
		first = n.Content[0].Value
	}
	p.fault(n, "found %q, expected an entry that begins with flight: or reference:%s", first, nearest.Hint(first, []string{"flight", "reference"}))
}

func (p *parser) flight(n *yaml.Node) {
	s := &flight.State{Status: flight.Active, Version: 1, Fields: flight.Fields{}, Lists: map[string][]flight.Record{}}
	dated := false
	var mafl *yaml.Node
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
				p.fault(v, "state: found %q, expected ACTIVE or DELETED%s", v.Value, nearest.Hint(v.Value, []string{"ACTIVE", "DELETED"}))
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
			mafl = v
		default:
			p.tag(s, key, k, v)
		}
	})
	if sodt := s.Fields["SODT"]; sodt != "" && !dated {
		s.OperationDay, _ = decision.OperationDay(sodt, p.zone, 0)
	}
	p.claim(n, "flight "+s.ID.String())
	p.world.Flights[s.ID] = s
	delete(p.stated, s.ID)
	if mafl != nil {
		p.stated[s.ID] = stated{p.layer, mafl}
	}
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
				p.unknownPart(k, tag, o.Parts, nil)
			}
		})
		return
	}
	if l, ok := p.cat.List(tag); ok {
		s.Lists[tag] = p.records(l, v)
		return
	}
	hint := nearest.Hint(tag, append([]string{"state", "version", "operation_day", "MAFL"}, p.cat.Tags()...))
	if hint == "" {
		hint = ", expected state, version, operation_day, or a scalar, object or list of the catalogue"
	}
	p.fault(k, "unknown tag %q%s", tag, hint)
}

// unknownPart names the parts that there are, or the one that was likely meant.
func (p *parser) unknownPart(k *yaml.Node, tag string, fields []catalogue.Field, lists []catalogue.List) {
	var known []string
	for i := range fields {
		known = append(known, fields[i].Tag)
	}
	for i := range lists {
		known = append(known, lists[i].Tag)
	}
	hint := nearest.Hint(k.Value, known)
	if hint == "" {
		hint = ", expected one of " + strings.Join(known, ", ")
	}
	p.fault(k, "%s: unknown part %q%s", tag, k.Value, hint)
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
				p.unknownPart(k, l.Tag, l.Fields, l.Lists)
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
