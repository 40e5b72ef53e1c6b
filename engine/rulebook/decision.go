package rulebook

import (
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rulebook/declaration"
	"msgx/engine/rulebook/diagnostic"
)

// maxReason bounds the texts of skip, reject and notes, in characters.
const maxReason = 200

// taker turns the table that a script returns into a decision. The first thing
// that is not right is an error that begins with its place: "changes[1].set.STND: …".
type taker struct {
	*machine
	shapes *shapes
	script *Script
	family message.Family
	kind   string
	writes map[string]bool
}

func (t taker) decision(v lua.LValue) (decision.Decision, error) {
	var d decision.Decision
	top, ok := v.(*lua.LTable)
	if !ok {
		return d, t.wrong(v, "a decision: a table with changes, refs, outbound and notes, or skip, or reject")
	}
	keys := 0
	err := t.each(top, "", func(key string, v lua.LValue) (err error) {
		keys++
		switch key {
		case "changes":
			d.Changes, err = items(t, v, key, t.change)
			return err
		case "refs":
			d.Refs, err = items(t, v, key, t.ref)
			return err
		case "outbound":
			d.Outbound, err = items(t, v, key, t.outbound)
			return err
		case "notes":
			d.Notes, err = items(t, v, key, t.note)
			return err
		case "skip":
			d.Skip, err = t.reason(v)
		case "reject":
			d.Reject, err = t.reason(v)
		default:
			err = unknown("changes, refs, outbound, notes, skip, reject")
		}
		return inside(key, err)
	})
	if err != nil {
		return decision.Decision{}, err
	}
	if (d.Skip != "" || d.Reject != "") && keys > 1 {
		return decision.Decision{}, fmt.Errorf("skip and reject stand alone: nothing else may be decided beside them")
	}
	return d, t.oneEach(d.Changes)
}

func (t taker) oneEach(changes []decision.Change) error {
	seen := make(map[flight.ID]bool, len(changes))
	for i, c := range changes {
		if seen[c.FLID] {
			return diagnostic.With(diagnostic.DecisionTwice, fmt.Errorf("changes[%d].flid: %s has an entry already; a decision holds one for each flight", i+1, c.FLID))
		}
		seen[c.FLID] = true
	}
	return nil
}

func unknown(known string) error { return fmt.Errorf("unknown key, expected %s", known) }

// each visits the entries of a map. Go's order is not ours: of several errors, the
// one of the smallest key is returned.
func (t taker) each(table *lua.LTable, place string, visit func(key string, v lua.LValue) error) error {
	t.force(table)
	if err := t.spend(1); err != nil {
		return err
	}
	var first error
	var at string
	keep := func(key string, err error) {
		if err != nil && (first == nil || key < at) {
			first, at = err, key
		}
	}
	table.ForEach(func(k, v lua.LValue) {
		key, ok := k.(lua.LString)
		if !ok {
			keep("", fmt.Errorf("%sfound position %s, expected names only", prefix(place), show(k)))
			return
		}
		keep(string(key), visit(string(key), v))
	})
	return first
}

func prefix(place string) string {
	if place == "" {
		return ""
	}
	return place + ": "
}

// spend takes the cost of reading a decision from the script's own budget: one
// small table named a thousand times, nested, is a large decision.
func (t taker) spend(n int) error {
	if t.meter.left -= int64(n); t.meter.left < 0 && !t.meter.more() {
		return t.meter.Err()
	}
	return nil
}

