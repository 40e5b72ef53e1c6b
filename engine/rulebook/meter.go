package rulebook

import (
	"context"
	"errors"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/rulebook/diagnostic"
)

// Limits bound what one call of a script may use. A zero value means the default.
type Limits struct {
	Instructions          int64 // of the virtual machine, for any message
	InstructionsPerRecord int64 // more for each record of the message
	StringBytes           int64 // of all strings a script builds, for any message
	StringBytesPerRecord  int64
	CallDepth             int // nested calls
	// Late is asked every few thousand instructions, and true ends the call. It makes what a call
	// comes to depend on more than its input, so it is for rule sets whose decisions are never applied. nil never ends one.
	Late func() bool
}

// DefaultLimits are generous for a rule and small for the host: a runaway script
// is stopped within a few milliseconds on a message of one record.
func DefaultLimits() Limits {
	return Limits{
		Instructions:          200_000,
		InstructionsPerRecord: 10_000,
		StringBytes:           256 << 10,
		StringBytesPerRecord:  1 << 10,
		CallDepth:             100,
	}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	pick := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	pick(&l.Instructions, d.Instructions)
	pick(&l.InstructionsPerRecord, d.InstructionsPerRecord)
	pick(&l.StringBytes, d.StringBytes)
	pick(&l.StringBytesPerRecord, d.StringBytesPerRecord)
	if l.CallDepth == 0 {
		l.CallDepth = d.CallDepth
	}
	return l
}

// loadRecords is the size of message whose budget a file gets for being loaded.
const loadRecords = 100

var (
	errInstructions = diagnostic.With(diagnostic.Instructions, errors.New("instruction budget used up"))
	errStrings      = diagnostic.With(diagnostic.StringBytes, errors.New("string budget used up"))
	errLate         = errors.New("time used up")
)

// meter counts what a call uses. The virtual machine asks Done before every
// instruction, which makes the count exact; it is a context for that reason only.
type meter struct {
	context.Context
	budget int64
	left   int64 // of the slice in use
	rest   int64 // of the budget, behind the slice in use
	bytes  int64
	late   func() bool
	was    error // what ended the call
}

// slice is how many instructions pass between two questions whether it is late.
const slice = 4096

// stop is a channel that is always ready: the machine takes it as "cancelled".
var stop = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done counts one instruction. A nil channel is never ready and costs nothing.
func (m *meter) Done() <-chan struct{} {
	m.left--
	if m.left < 0 && !m.more() {
		return stop
	}
	return nil
}

// more takes the next slices of the budget, until what is owed is paid; false when the call has to end.
func (m *meter) more() bool {
	for m.left < 0 {
		switch {
		case m.rest == 0:
			m.was = errInstructions
			return false
		case m.late():
			m.was = errLate
			return false
		}
		n := min(slice, m.rest)
		m.left, m.rest = m.left+n, m.rest-n
	}
	return true
}

// Err says why the machine was stopped.
func (m *meter) Err() error {
	if m.was == nil {
		return errInstructions
	}
	return m.was
}

func (m *meter) reset(l Limits, records int) {
	m.budget = l.Instructions + l.InstructionsPerRecord*int64(records)
	m.left, m.rest, m.was, m.late = m.budget, 0, nil, l.Late
	if l.Late != nil {
		m.left, m.rest = min(slice, m.budget), m.budget-min(slice, m.budget)
	}
	m.bytes = l.StringBytes + l.StringBytesPerRecord*int64(records)
}

// used is what has been taken from the budget.
func (m *meter) used() int64 { return m.budget - m.rest - max(m.left, 0) }

// charge takes the cost of a native call, in instructions.
func (m *meter) charge(l *lua.LState, cost int) {
	m.left -= int64(cost)
	if m.left < 0 && !m.more() {
		l.RaiseError("%s", m.Err())
	}
}

// chargeBytes takes the length of a string that is about to be built.
func (m *meter) chargeBytes(l *lua.LState, n int) {
	m.bytes -= int64(n)
	if m.bytes < 0 {
		l.RaiseError("%s", errStrings)
	}
}
