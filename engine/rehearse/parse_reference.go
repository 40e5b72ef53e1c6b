package rehearse

import (
	"encoding/json"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/nearest"
)

func (p *parser) reference(n *yaml.Node) {
	var typ, key string
	var value json.RawMessage
	p.pairs(n, func(name string, k, v *yaml.Node) {
		switch name {
		case "reference":
			typ = p.text(v, name)
			if _, ok := p.cat.Reference(typ); !ok {
				p.fault(v, "unknown reference type %q%s", typ, nearest.Hint(typ, p.referenceTypes()))
			}
		case "key":
			key = p.text(v, name)
		case "value":
			value = appendNode(nil, v)
		default:
			p.fault(k, "unknown key %q, expected key and value%s", name, nearest.Hint(name, []string{"key", "value"}))
		}
	})
	if key == "" || value == nil {
		p.fault(n, "a reference needs key and value")
		return
	}
	p.claim(n, "reference "+typ+" "+key)
	if p.world.Refs[typ] == nil {
		p.world.Refs[typ] = map[string]json.RawMessage{}
	}
	p.world.Refs[typ][key] = value
}

func (p *parser) referenceTypes() []string {
	out := make([]string, len(p.cat.References))
	for i := range p.cat.References {
		out[i] = p.cat.References[i].Type
	}
	return out
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
	for id, at := range p.stated {
		p.layer = at.layer
		want := membersText(p.world.Flights[id].Members)
		if got := p.membersOf(at.node); got != want {
			p.fault(at.node, "MAFL of flight %s is %s, expected %s from the flights that state it as MAID", id, got, want)
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