// items converts a list with the function for one entry.
func items[T any](t taker, v lua.LValue, place string, one func(table *lua.LTable, place string) (T, error)) ([]T, error) {
	list, err := t.array(v, place)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(list))
	for i, entry := range list {
		at := fmt.Sprintf("%s[%d]", place, i+1)
		table, ok := entry.(*lua.LTable)
		if !ok {
			return nil, fmt.Errorf("%s: %w", at, t.wrong(entry, "a table"))
		}
		item, err := one(table, at)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

// array reads a list and insists that it is nothing but one.
func (t taker) array(v lua.LValue, place string) ([]lua.LValue, error) {
	table, ok := v.(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("%s: %w", place, t.wrong(v, "a list"))
	}
	n := table.Len()
	if err := t.spend(n); err != nil {
		return nil, err
	}
	out := make([]lua.LValue, 0, n)
	for i := 1; i <= n; i++ {
		entry := table.RawGetInt(i)
		if entry == lua.LNil {
			return nil, fmt.Errorf("%s: the list has a hole at %d", place, i)
		}
		out = append(out, entry)
	}
	others := -n
	table.ForEach(func(_, _ lua.LValue) { others++ })
	if others > 0 || t.lazy[table] != nil {
		return nil, fmt.Errorf("%s: a list has positions only, found names among them", place)
	}
	return out, nil
}

func (t taker) change(table *lua.LTable, place string) (decision.Change, error) {
	var c decision.Change
	err := t.each(table, place, func(key string, v lua.LValue) (err error) {
		at := place + "." + key
		switch key {
		case "flid":
			c.FLID, err = t.flid(v)
		case "op":
			c.Op, err = t.op(v)
		case "set":
			c.Set, err = t.set(v, at)
			return err
		case "clear":
			c.Clear, err = t.clear(v, at)
			return err
		case "lists":
			c.Lists, err = t.lists(v, at)
			return err
		default:
			err = unknown("flid, op, set, clear, lists")
		}
		return inside(at, err)
	})
	if err != nil {
		return c, err
	}
	if c.FLID == 0 && table.RawGetString("flid") == lua.LNil || c.Op == "" {
		return c, fmt.Errorf("%s: a change names flid and op", place)
	}
	for _, tag := range c.Clear {
		if _, both := c.Set[tag]; both {
			return c, diagnostic.With(diagnostic.DecisionTwice, fmt.Errorf("%s: %s is both set and cleared", place, tag))
		}
	}
	return c, nil
}

func inside(place string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", place, err)
}

func (t taker) flid(v lua.LValue) (flight.ID, error) {
	text, ok := v.(lua.LString)
	if !ok {
		return 0, t.wrong(v, "a FLID as a string")
	}
	id, err := flight.ParseID(string(text))
	if err != nil || id.String() != string(text) {
		return 0, t.wrong(v, "1 to 18 digits without leading zeros")
	}
	return id, nil
}

func (t taker) op(v lua.LValue) (decision.Op, error) {
	text, _ := v.(lua.LString)
	if !slices.Contains(declaration.Ops, string(text)) {
		return "", t.wrong(v, "one of "+strings.Join(declaration.Ops, ", "))
	}
	if !slices.Contains(t.script.Ops, string(text)) {
		return "", diagnostic.With(diagnostic.OutOfFootprint, fmt.Errorf("%q is outside the footprint: the script declares ops %v", string(text), t.script.Ops))
	}
	return decision.Op(text), nil
}

// allowed holds a tag to the catalogue, to its section and to the footprint.
func (t taker) allowed(tag string, kinds ...string) error {
	what := t.shapes.what(tag)
	switch {
	case what == "":
		return diagnostic.With(diagnostic.DecisionTag, fmt.Errorf("the catalogue has no such tag%s", diagnostic.Perhaps(tag, t.shapes.cat.Tags())))
	case !slices.Contains(kinds, what):
		return diagnostic.With(diagnostic.DecisionPlace, fmt.Errorf("this is a %s, expected a %s", what, strings.Join(kinds, " or ")))
	case !t.writes[tag]:
		return diagnostic.With(diagnostic.OutOfFootprint, fmt.Errorf("outside the footprint: the script declares writes %s", t.script.Footprint()))
	}
	return nil
}

func (t taker) set(v lua.LValue, place string) (map[string]decision.Value, error) {
	table, ok := v.(*lua.LTable)
	if !ok {
		return nil, inside(place, t.wrong(v, "a table of values by tag"))
	}
	out := make(map[string]decision.Value, 8)
	err := t.each(table, place, func(tag string, v lua.LValue) error {
		if err := t.allowed(tag, "scalar", "object"); err != nil {
			return inside(place+"."+tag, err)
		}
		if shape := t.shapes.objects[tag]; shape != nil {
			parts, err := t.object(shape, v, place+"."+tag)
			out[tag] = decision.Value{Object: parts}
			return err
		}
		field, _ := t.shapes.cat.Scalar(tag)
		text, err := t.canonical(field, v)
		out[tag] = decision.Value{Text: text}
		return inside(place+"."+tag, err)
	})
	return out, err
}

func (t taker) object(shape *shape, v lua.LValue, place string) (map[string]string, error) {
	table, ok := v.(*lua.LTable)
	if !ok {
		return nil, inside(place, t.wrong(v, "a table of "+strings.Join(shape.order, ", ")))
	}
	parts := make(map[string]string, len(shape.order))
	err := t.each(table, place, func(part string, v lua.LValue) (err error) {
		field := shape.fields[part]
		if field == nil {
			return inside(place+"."+part, unknown(strings.Join(shape.order, ", ")))
		}
		parts[part], err = t.canonical(field, v)
		return inside(place+"."+part, err)
	})
	if err == nil && len(parts) == 0 {
		err = fmt.Errorf("%s: an object without parts; to empty it, clear it", place)
	}
	return parts, err
}

func (t taker) clear(v lua.LValue, place string) ([]string, error) {
	entries, err := t.array(v, place)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(entries))
	for i, entry := range entries {
		at := fmt.Sprintf("%s[%d]", place, i+1)
		tag, ok := entry.(lua.LString)
		if !ok {
			return nil, inside(at, t.wrong(entry, "a tag"))
		}
		if err := t.allowed(string(tag), "scalar", "object"); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", at, tag, err)
		}
		if slices.Contains(out, string(tag)) {
			return nil, diagnostic.With(diagnostic.DecisionTwice, fmt.Errorf("%s: %s stands twice", at, tag))
		}
		out = append(out, string(tag))
	}
	return out, nil
}

