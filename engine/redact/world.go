package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"msgx/engine/flight"
	"msgx/engine/rehearse"
)

// World replaces in flights and reference records what the rules name. The world that is given is not altered.
func (r *Redactor) World(w rehearse.World) (rehearse.World, error) {
	out := rehearse.World{Flights: make(map[flight.ID]*flight.State, len(w.Flights)), Refs: map[string]map[string]json.RawMessage{}}
	// In the order of FLIDs, so that values are counted alike every time.
	for _, s := range w.List() {
		out.Flights[s.ID] = r.state(s)
	}
	for _, typ := range slices.Sorted(maps.Keys(w.Refs)) {
		out.Refs[typ] = map[string]json.RawMessage{}
		for _, key := range slices.Sorted(maps.Keys(w.Refs[typ])) {
			value, err := r.reference([]string{typ}, w.Refs[typ][key])
			if err != nil {
				return out, fmt.Errorf("redact: reference %s %s: %w", typ, key, err)
			}
			out.Refs[typ][key] = value
		}
	}
	return out, nil
}

func (r *Redactor) state(s *flight.State) *flight.State {
	out := s.Clone()
	r.fields(nil, out.Fields)
	r.lists(nil, out.Lists)
	for i := range out.Members {
		if text, ok := r.replace([]string{"FLNO"}, out.Members[i].FLNO); ok {
			out.Members[i].FLNO = text
		}
	}
	return out
}

func (r *Redactor) fields(prefix []string, fields flight.Fields) {
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		if text, ok := r.replace(append(slices.Clone(prefix), strings.Split(path, ".")...), fields[path]); ok {
			fields[path] = text
		}
	}
}

func (r *Redactor) lists(prefix []string, lists map[string][]flight.Record) {
	for _, tag := range slices.Sorted(maps.Keys(lists)) {
		path := append(slices.Clone(prefix), tag)
		for _, entry := range lists[tag] {
			r.fields(path, entry.Fields)
			r.lists(path, entry.Lists)
		}
	}
}

// reference replaces in a record: texts, lists and tables by element.
func (r *Redactor) reference(path []string, raw json.RawMessage) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		replaced, ok := r.replace(path, text)
		if !ok {
			return raw, nil
		}
		return json.Marshal(replaced)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for i := range list {
			var err error
			if list[i], err = r.reference(path, list[i]); err != nil {
				return nil, err
			}
		}
		return json.Marshal(list)
	}
	var table map[string]json.RawMessage
	if err := json.Unmarshal(raw, &table); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		var err error
		if table[name], err = r.reference(append(slices.Clone(path), name), table[name]); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(table)
	return bytes.TrimSpace(b.Bytes()), err
}
