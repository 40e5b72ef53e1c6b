package rehearse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
)

// shortTime is how an airport time is written for people, where nothing is lost by it.
const shortTime = "2006-01-02 15:04"

// FormatState writes a world in the form that ParseState reads: flights by
// FLID, fields in catalogue order, then reference records by type and key.
func FormatState(cat *catalogue.Catalogue, zone *time.Location, w World) []byte {
	f := &formatter{cat: cat, zone: zone}
	for _, s := range w.List() {
		f.flight(s)
	}
	for _, typ := range slices.Sorted(maps.Keys(w.Refs)) {
		for _, key := range slices.Sorted(maps.Keys(w.Refs[typ])) {
			f.line("- reference: ", typ)
			f.line("  key: ", quote(key))
			f.line("  value: ", string(w.Refs[typ][key]))
		}
	}
	return f.out.Bytes()
}

type formatter struct {
	cat  *catalogue.Catalogue
	zone *time.Location
	out  bytes.Buffer
}

func (f *formatter) line(parts ...string) {
	for _, p := range parts {
		f.out.WriteString(p)
	}
	f.out.WriteByte('\n')
}

func (f *formatter) flight(s *flight.State) {
	f.line("- flight: ", s.ID.String())
	if s.Status != flight.Active {
		f.line("  state: ", string(s.Status))
	}
	if s.Version != 1 {
		f.line("  version: ", flight.ID(s.Version).String())
	}
	f.day(s)
	for i := range f.cat.Flight.Scalars {
		field := &f.cat.Flight.Scalars[i]
		if text, ok := s.Fields[field.Tag]; ok && field.Tag != "FLID" {
			f.line("  ", field.Tag, ": ", f.value(field, text))
		}
	}
	for i := range f.cat.Flight.Objects {
		o := &f.cat.Flight.Objects[i]
		if parts := f.parts(o.Parts, o.Tag+".", s.Fields); len(parts) > 0 {
			f.line("  ", o.Tag, ": {", strings.Join(parts, ", "), "}")
		}
	}
	for i := range f.cat.Flight.Lists {
		l := &f.cat.Flight.Lists[i]
		if len(s.Lists[l.Tag]) == 0 {
			continue
		}
		f.line("  ", l.Tag, ":")
		for _, r := range s.Lists[l.Tag] {
			f.line("    - ", f.record(l, r))
		}
	}
	if len(s.Members) > 0 {
		f.line("  MAFL: ", membersText(s.Members))
	}
}

// day writes the operation day unless it is what SODT gives at midnight.
func (f *formatter) day(s *flight.State) {
	implied := ""
	if sodt := s.Fields["SODT"]; sodt != "" {
		implied, _ = decision.OperationDay(sodt, f.zone, 0)
	}
	switch s.OperationDay {
	case implied:
	case "":
		f.line("  operation_day: ~")
	default:
		f.line("  operation_day: ", s.OperationDay)
	}
}

func (f *formatter) parts(fields []catalogue.Field, prefix string, values flight.Fields) []string {
	var out []string
	for i := range fields {
		if text, ok := values[prefix+fields[i].Tag]; ok {
			out = append(out, fields[i].Tag+": "+f.value(&fields[i], text))
		}
	}
	return out
}

func (f *formatter) record(l *catalogue.List, r flight.Record) string {
	parts := f.parts(l.Fields, "", r.Fields)
	for i := range l.Lists {
		nested := &l.Lists[i]
		var inner []string
		for _, r := range r.Lists[nested.Tag] {
			inner = append(inner, f.record(nested, r))
		}
		if len(inner) > 0 {
			parts = append(parts, nested.Tag+": ["+strings.Join(inner, ", ")+"]")
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (f *formatter) value(field *catalogue.Field, text string) string {
	if field.Type == catalogue.Datetime {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			short := t.In(f.zone).Format(shortTime)
			if back, err := time.ParseInLocation(shortTime, short, f.zone); err == nil && back.Format(time.RFC3339) == text {
				return short
			}
		}
	}
	return quote(text)
}

// plain is what YAML takes as it stands, in a flow mapping too.
var plain = regexp.MustCompile(`^(-?\p{N}|[\p{L}+./])[\p{L}\p{N}+./_()\- ]*$`)

// quote writes a text so that ParseState reads the same text back.
func quote(text string) string {
	if plain.MatchString(text) && !strings.HasSuffix(text, " ") && text != "..." {
		return text
	}
	return escapeUnprintable(string(appendJSON(nil, text)))
}

// escapeUnprintable escapes what JSON lets pass and YAML does not.
func escapeUnprintable(quoted string) string {
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case r < 0x20 || r == '\uFEFF' || (r >= 0x7f && r < 0xa0) || r == 0xfffe || r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func appendJSON(b []byte, text string) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err) // a string always encodes
	}
	return append(b, bytes.TrimRight(out.Bytes(), "\n")...)
}

func membersText(members []flight.Member) string {
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = "{FLID: " + m.FLID.String()
		if m.FLNO != "" {
			parts[i] += ", FLNO: " + quote(m.FLNO)
		}
		parts[i] += "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
