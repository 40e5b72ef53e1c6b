package rulebook

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rulebook/diagnostic"
)

// Settings are the parts of the configuration that reach rules.
type Settings struct {
	AbsentOptional string // Keep or Clear: fields that a schedule does not carry
	// Bound are scripts at versions, such as "flop-gtdt@1 fdel@2", that take the place of the
	// manifest's pick for the kinds they serve. A case of the corpus uses it to hold an old
	// version to what it decided; in production it is empty.
	Bound string
}

// The values of Settings.AbsentOptional.
const (
	Keep  = "keep"
	Clear = "clear"
)

// Rulebook is a loaded rule set. It is safe for one caller at a time.
type Rulebook struct {
	cat      *catalogue.Catalogue
	shapes   *shapes
	settings Settings
	limits   Limits
	files    map[string]*file
	used     []string
	hash     string
	byKind   map[string]*entry
	machine  *player // nil after an error: the next call starts a new one
	spent    int64   // instructions of the last call
	rec      *recorder
	tracer   *tracer // when it was loaded to be traced
}

// entry is a script in its place.
type entry struct {
	Script
	family message.Family
	writes map[string]bool
}

// Hash identifies the rule set: SHA-256 over the manifest, the files it uses, the
// catalogue and the settings, in lower-case hex.
func (b *Rulebook) Hash() string { return b.hash }

// Files are the sources of the rule set by path. Old versions that the manifest
// does not name are not part of it.
func (b *Rulebook) Files() map[string][]byte {
	out := make(map[string][]byte, len(b.used))
	for _, name := range b.used {
		out[name] = slices.Clone(b.files[name].source)
	}
	return out
}

// Scripts lists what handles each kind, by kind.
func (b *Rulebook) Scripts() []Script {
	out := make([]Script, 0, len(b.byKind))
	for _, kind := range slices.Sorted(maps.Keys(b.byKind)) {
		out = append(out, b.byKind[kind].Script)
	}
	return out
}

// Script finds what handles a kind; false means that the kind is unsupported.
func (b *Rulebook) Script(kind string) (Script, bool) {
	e, ok := b.byKind[kind]
	if !ok {
		return Script{}, false
	}
	return e.Script, true
}

// Instructions is how many the last call of Decide has used, native calls and the
// reading of the decision included.
func (b *Rulebook) Instructions() int64 { return b.spent }

// Decide asks the script of the message's kind. An error is a fault of the rule:
// its text says where, is safe to store, and is the same for the same input.
func (b *Rulebook) Decide(msg *message.Message, view decision.View) (decision.Decision, error) {
	d, err := b.decide(msg, view)
	if b.tracer != nil {
		b.tracer.follow(msg, view, d, err, b.spent)
	}
	return d, err
}

func (b *Rulebook) decide(msg *message.Message, view decision.View) (decision.Decision, error) {
	b.spent = 0
	e, ok := b.byKind[msg.Kind]
	if !ok {
		return decision.Decision{}, numbered(diagnostic.NoHandler, nil, "rules: no script handles %s", message.SafeText(msg.Kind, 40))
	}
	m := b.machine
	b.machine = nil // until the call has gone well
	if m == nil {
		var err error
		if m, err = b.start(e); err != nil {
			return decision.Decision{}, numbered(diagnostic.FailsLoading, err, "rules: %s", message.SafeText(err.Error(), maxError))
		}
	}
	d, err := m.decide(e, msg, view)
	b.spent = m.meter.used()
	if err != nil {
		m.state.Close()
		return decision.Decision{}, numbered(diagnostic.LuaError, err, "rules: %s: %s", e.ID(), message.SafeText(err.Error(), maxError))
	}
	m.forget()
	b.machine = m
	return d, nil
}

// maxError bounds the text of an error, in characters.
const maxError = 400

// player is a machine with the rule set's files in it. Scripts are loaded when they
// are first asked for.
type player struct {
	*machine
	book    *Rulebook
	decides map[string]*lua.LFunction // by file
}

