package golden

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/codec"
	"msgx/engine/message"
	"msgx/engine/nearest"
)

// Skeleton is the text of a new case for a kind: a flight that is there, a message with every
// element that the kind can carry and a plausible value in each, and no expectation yet.
func Skeleton(cat *catalogue.Catalogue, kind string) ([]byte, error) {
	k, ok := cat.KindNamed(kind)
	if !ok {
		var known []string
		for _, k := range cat.Kinds {
			known = append(known, k.Name)
		}
		return nil, fmt.Errorf("the catalogue has no kind %q%s", kind, nearest.Hint(strings.ToUpper(kind), known))
	}
	s := &skeleton{cat: cat}
	fmt.Fprintf(&s.out, "%s: say here what the case shows, and leave of the message what it takes to show it.\n\n", kind)
	if k.Family == message.Reference {
		s.reference(strings.TrimPrefix(kind, "REF-"))
	} else {
		s.flight(k)
	}
	fmt.Fprintf(&s.out, "-- %s --\n", expectFile)
	return []byte(s.out.String()), nil
}

type skeleton struct {
	cat *catalogue.Catalogue
	out strings.Builder
}

// The flight of a skeleton, as a message and as a state name it.
const (
	exampleFLID  = "1000345"
	exampleState = "- flight: " + exampleFLID + "\n  version: 4\n  FLNO: CA101\n  SODT: 2021-01-23 09:35\n"
)

func (s *skeleton) line(depth int, format string, args ...any) {
	s.out.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&s.out, format, args...)
	s.out.WriteByte('\n')
}

func (s *skeleton) begin(typ, subtype, state string) {
	if slices.Contains(codec.DefaultIgnore, typ+"-*") {
		s.out.WriteString("!ignore:\n\n") // or no rule would see the message
	}
	fmt.Fprintf(&s.out, "-- %s --\n%s-- 01-first%s --\n", stateFile, state, messageType)
	s.line(0, `<?xml version="1.0" encoding="UTF-8"?>`)
	s.line(0, "<MSG>")
	if subtype == "*" {
		subtype = "ANY"
	}
	s.line(1, "<META><SNDR>AODB</SNDR><SEQN>1</SEQN><DTTM>20210123080000</DTTM><TYPE>%s</TYPE><STYP>%s</STYP></META>", typ, subtype)
}

func (s *skeleton) reference(typ string) {
	key := "K1"
	ref, _ := s.cat.Reference(typ)
	s.begin(typ, "UPD", fmt.Sprintf("- reference: %s\n  key: %s\n  value: {%s: %s}\n", typ, key, ref.Key, key))
	s.line(1, "<RECS>1</RECS>")
	s.line(1, "<%s>", typ)
	s.line(2, "<%s>%s</%s>", ref.Key, key, ref.Key)
	s.line(2, "<NAME>name of %s</NAME>", key)
	s.line(1, "</%s>", typ)
	s.line(0, "</MSG>")
}

// flight writes a message about a flight: an operation, a deletion or a schedule.
func (s *skeleton) flight(k *catalogue.Kind) {
	s.begin(k.Wire[0].Type, k.Wire[0].Subtype, exampleState)
	depth := 2
	s.line(1, "<%s>", k.Payload[0])
	if k.Record != "" {
		depth = 3
		s.line(2, "<RECS>1</RECS>")
		s.line(2, "<%s>", k.Record)
	}
	s.line(depth, "<FLID>%s</FLID>", exampleFLID)
	tags := k.Elements
	if len(tags) == 1 && tags[0] == "*" {
		tags = s.cat.Tags()
	}
	for _, tag := range tags {
		s.element(depth, tag)
	}
	if k.Record != "" {
		s.line(2, "</%s>", k.Record)
	}
	s.line(1, "</%s>", k.Payload[0])
	s.line(0, "</MSG>")
}

func (s *skeleton) element(depth int, tag string) {
	switch tag {
	case "FLID":
	case "MAID": // would make the flight a code share of another
	case "SODT": // as the state has it: another would be another operation day
		s.line(depth, "<SODT>23JAN210935</SODT>")
	default:
		if f, ok := s.cat.Scalar(tag); ok {
			s.line(depth, "<%s>%s</%s>", tag, s.value(f), tag)
		} else if o, ok := s.cat.Object(tag); ok {
			s.entry(depth, tag, o.Parts, nil)
		} else if l, ok := s.cat.List(tag); ok {
			s.entry(depth, tag, l.Fields, l.Lists)
		} else {
			s.line(depth, "<%s/>", tag) // an element that says all by being there
		}
	}
}

// entry writes an object, or an entry of a list with one entry of each list in it.
func (s *skeleton) entry(depth int, tag string, fields []catalogue.Field, lists []catalogue.List) {
	var attributes, inner strings.Builder
	text := ""
	for i := range fields {
		f := &fields[i]
		switch f.Source {
		case catalogue.FromAttribute:
			fmt.Fprintf(&attributes, " %s=%q", f.Tag, s.value(f))
		case catalogue.FromText:
			text = s.value(f)
		default:
			fmt.Fprintf(&inner, "<%s>%s</%s>", f.Tag, s.value(f), f.Tag)
		}
	}
	if len(lists) == 0 {
		s.line(depth, "<%s%s>%s%s</%s>", tag, attributes.String(), text, inner.String(), tag)
		return
	}
	s.line(depth, "<%s%s>%s%s", tag, attributes.String(), text, inner.String())
	for i := range lists {
		s.entry(depth+1, lists[i].Tag, lists[i].Fields, lists[i].Lists)
	}
	s.line(depth, "</%s>", tag)
}

// plausible are values for codes and texts, by what their meaning begins with.
var plausible = []struct{ meaning, value string }{
	{"airline", "CA"}, {"airport", "SHA"}, {"flight number", "CA101"}, {"turnaround flight", "CA102"}, {"turnaround operator", "CA"},
	{"code share: operator", "CA"}, {"code share: number", "CA101"}, {"display key", "CA-CA101-D-23JAN210935-D"},
	{"flight type", "W/Z"}, {"aircraft type", "738"}, {"registration", "B5398"}, {"terminal", "T2"}, {"current stand", "201"},
	{"stand", "201"}, {"runway", "36L"}, {"gate type", "I"}, {"gate", "G12"}, {"counter type", "I"}, {"counter", "A01"},
	{"belt type", "I"}, {"belt", "07"}, {"chute type", "I"}, {"chute", "C1"}, {"class", "Y"}, {"bridge", "B1"}, {"delay code", "81"},
	{"diversion destination", "CAN"}, {"flight status", "ARR"}, {"arrival day change", "+1"}, {"departure day change", "+1"},
	{"VIP code", "V1"}, {"service type", "FUEL"}, {"service", "CAR"}, {"reason", "fog"}, {"remark", "late"},
}

// value is what the wire would have for a field.
func (s *skeleton) value(f *catalogue.Field) string {
	text := ""
	if f.Type == catalogue.Code || f.Type == catalogue.Text {
		for _, p := range plausible {
			if strings.HasPrefix(f.Meaning, p.meaning) {
				text = p.value
				break
			}
		}
	}
	if len(f.Flags) > 0 {
		text = f.Flags[0]
	}
	if text == "" {
		t, _ := s.cat.ValueType(f.Type)
		text = cmp.Or(t.Example, "X")
	}
	if f.MaxLen > 0 && len(text) > f.MaxLen {
		text = text[:f.MaxLen]
	}
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(text)) // a builder takes everything
	return escaped.String()
}
