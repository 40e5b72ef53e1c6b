package rulebook

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/rulebook/syntax"
)

// maxBranches bounds the evaluations that a trace lists one by one; the outcomes are
// counted whole.
const maxBranches = 2000

// recorder keeps what an instrumented machine reports.
type recorder struct {
	*machine
	probes *probes
	now    *section
	loaded map[string]*section // by the file that was being loaded

	labels  map[*lua.LTable]string // what view and msg consist of
	pending []lua.LValue           // tables about to be read from
	values  map[int]string         // the operands of the condition being worked out
}

// section is what has been recorded of one run.
type section struct {
	lines    map[int]int
	outcomes map[int]*[2]int // how often false and true
	branches []Branch
	cut      int
	reads    map[string]string
}

func newSection() *section {
	return &section{lines: map[int]int{}, outcomes: map[int]*[2]int{}, reads: map[string]string{}}
}

func newRecorder(p *probes) *recorder {
	r := &recorder{probes: p, loaded: map[string]*section{}}
	r.begin()
	return r
}

// begin forgets the last run.
func (r *recorder) begin() {
	r.now = newSection()
	r.labels, r.values, r.pending = map[*lua.LTable]string{}, map[int]string{}, nil
}

// loading records the loading of a file apart; the function ends it.
func (r *recorder) loading(file string) func() {
	before := r.now
	r.now = newSection()
	return func() {
		r.loaded[file] = r.now
		r.now = before
	}
}

// What the calls of an instrumented tree cost in instructions is given back, more
// or less: a run that comes to the end of its budget is cut about where it was.
const callCost = 3

func (r *recorder) operators() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		opLine: r.line, opCalled: r.called, opBranch: r.branch, opOperand: r.operand,
		opEnter: r.enter, opLeave: r.leave, opFrom: r.from, opRead: r.read,
	}
}

func (r *recorder) line(l *lua.LState) int {
	r.meter.left += callCost
	r.now.lines[l.CheckInt(1)]++
	return 0
}

func (r *recorder) called(l *lua.LState) int {
	r.meter.left += callCost
	r.count(l.CheckInt(1), true)
	return 0
}

func (r *recorder) count(n int, taken bool) {
	o := r.now.outcomes[n]
	if o == nil {
		o = new([2]int)
		r.now.outcomes[n] = o
	}
	if taken {
		o[1]++
	} else {
		o[0]++
	}
}

func (r *recorder) branch(l *lua.LState) int {
	r.meter.left += callCost + 1
	n, v := l.CheckInt(1), l.Get(2)
	p := &r.probes.points[n]
	var operands []string
	for _, o := range p.operands {
		if text, ok := r.values[o]; ok {
			operands = append(operands, r.probes.operands[o]+" = "+text)
		}
		if p.whole {
			delete(r.values, o)
		}
	}
	r.went(n, lua.LVAsBool(v), operands)
	l.Push(v)
	return 1
}

func (r *recorder) went(n int, taken bool, operands []string) {
	r.count(n, taken)
	if len(r.now.branches) == maxBranches {
		r.now.cut++
		return
	}
	r.now.branches = append(r.now.branches, Branch{Point: r.probes.points[n].Point, Taken: taken, Operands: operands})
}

func (r *recorder) operand(l *lua.LState) int {
	r.meter.left += callCost
	v := l.Get(2)
	r.values[l.CheckInt(1)] = r.describe(v)
	l.Push(v)
	return 1
}

func (r *recorder) enter(l *lua.LState) int {
	r.meter.left += callCost + 2
	if !lua.LVAsBool(l.Get(2)) {
		r.went(l.CheckInt(1), true, nil)
	}
	l.Push(lua.LTrue)
	return 1
}

func (r *recorder) leave(l *lua.LState) int {
	r.meter.left += callCost + 2
	if !lua.LVAsBool(l.Get(2)) {
		r.went(l.CheckInt(1), false, nil)
	}
	return 0
}

func (r *recorder) from(l *lua.LState) int {
	r.meter.left += callCost
	r.pending = append(r.pending, l.Get(1))
	l.Push(l.Get(1))
	return 1
}

func (r *recorder) read(l *lua.LState) int {
	r.meter.left += callCost
	key := l.Get(1)
	if last := len(r.pending) - 1; last >= 0 {
		if t, ok := r.pending[last].(*lua.LTable); ok {
			r.look(l, t, key)
		}
		r.pending = r.pending[:last]
	}
	l.Push(key)
	return 1
}

// given names the parts of what a script is handed.
func (r *recorder) given(view, msg lua.LValue) {
	r.label(view, labelView)
	r.label(msg, labelMessage)
}

const (
	labelView     = "view"
	labelFlights  = "view flights"
	labelRefs     = "view refs"
	labelSettings = "view settings"
	labelMessage  = "message"
	labelMeta     = "message meta"
	labelRecords  = "message records"
)