// start makes a machine with the script of an entry ready to run.
func (b *Rulebook) start(e *entry) (*player, error) {
	m := &player{machine: newMachine(b.limits, b.rec), book: b, decides: map[string]*lua.LFunction{}}
	m.modules[flightModule] = m.flightTags(b.cat)
	if e != nil {
		if _, err := m.script(e); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// flightTags is the library that says what a flight consists of.
func (m *player) flightTags(cat *catalogue.Catalogue) lua.LValue {
	t := m.state.NewTable()
	shape := m.state.NewTable()
	add := func(name, what string, tags []string) {
		list := m.state.NewTable()
		for _, tag := range tags {
			list.Append(lua.LString(tag))
			shape.RawSetString(tag, lua.LString(what))
		}
		t.RawSetString(name, list)
	}
	f := cat.Flight
	add("scalars", "scalar", tagsOf(f.Scalars, func(f catalogue.Field) string { return f.Tag }))
	add("objects", "object", tagsOf(f.Objects, func(o catalogue.Object) string { return o.Tag }))
	add("lists", "list", tagsOf(f.Lists, func(l catalogue.List) string { return l.Tag }))
	t.RawSetString("shape", shape)
	m.freeze(t)
	return t
}

func tagsOf[T any](list []T, tag func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = tag(v)
	}
	return out
}

// script finds the decide function of an entry, loading its file when needed.
func (m *player) script(e *entry) (*lua.LFunction, error) {
	if fn := m.decides[e.File]; fn != nil {
		return fn, nil
	}
	v, err := m.load(m.book.files[e.File])
	if err != nil {
		return nil, err
	}
	table, _ := v.(*lua.LTable)
	fn, ok := table.RawGetString("decide").(*lua.LFunction)
	if !ok {
		return nil, fmt.Errorf("%s: decide: expected a function(view, msg)", e.File)
	}
	m.decides[e.File] = fn
	return fn, nil
}

// load runs a file once and freezes what it returns; its libraries come first.
func (m *player) load(f *file) (lua.LValue, error) {
	if err := m.needs(f, nil); err != nil {
		return nil, err
	}
	v, err := m.run(f)
	if err != nil {
		return nil, err
	}
	m.freeze(v)
	if table, ok := v.(*lua.LTable); ok {
		if fn, ok := table.RawGetString("decide").(*lua.LFunction); ok {
			m.decides[f.name] = fn
		}
	}
	return v, nil
}

var errCircle = errors.New("require each other")

// needs loads the libraries that a file requires, and theirs before them.
func (m *player) needs(f *file, way []string) error {
	for _, name := range f.requires {
		if m.modules[name] != nil {
			continue
		}
		if slices.Contains(way, name) {
			return fmt.Errorf("%s: the libraries %s %w", f.name, strings.Join(append(way, name), ", "), errCircle)
		}
		lib := m.book.files[path.Join(libFolder, name+".lua")]
		if err := m.needs(lib, append(way, name)); err != nil {
			return err
		}
		v, err := m.run(lib)
		if err != nil {
			return err
		}
		m.freeze(v)
		m.modules[name] = v
	}
	return nil
}

// run runs the chunk of a file and returns its one value.
func (m *player) run(f *file) (lua.LValue, error) {
	m.meter.reset(m.book.limits, loadRecords)
	if m.rec != nil {
		defer m.rec.loading(f.name)()
	}
	return m.call(m.state.NewFunctionFromProto(f.proto))
}

func (m *player) call(fn *lua.LFunction, args ...lua.LValue) (lua.LValue, error) {
	err := m.state.CallByParam(lua.P{Fn: fn, NRet: 1, Protect: true}, args...)
	if err != nil {
		return nil, m.scriptError(err)
	}
	v := m.state.Get(-1)
	m.state.Pop(1)
	return v, nil
}

// decide runs one call. A panic is a broken invariant of what the host was given (an
// integer that is none, say); it fails this message, not the daemon.
func (m *player) decide(e *entry, msg *message.Message, view decision.View) (_ decision.Decision, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = diagnostic.With(diagnostic.BrokenHost, fmt.Errorf("host: %v", broken))
		}
	}()
	fn, err := m.script(e)
	if err != nil {
		return decision.Decision{}, err
	}
	m.meter.reset(m.book.limits, len(msg.Records))
	g := giver{m.machine, m.book.shapes}
	seen, said := g.view(view, m.book.settings, e.Reads), g.message(msg)
	if m.rec != nil {
		m.rec.given(seen, said)
	}
	v, err := m.call(fn, seen, said)
	if err != nil {
		return decision.Decision{}, err
	}
	t := taker{machine: m.machine, shapes: m.book.shapes, script: &e.Script, family: e.family, kind: e.Kind, writes: e.writes}
	d, err := t.decision(v)
	if err != nil {
		return decision.Decision{}, diagnostic.With(diagnostic.DecisionForm, fmt.Errorf("%s:%d: decision: %w", e.File, fn.Proto.LineDefined, err))
	}
	return d, nil
}
