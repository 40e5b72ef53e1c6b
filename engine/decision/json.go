package decision

import (
	"encoding/json"
	"unicode/utf8"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
)

// The JSON of history and events is written by hand: one text for one state,
// in catalogue order, whatever the order of Go's maps; and it is on the hot path.

const hex = "0123456789abcdef"

// appendString appends a JSON string.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// appendKey appends a name and its colon, after a comma unless it opens the object.
func appendKey(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(appendString(b, name), ':')
}

// appendValue appends a value as its type is published: integers as numbers,
// everything else (identifiers and decimals too, which a float would spoil) as strings.
func appendValue(b []byte, t catalogue.Type, text string) []byte {
	if t == catalogue.Int || t == catalogue.Duration {
		return append(b, text...)
	}
	return appendString(b, text)
}

func appendParts(b []byte, fields []catalogue.Field, prefix string, values flight.Fields) []byte {
	for i := range fields {
		f := &fields[i]
		if text, ok := values[prefix+f.Tag]; ok {
			b = appendValue(appendKey(b, f.Tag), f.Type, text)
		}
	}
	return b
}

// appendRecords appends a list as an array of objects.
func appendRecords(b []byte, l *catalogue.List, records []flight.Record) []byte {
	b = append(b, '[')
	for i, r := range records {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendParts(append(b, '{'), l.Fields, "", r.Fields)
		for n := range l.Lists {
			nested := &l.Lists[n]
			if inner := r.Lists[nested.Tag]; len(inner) > 0 {
				b = appendRecords(appendKey(b, nested.Tag), nested, inner)
			}
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

func appendMembers(b []byte, members []flight.Member) []byte {
	b = append(b, '[')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(appendKey(append(b, '{'), "FLID"), m.FLID.String())
		if m.FLNO != "" {
			b = appendString(appendKey(b, "FLNO"), m.FLNO)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// AppendState appends the fields, objects, lists and MAFL of a state to an
// open JSON object, in catalogue order; what is absent is left out.
func AppendState(b []byte, cat *catalogue.Catalogue, s *flight.State) []byte {
	for i := range cat.Flight.Scalars {
		f := &cat.Flight.Scalars[i]
		if text, ok := s.Fields[f.Tag]; ok && f.Tag != "FLID" {
			b = appendValue(appendKey(b, f.Tag), f.Type, text)
		}
	}
	for i := range cat.Flight.Objects {
		o := &cat.Flight.Objects[i]
		mark := len(b)
		b = append(appendKey(b, o.Tag), '{')
		open := len(b)
		if b = appendParts(b, o.Parts, o.Tag+".", s.Fields); len(b) == open {
			b = b[:mark]
		} else {
			b = append(b, '}')
		}
	}
	for i := range cat.Flight.Lists {
		l := &cat.Flight.Lists[i]
		if records := s.Lists[l.Tag]; len(records) > 0 {
			b = appendRecords(appendKey(b, l.Tag), l, records)
		}
	}
	if len(s.Members) > 0 {
		b = appendMembers(appendKey(b, "MAFL"), s.Members)
	}
	return b
}

// jsonRun hands out JSON values that share one buffer.
type jsonRun struct{ buffer []byte }

// take returns what has been appended since from.
func (r *jsonRun) take(from int) json.RawMessage {
	return json.RawMessage(r.buffer[from:len(r.buffer):len(r.buffer)])
}

func (r *jsonRun) text(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	from := len(r.buffer)
	r.buffer = appendString(r.buffer, s)
	return r.take(from)
}

func (r *jsonRun) value(t catalogue.Type, values flight.Fields, path string) json.RawMessage {
	text, ok := values[path]
	if !ok {
		return nil
	}
	from := len(r.buffer)
	r.buffer = appendValue(r.buffer, t, text)
	return r.take(from)
}

func (r *jsonRun) records(l *catalogue.List, records []flight.Record) json.RawMessage {
	if len(records) == 0 {
		return nil
	}
	from := len(r.buffer)
	r.buffer = appendRecords(r.buffer, l, records)
	return r.take(from)
}

func (r *jsonRun) members(members []flight.Member) json.RawMessage {
	if len(members) == 0 {
		return nil
	}
	from := len(r.buffer)
	r.buffer = appendMembers(r.buffer, members)
	return r.take(from)
}
