package rulebook

import (
	"math"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/rulebook/diagnostic"
)

// writable insists on a table that the script made itself.
func (m *machine) writable(l *lua.LState, what string) *lua.LTable {
	t := m.table(l, what)
	if isFrozen(t) {
		m.fail(l, diagnostic.ReadOnly, "%s: this table is read-only (it is part of view, msg or a loaded module); build a new one instead", what)
	}
	return t
}

func (m *machine) tableInsert(l *lua.LState) int {
	t := m.writable(l, "table.insert")
	n := t.Len()
	pos, value := n+1, l.Get(2)
	if l.GetTop() > 2 {
		pos, value = l.CheckInt(2), l.Get(3)
	}
	if value == lua.LNil || pos < 1 || pos > n+1 {
		m.fail(l, diagnostic.Arguments, "table.insert: position %d of a list of %d, value %s", pos, n, m.describe(value))
	}
	m.meter.charge(l, n+1-pos)
	if pos == n+1 {
		t.RawSetInt(pos, value)
	} else {
		t.Insert(pos, value)
	}
	return 0
}

func (m *machine) tableRemove(l *lua.LState) int {
	t := m.writable(l, "table.remove")
	n := t.Len()
	pos := l.OptInt(2, n)
	if n == 0 || pos < 1 || pos > n {
		l.Push(lua.LNil)
		return 1
	}
	m.meter.charge(l, n-pos)
	v := t.Remove(pos)
	trim(t, n-1)
	l.Push(v)
	return 1
}

func (m *machine) tableConcat(l *lua.LState) int {
	t := m.table(l, "table.concat")
	sep := l.OptString(2, "")
	n := t.Len()
	m.meter.charge(l, n)
	parts := make([]string, n)
	size := len(sep) * max(n-1, 0)
	for i := range parts {
		parts[i] = m.text(l, t.RawGetInt(i+1), "concatenate")
		size += len(parts[i])
	}
	m.meter.chargeBytes(l, size)
	l.Push(lua.LString(strings.Join(parts, sep)))
	return 1
}

// tableSort sorts a list stably, so that equal entries keep their order. The
// list is sorted aside: a comparison that changes it changes nothing.
func (m *machine) tableSort(l *lua.LState) int {
	t := m.writable(l, "table.sort")
	n := t.Len()
	m.meter.charge(l, n)
	values := make([]lua.LValue, n)
	for i := range values {
		values[i] = t.RawGetInt(i + 1)
	}
	less := func(a, b lua.LValue) bool { return m.natural(l, a, b) }
	if l.GetTop() > 1 {
		fn := l.CheckFunction(2)
		less = func(a, b lua.LValue) bool {
			l.Push(fn)
			l.Push(a)
			l.Push(b)
			l.Call(2, 1)
			yes := lua.LVAsBool(l.Get(-1))
			l.Pop(1)
			return yes
		}
	}
	slices.SortStableFunc(values, func(a, b lua.LValue) int {
		switch {
		case less(a, b):
			return -1
		case less(b, a):
			return 1
		}
		return 0
	})
	for i, v := range values {
		t.RawSetInt(i+1, v)
	}
	return 0
}

func (m *machine) natural(l *lua.LState, a, b lua.LValue) bool {
	m.meter.charge(l, 1)
	x, xNumber := a.(lua.LNumber)
	y, yNumber := b.(lua.LNumber)
	if xNumber && yNumber {
		return x < y
	}
	s, sText := a.(lua.LString)
	t, tText := b.(lua.LString)
	if !sText || !tText {
		m.fail(l, diagnostic.Arguments, "table.sort: %s and %s have no order; give a comparison", m.describe(a), m.describe(b))
	}
	return s < t
}

// bounds turns Lua's first and last position (negative from the end) into a slice.
func bounds(n, first, last int) (int, int) {
	if first < 0 {
		first = max(n+first+1, 1)
	}
	if last < 0 {
		last = n + last + 1
	}
	first, last = max(first, 1), min(last, n)
	if first > last {
		return 0, 0
	}
	return first - 1, last
}

func (m *machine) stringSub(l *lua.LState) int {
	s := l.CheckString(1)
	from, to := bounds(len(s), l.OptInt(2, 1), l.OptInt(3, -1))
	l.Push(lua.LString(s[from:to]))
	return 1
}

func (m *machine) stringLen(l *lua.LState) int {
	l.Push(lua.LNumber(len(l.CheckString(1))))
	return 1
}

func (m *machine) stringUpper(l *lua.LState) int {
	s := l.CheckString(1)
	m.meter.chargeBytes(l, len(s))
	l.Push(lua.LString(strings.ToUpper(s)))
	return 1
}

func (m *machine) stringLower(l *lua.LState) int {
	s := l.CheckString(1)
	m.meter.chargeBytes(l, len(s))
	l.Push(lua.LString(strings.ToLower(s)))
	return 1
}

// stringByte gives one byte, or nil.
func (m *machine) stringByte(l *lua.LState) int {
	s := l.CheckString(1)
	i := l.OptInt(2, 1)
	if i < 0 {
		i += len(s) + 1
	}
	if i < 1 || i > len(s) {
		l.Push(lua.LNil)
	} else {
		l.Push(lua.LNumber(s[i-1]))
	}
	return 1
}

// stringFind finds plain text: a pattern is taken as it stands.
func (m *machine) stringFind(l *lua.LState) int {
	s, text := l.CheckString(1), l.CheckString(2)
	from := l.OptInt(3, 1) - 1
	if from < 0 || from > len(s) {
		l.Push(lua.LNil)
		return 1
	}
	m.meter.charge(l, len(s)/64)
	at := strings.Index(s[from:], text)
	if at < 0 {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(from + at + 1))
	l.Push(lua.LNumber(from + at + len(text)))
	return 2
}

func mathAbs(l *lua.LState) int {
	l.Push(lua.LNumber(math.Abs(float64(l.CheckNumber(1)))))
	return 1
}

func mathCeil(l *lua.LState) int {
	l.Push(lua.LNumber(math.Ceil(float64(l.CheckNumber(1)))))
	return 1
}

func mathFloor(l *lua.LState) int {
	l.Push(lua.LNumber(math.Floor(float64(l.CheckNumber(1)))))
	return 1
}

func mathMax(l *lua.LState) int {
	v := l.CheckNumber(1)
	for i := 2; i <= l.GetTop(); i++ {
		v = max(v, l.CheckNumber(i))
	}
	l.Push(v)
	return 1
}

func mathMin(l *lua.LState) int {
	v := l.CheckNumber(1)
	for i := 2; i <= l.GetTop(); i++ {
		v = min(v, l.CheckNumber(i))
	}
	l.Push(v)
	return 1
}
