package rulebook

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rulebook/diagnostic"
)

func (t taker) reason(v lua.LValue) (string, error) {
	text, ok := v.(lua.LString)
	if !ok || text == "" || utf8.RuneCountInString(string(text)) > maxReason {
		return "", t.wrong(v, fmt.Sprintf("a reason: a string of 1 to %d characters", maxReason))
	}
	return message.SafeText(string(text), maxReason), nil
}

func (t taker) note(table *lua.LTable, place string) (decision.Note, error) {
	var n decision.Note
	err := t.each(table, place, func(key string, v lua.LValue) (err error) {
		switch key {
		case "flid":
			n.FLID, err = t.flid(v)
		case "reason":
			n.Reason, err = t.reason(v)
		default:
			err = unknown("flid, reason")
		}
		return inside(place+"."+key, err)
	})
	if err == nil && n.Reason == "" {
		err = fmt.Errorf("%s: a note gives a reason", place)
	}
	return n, err
}

func (t taker) ref(table *lua.LTable, place string) (decision.RefChange, error) {
	var r decision.RefChange
	if t.family != message.Reference {
		return r, diagnostic.With(diagnostic.OutOfFootprint, fmt.Errorf("%s: only a kind of reference data changes reference data", place))
	}
	err := t.each(table, place, func(key string, v lua.LValue) (err error) {
		text, isText := v.(lua.LString)
		switch key {
		case "type":
			if r.Type = string(text); "REF-"+r.Type != t.kind {
				err = diagnostic.With(diagnostic.OutOfFootprint, fmt.Errorf("outside the footprint: found %s, the message is %s", t.describe(v), t.kind))
			}
		case "key":
			if r.Key = string(text); !isText || r.Key == "" {
				err = t.wrong(v, "the key of a record")
			}
		case "op":
			r.Op = decision.RefOp(text)
			if r.Op != decision.RefUpsert && r.Op != decision.RefDelete {
				err = t.wrong(v, "upsert or delete")
			}
		case "value":
			r.Value, err = t.json(v)
		default:
			err = unknown("type, key, op, value")
		}
		return inside(place+"."+key, err)
	})
	if err == nil && (r.Type == "" || r.Key == "" || r.Op == "" || (r.Op == decision.RefUpsert) != (r.Value != nil)) {
		err = fmt.Errorf("%s: a reference change names type, key and op, and an upsert, and only that, a value", place)
	}
	return r, err
}

func (t taker) outbound(table *lua.LTable, place string) (decision.Outbound, error) {
	o := decision.Outbound{Fields: map[string]string{}}
	name, _ := table.RawGetString("request").(lua.LString)
	at := slices.IndexFunc(t.shapes.cat.Requests, func(r catalogue.Request) bool { return r.Name == string(name) })
	if at < 0 {
		return o, fmt.Errorf("%s.request: %w", place, t.wrong(table.RawGetString("request"), "a request of the catalogue"))
	}
	o.Request = string(name)
	err := t.each(table, place, func(key string, v lua.LValue) (err error) {
		if key == "request" {
			return nil
		}
		field, ok := catalogue.PartOf(t.shapes.cat.Requests[at].Fields, key)
		if !ok {
			return inside(place+"."+key, fmt.Errorf("the request %s has no such field", name))
		}
		o.Fields[key], err = t.canonical(field, v)
		return inside(place+"."+key, err)
	})
	return o, err
}

// json turns a reference record back into JSON; untouched it is what it was.
func (t taker) json(v lua.LValue) (json.RawMessage, error) {
	table, ok := v.(*lua.LTable)
	if !ok {
		return nil, t.wrong(v, "a record")
	}
	if from, ok := t.origin[table]; ok && from.raw != nil {
		return from.raw, nil
	}
	doc, err := t.plain(v, 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

// spendBytes takes text that goes into a document from the string budget: one
// long text named a thousand times is a large document.
func (t taker) spendBytes(n int) error {
	if t.meter.bytes -= int64(n); t.meter.bytes < 0 {
		return errStrings
	}
	return nil
}

func (t taker) plain(v lua.LValue, depth int) (any, error) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), t.spendBytes(len(v))
	case *lua.LTable:
		if from, ok := t.origin[v]; ok && from.raw != nil {
			return from.raw, nil
		}
		if depth > 8 {
			return nil, fmt.Errorf("a record nested more than 8 deep")
		}
		if v.Len() > 0 {
			return t.plainList(v, depth)
		}
		out := map[string]any{}
		err := t.each(v, "", func(key string, v lua.LValue) (err error) {
			if err := t.spendBytes(len(key)); err != nil {
				return err
			}
			out[key], err = t.plain(v, depth+1)
			return err
		})
		return out, err
	}
	return nil, t.wrong(v, "text, a list or a record")
}

func (t taker) plainList(table *lua.LTable, depth int) ([]any, error) {
	entries, err := t.array(table, "value")
	if err != nil {
		return nil, err
	}
	out := make([]any, len(entries))
	for i, entry := range entries {
		if out[i], err = t.plain(entry, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}