func (t taker) lists(v lua.LValue, place string) (map[string][]flight.Record, error) {
	table, ok := v.(*lua.LTable)
	if !ok {
		return nil, inside(place, t.wrong(v, "a table of lists by tag"))
	}
	out := make(map[string][]flight.Record, 4)
	err := t.each(table, place, func(tag string, v lua.LValue) (err error) {
		if err := t.allowed(tag, "list"); err != nil {
			return inside(place+"."+tag, err)
		}
		out[tag], err = t.records(t.shapes.lists[tag], v, place+"."+tag)
		return err
	})
	return out, err
}

func (t taker) records(shape *shape, v lua.LValue, place string) ([]flight.Record, error) {
	if table, ok := v.(*lua.LTable); ok {
		if from, ok := t.origin[table]; ok && from.shape == shape {
			return flight.CloneRecords(from.records), nil
		}
	}
	return items(t, v, place, func(entry *lua.LTable, at string) (flight.Record, error) {
		r := flight.Record{Fields: make(flight.Fields, len(shape.order))}
		err := t.each(entry, at, func(tag string, v lua.LValue) (err error) {
			if nested := shape.nested[tag]; nested != nil {
				records, err := t.records(nested, v, at+"."+tag)
				if len(records) > 0 {
					if r.Lists == nil {
						r.Lists = make(map[string][]flight.Record, len(shape.nested))
					}
					r.Lists[tag] = records
				}
				return err
			}
			field := shape.fields[tag]
			if field == nil {
				return inside(at+"."+tag, unknown(strings.Join(shape.order, ", ")))
			}
			r.Fields[tag], err = t.canonical(field, v)
			return inside(at+"."+tag, err)
		})
		return r, err
	})
}