// name says what a key of a labelled table is called.
func name(label string, key lua.LValue) string {
	if n, ok := key.(lua.LNumber); ok {
		if label == labelRecords {
			return "record " + n.String()
		}
		return label + "[" + n.String() + "]"
	}
	text := lua.LVAsString(key)
	switch {
	case label == labelFlights:
		return "flight " + text
	case label == labelSettings:
		return "setting " + text
	case strings.HasPrefix(label, labelRefs+" "):
		return "reference " + strings.TrimPrefix(label, labelRefs+" ") + " " + text
	}
	return label + " " + text
}

// container tells what is only a way to something.
func container(name string) bool {
	switch name {
	case labelFlights, labelRefs, labelSettings, labelMeta, labelRecords:
		return true
	}
	return strings.HasPrefix(name, labelRefs+" ")
}

// look notes that a key of a table of view or msg is read.
func (r *recorder) look(l *lua.LState, t *lua.LTable, key lua.LValue) {
	label, ok := r.labels[t]
	if !ok {
		return
	}
	v := t.RawGet(key)
	if v == lua.LNil && r.lazy[t] != nil {
		v = l.GetTable(t, key)
	}
	r.found(name(label, key), v)
}

func (r *recorder) found(name string, v lua.LValue) {
	r.label(v, name)
	if !container(name) {
		r.now.reads[name] = r.describe(v)
	}
}

// walked notes that a table is read whole.
func (r *recorder) walked(t *lua.LTable) {
	if label, ok := r.labels[t]; ok {
		t.ForEach(func(k, v lua.LValue) { r.found(name(label, k), v) })
	}
}

// label names a table and the entries of a list; other parts are named when they are read.
func (r *recorder) label(v lua.LValue, text string) {
	t, ok := v.(*lua.LTable)
	if !ok || !isFrozen(t) || r.labels[t] != "" {
		return
	}
	r.labels[t] = text
	for i := 1; i <= t.Len(); i++ {
		r.label(t.RawGetInt(i), name(text, lua.LNumber(i)))
	}
}

const (
	shownText    = 60 // characters of a string
	shownEntries = 4  // entries of a table
)

// describe shows a value in a line; what is large is shortened.
func (r *recorder) describe(v lua.LValue) string { return r.shown(v, 0) }

func (r *recorder) shown(v lua.LValue, depth int) string {
	switch v := v.(type) {
	case lua.LString:
		text := []rune(strings.ToValidUTF8(string(v), "�"))
		if len(text) > shownText {
			return syntax.Quote(string(text[:shownText])) + "…"
		}
		return syntax.Quote(string(text))
	case lua.LNumber:
		return strconv.FormatFloat(float64(v), 'f', -1, 64)
	case *lua.LFunction:
		if v.IsG {
			return "a function of the host"
		}
		return fmt.Sprintf("function of %s:%d", v.Proto.SourceName, v.Proto.LineDefined)
	case *lua.LTable:
		return r.tableShown(v, depth)
	}
	return r.machine.describe(v)
}

func (r *recorder) tableShown(t *lua.LTable, depth int) string {
	if label := r.labels[t]; label != "" && r.lazy[t] != nil {
		return "{" + label + "}"
	}
	var keys []lua.LValue
	t.ForEach(func(k, _ lua.LValue) { keys = append(keys, k) })
	switch {
	case len(keys) == 0:
		return "{}"
	case depth > 1:
		return "{…}"
	}
	slices.SortFunc(keys, compareKeys)
	var parts []string
	for i, k := range keys {
		if i == shownEntries {
			parts = append(parts, fmt.Sprintf("%d more", len(keys)-i))
			break
		}
		text := r.shown(t.RawGet(k), depth+1)
		if s, ok := k.(lua.LString); ok {
			text = shortKey(string(s)) + " = " + text
		}
		parts = append(parts, text)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// shortKey shortens a key.
func shortKey(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// trace makes a report of what has been recorded.
func (r *recorder) trace(s *section) *Trace {
	t := &Trace{Branches: s.branches, Cut: s.cut, Values: s.reads, Reads: slices.Sorted(maps.Keys(s.reads))}
	for _, n := range slices.Sorted(maps.Keys(s.lines)) {
		p := r.probes.lines[n]
		t.Lines = append(t.Lines, LineHit{File: p.file, Line: p.line, Count: s.lines[n]})
	}
	slices.SortFunc(t.Lines, func(a, b LineHit) int { return compareLines(a.File, a.Line, b.File, b.Line) })
	for _, n := range slices.Sorted(maps.Keys(s.outcomes)) {
		o := s.outcomes[n]
		t.Outcomes = append(t.Outcomes, Outcome{Point: r.probes.points[n].Point, False: o[0], True: o[1]})
	}
	return t
}
