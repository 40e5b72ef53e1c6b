package decision

import (
	"encoding/json"
	"fmt"
	"slices"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
)

// Undo gives the fields, lists, status and operation day that a flight had before the recorded
// changes led to the given state; the state itself is not altered. Version, LastMsgID and the times
// are the caller's to set: the changes do not tell them. Members is left empty, for it follows from other flights.
//
// The error names the first path whose recorded value is not the state's: then the two do
// not belong together.
func Undo(cat *catalogue.Catalogue, after *flight.State, changed []FieldChange) (*flight.State, error) {
	s := after.Clone()
	s.Members = nil
	if s.Fields == nil {
		s.Fields = flight.Fields{}
	}
	if s.Lists == nil {
		s.Lists = map[string][]flight.Record{}
	}
	for _, c := range changed {
		if err := undo(cat, s, c); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	return s, nil
}

func undo(cat *catalogue.Catalogue, s *flight.State, c FieldChange) error {
	switch c.Path {
	case PathMembers:
		return nil
	case PathState:
		return undoText((*string)(&s.Status), c)
	case PathOperationDay:
		return undoText(&s.OperationDay, c)
	}
	if l, ok := cat.List(c.Path); ok {
		return undoList(l, s, c)
	}
	value := s.Fields[c.Path]
	if err := undoText(&value, c); err != nil {
		return err
	}
	if value == "" {
		delete(s.Fields, c.Path)
	} else {
		s.Fields[c.Path] = value
	}
	return nil
}

// undoText puts the value before in the place of the one after.
func undoText(value *string, c FieldChange) error {
	after, err := canonicalText(c.After)
	if err != nil {
		return err
	}
	if *value != after {
		return fmt.Errorf("the state has %q, the record of the change %q", *value, after)
	}
	*value, err = canonicalText(c.Before)
	return err
}

// canonicalText reads a published value back: integers are numbers there, all else strings.
func canonicalText(raw json.RawMessage) (string, error) {
	switch {
	case none(raw):
		return "", nil
	case raw[0] != '"':
		return string(raw), nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}

func none(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func undoList(l *catalogue.List, s *flight.State, c FieldChange) error {
	after, err := records(l, c.After)
	if err != nil {
		return err
	}
	if !flight.EqualRecords(s.Lists[l.Tag], after) {
		return fmt.Errorf("the state has another list than the record of the change")
	}
	before, err := records(l, c.Before)
	if err != nil {
		return err
	}
	if len(before) == 0 {
		delete(s.Lists, l.Tag)
	} else {
		s.Lists[l.Tag] = before
	}
	return nil
}

// records reads a published list back.
func records(l *catalogue.List, raw json.RawMessage) ([]flight.Record, error) {
	if none(raw) {
		return nil, nil
	}
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, err
	}
	out := make([]flight.Record, len(entries))
	for i, entry := range entries {
		r := flight.Record{Fields: make(flight.Fields, len(entry))}
		for tag, value := range entry {
			if n := slices.IndexFunc(l.Lists, func(n catalogue.List) bool { return n.Tag == tag }); n >= 0 {
				inner, err := records(&l.Lists[n], value)
				if err != nil {
					return nil, fmt.Errorf("entry %d: %w", i+1, err)
				}
				if r.Lists == nil {
					r.Lists = map[string][]flight.Record{}
				}
				r.Lists[tag] = inner
				continue
			}
			text, err := canonicalText(value)
			if err != nil {
				return nil, fmt.Errorf("entry %d: %s: %w", i+1, tag, err)
			}
			r.Fields[tag] = text
		}
		out[i] = r
	}
	return out, nil
}
