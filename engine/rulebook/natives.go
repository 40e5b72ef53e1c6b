package rulebook

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/rulebook/diagnostic"
)

// exact is the range in which a float holds every integer.
const exact = 1 << 53

// maxNumber bounds a text that tonumber looks at: reading a number of a
// hundred thousand digits takes long, and is one instruction.
const maxNumber = 64

// tableCost is what a table costs in instructions: it takes memory long after
// the one instruction that makes it.
const tableCost = 32

// set is the assignment to a field. A table is a map keyed by strings or a list
// without holes; that is what a decision can hold, and what bounds its memory: in
// plain Lua, t[60000000] = 1 takes a gigabyte in one instruction.
func (m *machine) set(l *lua.LState) int {
	t, ok := l.Get(1).(*lua.LTable)
	key, value := l.Get(2), l.Get(3)
	if !ok {
		m.fail(l, diagnostic.LuaError, "attempt to set field %s of %s", show(key), m.describe(l.Get(1)))
	}
	if isFrozen(t) {
		m.fail(l, diagnostic.ReadOnly, "%s: this table is read-only (it is part of view, msg or a loaded module); build a new one instead", show(key))
	}
	switch key := key.(type) {
	case lua.LString:
		if value == lua.LNil && t.RawGetString(string(key)) != lua.LNil {
			m.deleted[t]++
		}
		t.RawSetString(string(key), value)
	case lua.LNumber:
		m.setPosition(l, t, key, value)
	default:
		m.fail(l, diagnostic.Position, "a table is keyed by strings or by positions, found %s", m.describe(key))
	}
	return 0
}

func (m *machine) setPosition(l *lua.LState, t *lua.LTable, key lua.LNumber, value lua.LValue) {
	n := t.Len()
	if key < 1 || key > lua.LNumber(n+1) || math.Trunc(float64(key)) != float64(key) {
		m.fail(l, diagnostic.Position, "position %s of a list of %d; a list has no holes, and a map is keyed by strings (use tostring)", key, n)
	}
	if value != lua.LNil {
		t.RawSetInt(int(key), value)
		return
	}
	if int(key) == n {
		t.Remove(n)
		trim(t, n-1)
	} else if int(key) < n {
		t.RawSetInt(int(key), value)
	}
}

// trim drops nils from position n down to the last entry, so that the length of a
// list stays cheap to find however often a script empties it from the end.
func trim(t *lua.LTable, n int) {
	for ; n > 0 && t.RawGetInt(n) == lua.LNil; n-- {
		t.Remove(-1)
	}
}

// newTable charges for the table it is given. It makes an empty one itself, with
// room for a few entries: the machine's own would take 2 KB for its first field.
func (m *machine) newTable(l *lua.LState) int {
	m.meter.charge(l, tableCost)
	if l.GetTop() == 0 {
		l.Push(l.CreateTable(4, 4))
	}
	return 1
}

func (m *machine) key(l *lua.LState) int {
	if _, ok := l.Get(1).(lua.LString); !ok {
		m.fail(l, diagnostic.Position, "a computed key in a table constructor is a string, found %s", m.describe(l.Get(1)))
	}
	return 1
}

// concat is the .. operator over all its operands.
func (m *machine) concat(l *lua.LState) int {
	n := l.GetTop()
	if a, ok := l.Get(1).(lua.LString); ok && n == 2 {
		if b, ok := l.Get(2).(lua.LString); ok {
			m.meter.chargeBytes(l, len(a)+len(b))
			l.Push(a + b)
			return 1
		}
	}
	parts := make([]string, n)
	size := 0
	for i := range parts {
		parts[i] = m.text(l, l.Get(i+1), "concatenate")
		size += len(parts[i])
	}
	m.meter.chargeBytes(l, size)
	l.Push(lua.LString(strings.Join(parts, "")))
	return 1
}

