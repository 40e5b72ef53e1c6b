package rulebook

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/flight"
	"msgx/engine/rulebook/diagnostic"
)

// machine is one Lua state with everything a script may reach, and nothing else.
type machine struct {
	state   *lua.LState
	meter   *meter
	frozen  *lua.LTable // the metatable that marks a table as read-only
	lazies  *lua.LTable // the metatable of read-only tables that are filled when read
	lazy    map[*lua.LTable]source
	origin  map[*lua.LTable]given
	deleted map[*lua.LTable]int // keys removed from a table; walking it costs as much
	clear   *lua.LUserData
	modules map[string]lua.LValue // loaded libraries by name
	failed  diagnostic.Code       // of the error that a native raised; a machine fails once

	ipairsStep, pairsStep *lua.LFunction

	rec *recorder // nil but in a traced rule set
}

// given is what a frozen table was made from: a list of a flight, or a record
// of reference data.
type given struct {
	shape   *shape
	records []flight.Record
	raw     json.RawMessage
}

// source fills a lazy table.
type source interface {
	field(key string) lua.LValue // LNil when there is none
	keys() []string
}

// newMachine is the one constructor of the sandbox. Whatever a script can name is
// listed here: there is no list of what is forbidden. With a recorder it has the operations
// of instrumented trees as well, which no source can spell.
func newMachine(limits Limits, rec *recorder) *machine {
	m := &machine{
		state: lua.NewState(lua.Options{
			SkipOpenLibs:  true,
			CallStackSize: limits.CallDepth,
			RegistrySize:  256 * 20,
		}),
		meter:   &meter{Context: context.Background()},
		lazy:    map[*lua.LTable]source{},
		origin:  map[*lua.LTable]given{},
		deleted: map[*lua.LTable]int{},
		modules: map[string]lua.LValue{},
	}
	m.state.SetContext(m.meter)
	m.frozen = m.state.NewTable()
	m.lazies = m.state.NewTable()
	m.lazies.RawSetString("__index", m.state.NewFunction(m.index))
	m.ipairsStep, m.pairsStep = m.state.NewFunction(ipairsNext), m.state.NewFunction(pairsNext)
	m.clear = &lua.LUserData{Env: m.state.Env, Metatable: lua.LNil}

	globals := m.state.G.Global
	for name, fn := range m.basics() {
		globals.RawSetString(name, m.state.NewFunction(fn))
	}
	for name, fns := range m.libraries() {
		globals.RawSetString(name, m.module(fns))
	}
	for name, fn := range m.operators() {
		globals.RawSetString(name, m.state.NewFunction(fn))
	}
	if rec != nil {
		rec.machine, m.rec = m, rec
		for name, fn := range rec.operators() {
			globals.RawSetString(name, m.state.NewFunction(fn))
		}
	}
	globals.RawSetString("CLEAR", m.clear)

	methods := m.state.NewTable() // ("text"):upper()
	methods.RawSetString("__index", globals.RawGetString("string"))
	m.state.SetMetatable(lua.LString(""), methods)
	return m
}

// basics are the functions a script may call by name.
func (m *machine) basics() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"assert":   m.assert,
		"error":    m.raise,
		"ipairs":   m.ipairs,
		"next":     m.next,
		"pairs":    m.pairs,
		"require":  m.require,
		"tonumber": m.tonumber,
		"tostring": m.tostring,
		"type":     m.typeOf,
	}
}

// libraries are the tables of functions a script may use. Pattern functions
// are not among them: one match can run for minutes inside a single instruction. Nor
// are rep and format: they make gigabytes of a few characters.
func (m *machine) libraries() map[string]map[string]lua.LGFunction {
	return map[string]map[string]lua.LGFunction{
		"string": {
			"byte": m.stringByte, "find": m.stringFind, "len": m.stringLen,
			"lower": m.stringLower, "sub": m.stringSub, "upper": m.stringUpper,
		},
		"table": {
			"concat": m.tableConcat, "insert": m.tableInsert,
			"remove": m.tableRemove, "sort": m.tableSort,
		},
		"math": {
			"abs": mathAbs, "ceil": mathCeil, "floor": mathFloor, "max": mathMax, "min": mathMin,
		},
	}
}

// operators are what rewritten code calls in place of syntax.
func (m *machine) operators() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{opSet: m.set, opConcat: m.concat, opNew: m.newTable, opKey: m.key}
}

// allowedNames is the allow-list as the rewriter needs it.
func allowedNames() map[string]bool {
	names := map[string]bool{"CLEAR": true}
	var m *machine
	for name := range m.basics() {
		names[name] = name != "require" // has a rule of its own
	}
	for name := range m.libraries() {
		names[name] = true
	}
	maps.DeleteFunc(names, func(_ string, allowed bool) bool { return !allowed })
	return names
}

func (m *machine) module(fns map[string]lua.LGFunction) *lua.LTable {
	t := m.state.NewTable()
	for _, name := range slices.Sorted(maps.Keys(fns)) {
		t.RawSetString(name, m.state.NewFunction(fns[name]))
	}
	t.Metatable = m.frozen
	return t
}

// isFrozen tells a read-only table. Scripts cannot set metatables, so a table
// has one only when the host gave it one.
func isFrozen(t *lua.LTable) bool { return t.Metatable != lua.LNil }

// freeze makes everything that a value reaches read-only: tables, their
// entries, and the variables that functions hold.
func (m *machine) freeze(v lua.LValue) {
	seen := map[lua.LValue]bool{}
	var walk func(lua.LValue)
	walk = func(v lua.LValue) {
		switch v := v.(type) {
		case *lua.LTable:
			if isFrozen(v) || seen[v] {
				return
			}
			seen[v] = true
			v.ForEach(func(_, entry lua.LValue) { walk(entry) })
			v.Metatable = m.frozen
		case *lua.LFunction:
			if seen[v] {
				return
			}
			seen[v] = true
			for _, up := range v.Upvalues {
				walk(up.Value())
			}
		}
	}
	walk(v)
}

// index reads a missing key of a lazy table and keeps what it finds.
func (m *machine) index(l *lua.LState) int {
	t := l.CheckTable(1)
	v := lua.LNil
	if key, ok := l.Get(2).(lua.LString); ok {
		if src := m.lazy[t]; src != nil {
			if v = src.field(string(key)); v != lua.LNil {
				t.RawSetString(string(key), v)
			}
		}
	}
	l.Push(v)
	return 1
}

// force fills a lazy table, so that it can be walked.
func (m *machine) force(t *lua.LTable) {
	src := m.lazy[t]
	if src == nil {
		return
	}
	for _, key := range src.keys() {
		if t.RawGetString(key) == lua.LNil {
			t.RawSetString(key, src.field(key))
		}
	}
	delete(m.lazy, t)
}

func (m *machine) lazyTable(src source, size int) *lua.LTable {
	t := m.state.CreateTable(0, size)
	t.Metatable = m.lazies
	m.lazy[t] = src
	return t
}

// forget drops what belonged to one call.
func (m *machine) forget() {
	clear(m.lazy)
	clear(m.origin)
	clear(m.deleted)
	m.state.SetTop(0)
}
