package rulebook

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
)

// Script says which script handles a kind, and what it may do.
type Script struct {
	Kind    string
	Name    string // flop-gtdt
	Version int
	Writes  []string // tags it may set, clear or list; "*" of the source is written out
	Ops     []string // what it may do to a flight: create, update, revive, delete
	Reads   []string // reference types it looks at
	File    string
}

// ID is the script at its version, as every processed message records it: "flop-gtdt@1".
func (s Script) ID() string { return fmt.Sprintf("%s@%d", s.Name, s.Version) }

// Footprint is Writes for people: "none", "EXSC, EXSR", "all 68 tags".
func (s Script) Footprint() string {
	if len(s.Writes) == 0 {
		return "none"
	}
	if len(s.Writes) > 12 {
		return fmt.Sprintf("all %d tags", len(s.Writes))
	}
	return strings.Join(s.Writes, ", ")
}

// ops are the operations a script can ask for; without a declaration it may only update.
var ops = []string{string(decision.Create), string(decision.Update), string(decision.Revive), string(decision.Delete)}

// header is what a script file declares.
type header struct {
	kinds  []string // a trailing * stands for any rest
	writes []string
	ops    []string
	reads  []string
	decide *lua.LFunction
}

// headerKeys are what the table of a script may hold.
const headerKeys = "kind, kinds, writes, ops, reads, decide"

// readHeader checks the table that a script returned. All faults are reported.
func readHeader(file string, v lua.LValue, cat *catalogue.Catalogue) (header, []error) {
	var h header
	r := headerReader{file: file}
	table, ok := v.(*lua.LTable)
	if !ok {
		r.fault("a script returns one table with kind or kinds, writes and decide")
		return h, r.faults
	}
	r.known(table)
	h.kinds = r.kinds(table)
	h.writes = r.writes(table, cat)
	h.ops = r.ops(table)
	h.reads = r.names(table, "reads")
	for _, typ := range h.reads {
		if _, ok := cat.Reference(typ); !ok {
			r.fault("reads: %q is not a type of reference data", typ)
		}
	}
	h.decide, ok = table.RawGetString("decide").(*lua.LFunction)
	if !ok {
		r.fault("decide: expected a function(view, msg)")
	}
	return h, r.faults
}

type headerReader struct {
	file   string
	faults []error
}

func (r *headerReader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s: "+format, append([]any{r.file}, args...)...))
}

func (r *headerReader) known(table *lua.LTable) {
	allowed := strings.Split(headerKeys, ", ")
	for _, key := range keysOf(table) {
		if !slices.Contains(allowed, key) {
			r.fault("unknown key %q, expected %s", key, headerKeys)
		}
	}
}

func (r *headerReader) kinds(table *lua.LTable) []string {
	kinds := r.names(table, "kinds")
	switch one := table.RawGetString("kind").(type) {
	case lua.LString:
		kinds = append(kinds, string(one))
	case *lua.LNilType:
		if len(kinds) == 0 {
			r.fault("kind: a script says which kind it handles, or lists kinds")
		}
	default:
		r.fault("kind: expected a string")
	}
	return kinds
}

func (r *headerReader) writes(table *lua.LTable, cat *catalogue.Catalogue) []string {
	if table.RawGetString("writes") == lua.LNil {
		r.fault("writes: a script declares its footprint, {} when it changes no field")
	}
	var out []string
	for _, tag := range r.names(table, "writes") {
		switch {
		case tag == "*":
			out = append(out, cat.Tags()...)
		case !slices.Contains(cat.Tags(), tag):
			r.fault("writes: %q is not a tag of a flight", tag)
		default:
			out = append(out, tag)
		}
	}
	out = slices.DeleteFunc(out, func(tag string) bool { return tag == "FLID" }) // the identity is nobody's to write
	slices.SortFunc(out, func(a, b string) int { return cat.Order(a) - cat.Order(b) })
	return slices.Compact(out)
}

func (r *headerReader) ops(table *lua.LTable) []string {
	if table.RawGetString("ops") == lua.LNil {
		return []string{string(decision.Update)}
	}
	names := r.names(table, "ops")
	for _, op := range names {
		if !slices.Contains(ops, op) {
			r.fault("ops: %q, expected %s", op, strings.Join(ops, ", "))
		}
	}
	return names
}

// names reads a list of strings.
func (r *headerReader) names(table *lua.LTable, key string) []string {
	v := table.RawGetString(key)
	if v == lua.LNil {
		return nil
	}
	list, ok := v.(*lua.LTable)
	if !ok {
		r.fault("%s: expected a list of strings", key)
		return nil
	}
	out := []string{}
	for i := 1; i <= list.Len(); i++ {
		name, ok := list.RawGetInt(i).(lua.LString)
		if !ok {
			r.fault("%s[%d]: expected a string", key, i)
			continue
		}
		out = append(out, string(name))
	}
	return out
}

func keysOf(table *lua.LTable) []string {
	keys := map[string]bool{}
	table.ForEach(func(k, _ lua.LValue) { keys[k.String()] = true })
	return slices.Sorted(maps.Keys(keys))
}

// matches tells whether a pattern ("REF-*", or a kind as it stands) covers a kind.
func matches(pattern, kind string) bool {
	if rest, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(kind, rest)
	}
	return pattern == kind
}