// text is the text of a string or number; a number that a float cannot hold
// exactly has none.
func (m *machine) text(l *lua.LState, v lua.LValue, verb string) string {
	switch v := v.(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		f := float64(v)
		if math.Abs(f) > exact || math.IsNaN(f) {
			m.fail(l, diagnostic.NotExact, "attempt to %s the number %s, which is not exact; identifiers and decimals are strings", verb, v)
		}
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	m.fail(l, diagnostic.LuaError, "attempt to %s %s", verb, m.describe(v))
	return ""
}

// describe names a value in an error without printing an address.
func (m *machine) describe(v lua.LValue) string {
	switch v := v.(type) {
	case *lua.LTable:
		return "a table"
	case *lua.LFunction:
		return "a function"
	case *lua.LUserData:
		if v == m.clear {
			return "CLEAR"
		}
		return "an iterator"
	case lua.LString:
		return "the string " + show(v)
	case lua.LNumber:
		return "the number " + v.String()
	}
	return v.String()
}

// show quotes a key for an error.
func show(v lua.LValue) string {
	if s, ok := v.(lua.LString); ok {
		text := string(s)
		if len(text) > 64 {
			text = strings.ToValidUTF8(text[:64], "") + "…"
		}
		return strconv.Quote(text)
	}
	if _, ok := v.(lua.LNumber); ok {
		return v.String()
	}
	return "a " + v.Type().String()
}

// typeOf is Lua's type, with CLEAR as a type of its own.
func (m *machine) typeOf(l *lua.LState) int {
	v := l.CheckAny(1)
	if v == m.clear {
		l.Push(lua.LString("clear"))
	} else {
		l.Push(lua.LString(v.Type().String()))
	}
	return 1
}

func (m *machine) tostring(l *lua.LState) int {
	var text string
	switch v := l.CheckAny(1).(type) {
	case lua.LBool, *lua.LNilType:
		text = v.String()
	default:
		text = m.text(l, v, "make a string of")
	}
	m.meter.chargeBytes(l, len(text))
	l.Push(lua.LString(text))
	return 1
}

// tonumber reads decimal digits; it refuses what a float would falsify.
func (m *machine) tonumber(l *lua.LState) int {
	switch v := l.CheckAny(1).(type) {
	case lua.LNumber:
		l.Push(v)
	case lua.LString:
		if len(v) > maxNumber {
			l.Push(lua.LNil)
			break
		}
		text := strings.TrimSpace(string(v))
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || text == "" || strings.Trim(text, "+-.0123456789") != "" {
			l.Push(lua.LNil)
			break
		}
		if math.Abs(f) > exact {
			m.fail(l, diagnostic.NotExact, "%s is not exact as a number; identifiers and decimals stay strings", show(v))
		}
		l.Push(lua.LNumber(f))
	default:
		l.Push(lua.LNil)
	}
	return 1
}

func (m *machine) raise(l *lua.LState) int {
	m.fail(l, diagnostic.Raised, "%s", m.text(l, l.Get(1), "raise"))
	return 0
}

func (m *machine) assert(l *lua.LState) int {
	if lua.LVAsBool(l.Get(1)) {
		return l.GetTop()
	}
	if l.GetTop() < 2 {
		m.fail(l, diagnostic.Raised, "assertion failed")
	}
	m.fail(l, diagnostic.Raised, "%s", m.text(l, l.Get(2), "raise"))
	return 0
}

// require hands out a library; all of them were loaded before.
func (m *machine) require(l *lua.LState) int {
	lib, ok := m.modules[l.CheckString(1)]
	if !ok {
		m.fail(l, diagnostic.LuaError, "there is no library %s", show(l.Get(1)))
	}
	l.Push(lib)
	return 1
}

// table insists on a table argument and says what it got instead.
func (m *machine) table(l *lua.LState, what string) *lua.LTable {
	t, ok := l.Get(1).(*lua.LTable)
	if !ok {
		m.fail(l, diagnostic.Arguments, "%s wants a table, found %s", what, m.describe(l.Get(1)))
	}
	return t
}

func (m *machine) ipairs(l *lua.LState) int {
	t := m.table(l, "ipairs")
	l.Push(m.ipairsStep)
	l.Push(t)
	l.Push(lua.LNumber(0))
	return 3
}

func ipairsNext(l *lua.LState) int {
	t, i := l.CheckTable(1), l.CheckInt(2)+1
	v := t.RawGetInt(i)
	if v == lua.LNil {
		return 0
	}
	l.Push(lua.LNumber(i))
	l.Push(v)
	return 2
}

// order walks the keys of a table: positions first, then strings, each
// ascending. It keeps no state that a script could observe: the same key always leads to
// the same next one, the hint only saves the search.
type order struct {
	table *lua.LTable
	keys  []lua.LValue
	hint  int
}

func (o *order) after(key lua.LValue) (lua.LValue, lua.LValue) {
	i := 0
	if key != lua.LNil {
		if o.hint >= len(o.keys) || o.keys[o.hint] != key {
			at, found := slices.BinarySearchFunc(o.keys, key, compareKeys)
			if !found {
				return lua.LNil, lua.LNil
			}
			o.hint = at
		}
		i = o.hint + 1
	}
	for ; i < len(o.keys); i++ {
		if v := o.table.RawGet(o.keys[i]); v != lua.LNil {
			o.hint = i
			return o.keys[i], v
		}
	}
	return lua.LNil, lua.LNil
}

func compareKeys(a, b lua.LValue) int {
	x, xNumber := a.(lua.LNumber)
	y, yNumber := b.(lua.LNumber)
	switch {
	case xNumber && yNumber:
		return cmp.Compare(x, y)
	case xNumber:
		return -1
	case yNumber:
		return 1
	}
	return strings.Compare(lua.LVAsString(a), lua.LVAsString(b))
}

func (m *machine) sorted(l *lua.LState, t *lua.LTable) *order {
	m.force(t)
	if m.rec != nil {
		m.rec.walked(t)
	}
	o := &order{table: t}
	t.ForEach(func(k, _ lua.LValue) { o.keys = append(o.keys, k) })
	m.meter.charge(l, len(o.keys)+m.deleted[t])
	slices.SortFunc(o.keys, compareKeys)
	return o
}

func (m *machine) pairs(l *lua.LState) int {
	o := m.sorted(l, m.table(l, "pairs"))
	l.Push(m.pairsStep)
	l.Push(&lua.LUserData{Value: o, Env: l.Env, Metatable: lua.LNil})
	l.Push(lua.LNil)
	return 3
}

func pairsNext(l *lua.LState) int {
	o, ok := l.CheckUserData(1).Value.(*order)
	if !ok {
		l.RaiseError("this is not the state of a pairs loop")
	}
	k, v := o.after(l.Get(2))
	l.Push(k)
	l.Push(v)
	return 2
}

// next is here for next(t) == nil; a loop should use pairs.
func (m *machine) next(l *lua.LState) int {
	k, v := m.sorted(l, m.table(l, "next")).after(l.Get(2))
	l.Push(k)
	l.Push(v)
	return 2
}
