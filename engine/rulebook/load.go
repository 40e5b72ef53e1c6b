package rulebook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"msgx/engine/catalogue"
)

const (
	manifestFile = "handlers.lua"
	scriptFolder = "rules"
	libFolder    = "rules/lib"
	flightModule = "flight" // what the catalogue says of a flight, for libraries
	maxFile      = 256 << 10
)

// file is one source, compiled.
type file struct {
	name     string
	source   []byte
	proto    *lua.FunctionProto
	requires []string
}

// loader reads a rule set and collects every fault on the way.
type loader struct {
	fsys   fs.FS
	cat    *catalogue.Catalogue
	files  map[string]*file // by path
	used   map[string]bool
	probes *probes // when the trees are to be instrumented
	cache  *Cache  // of what was compiled before; may be nil
	faults []error
}

func newLoader(fsys fs.FS, cat *catalogue.Catalogue) *loader {
	return &loader{fsys: fsys, cat: cat, files: map[string]*file{}, used: map[string]bool{}}
}

func (l *loader) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Errorf(format, args...))
}

// Load reads a rule set, checks it whole and makes it ready to decide. The error
// joins every fault found, each with its place.
func Load(fsys fs.FS, cat *catalogue.Catalogue, s Settings, limits Limits) (*Rulebook, error) {
	return newLoader(fsys, cat).load(s, limits, nil)
}

func (l *loader) load(s Settings, limits Limits, rec *recorder) (*Rulebook, error) {
	if s.AbsentOptional == "" {
		s.AbsentOptional = Keep
	}
	if s.AbsentOptional != Keep && s.AbsentOptional != Clear {
		l.fault("rules: absent-optional is %q, expected %s or %s", s.AbsentOptional, Keep, Clear)
	}
	l.read()
	b := &Rulebook{cat: l.cat, settings: s, limits: limits.orDefault(), shapes: newShapes(l.cat), files: l.files, byKind: map[string]*entry{}, rec: rec}
	if len(l.faults) == 0 {
		l.bind(b, s)
	}
	if len(l.faults) > 0 {
		slices.SortStableFunc(l.faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return nil, errors.Join(l.faults...)
	}
	b.used = slices.Sorted(maps.Keys(l.used))
	b.hash = l.hash(b.used, s)
	return b, nil
}

// read compiles the manifest, every script and every library. Old versions that
// nobody refers to are compiled too: they must stay sound to be worth keeping.
func (l *loader) read() {
	l.compile(manifestFile)
	l.folder(scriptFolder, func(name string) bool { return scriptName.MatchString(name) }, "lib", "README.md")
	l.folder(libFolder, func(name string) bool { return name != "" && name != flightModule && !strings.ContainsAny(name, "@ ") })
	for _, f := range l.sorted() {
		for _, lib := range f.requires {
			if lib != flightModule && l.files[path.Join(libFolder, lib+".lua")] == nil {
				l.fault("%s: requires %q, and there is no %s/%s.lua", f.name, lib, libFolder, lib)
			}
		}
	}
}

func (l *loader) sorted() []*file {
	var out []*file
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		out = append(out, l.files[name])
	}
	return out
}

func (l *loader) folder(dir string, named func(string) bool, known ...string) {
	entries, err := fs.ReadDir(l.fsys, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.fault("%s: %w", dir, err)
	}
	for _, e := range entries {
		full := path.Join(dir, e.Name())
		name, isLua := strings.CutSuffix(e.Name(), ".lua")
		switch {
		case strings.HasPrefix(e.Name(), "."), slices.Contains(known, e.Name()): // editors leave settings
		case !isLua || e.IsDir() || !named(name):
			l.fault("%s: unexpected file; scripts are named like rules/flop-gtdt@1.lua, libraries like rules/lib/merge.lua", full)
		default:
			l.compile(full)
		}
	}
}

func (l *loader) compile(name string) {
	defer func() {
		if broken := recover(); broken != nil { // the compiler gives up on some sources by panicking
			l.fault("%s: cannot be compiled: %v", name, broken)
		}
	}()
	source, err := fs.ReadFile(l.fsys, name)
	if err != nil {
		l.fault("%s: %w", name, err)
		return
	}
	if len(source) > maxFile {
		l.fault("%s: %d bytes, expected at most %d", name, len(source), maxFile)
		return
	}
	if f := l.cache.find(name, source); f != nil {
		l.files[name] = f
		return
	}
	chunk, err := parse.Parse(strings.NewReader(string(source)), name)
	if err != nil {
		l.fault("%s", syntaxError(name, err))
		return
	}
	names := allowedNames()
	if l.probes != nil {
		chunk = instrument(name, string(source), chunk, l.probes)
		for _, op := range traceOperators {
			names[op] = true
		}
	}
	chunk, requires, faults := rewrite(name, chunk, names)
	l.faults = append(l.faults, faults...)
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		l.fault("%s", syntaxError(name, err))
		return
	}
	l.files[name] = &file{name: name, source: source, proto: proto, requires: requires}
	if len(faults) == 0 {
		l.cache.keep(l.files[name])
	}
}

// syntaxError puts the place first, as everywhere else.
func syntaxError(name string, err error) string {
	var e *parse.Error
	if errors.As(err, &e) {
		if e.Pos.Line <= 0 {
			return fmt.Sprintf("%s: %s at the end of the file", name, e.Message)
		}
		return fmt.Sprintf("%s:%d:%d: %s near %q", name, e.Pos.Line, e.Pos.Column, e.Message, e.Token)
	}
	var c *lua.CompileError
	if errors.As(err, &c) {
		return fmt.Sprintf("%s:%d: %s", name, c.Line, c.Message)
	}
	return fmt.Sprintf("%s: %v", name, err)
}

// bind runs the manifest and the scripts it names, and ties kinds to scripts.
func (l *loader) bind(b *Rulebook, s Settings) {
	m, err := b.start(nil)
	if err != nil {
		l.faults = append(l.faults, err)
		return
	}
	v, err := m.run(l.files[manifestFile])
	if err != nil {
		l.faults = append(l.faults, err)
		return
	}
	mf, faults := readManifest(v, l.cat)
	l.faults = append(l.faults, faults...)
	l.use(l.files[manifestFile])
	headers := map[string]header{}
	l.bound(m, headers, mf, s)
	for _, kind := range l.cat.Kinds {
		name, ok := mf.handler(kind.Name)
		if !ok {
			if !mf.unsupported[kind.Name] {
				l.fault("%s: no script for the kind %s; name one, or list the kind under unsupported", manifestFile, kind.Name)
			}
			continue
		}
		l.tie(b, m, headers, kind, name)
	}
	m.forget()
	b.machine = m
}

// tie binds one kind to the script that the manifest names.
func (l *loader) tie(b *Rulebook, m *player, headers map[string]header, kind catalogue.Kind, name string) {
	full := path.Join(scriptFolder, name+".lua")
	f := l.files[full]
	if f == nil {
		l.fault("%s: %s is handled by %s, and there is no %s", manifestFile, kind.Name, name, full)
		return
	}
	h := l.header(m, headers, f)
	if !slices.ContainsFunc(h.kinds, func(pattern string) bool { return matches(pattern, kind.Name) }) {
		l.fault("%s: %s is handled by %s, which says it serves %s", manifestFile, kind.Name, name, strings.Join(h.kinds, ", "))
		return
	}
	script, version := split(name)
	e := &entry{
		Script: Script{Kind: kind.Name, Name: script, Version: version, Writes: h.writes, Ops: h.ops, Reads: h.reads, File: full},
		family: kind.Family,
		writes: map[string]bool{},
	}
	for _, tag := range h.writes {
		e.writes[tag] = true
	}
	b.byKind[kind.Name] = e
}

// header runs a script, once, and reads what it says of itself. Of one that cannot be run
// the fault is told once, whatever kinds it serves.
func (l *loader) header(m *player, headers map[string]header, f *file) header {
	if h, known := headers[f.name]; known {
		return h
	}
	l.use(f)
	h := header{kinds: []string{"*"}}
	if v, err := m.load(f); err != nil {
		l.faults = append(l.faults, err)
	} else {
		var faults []error
		h, faults = readHeader(f.name, v, l.cat)
		l.faults = append(l.faults, faults...)
	}
	headers[f.name] = h
	return h
}

// use marks a file and the libraries it needs as part of the rule set.
func (l *loader) use(f *file) {
	if f == nil || l.used[f.name] {
		return
	}
	l.used[f.name] = true
	for _, lib := range f.requires {
		l.use(l.files[path.Join(libFolder, lib+".lua")])
	}
}

// hash identifies the rule set: the manifest, the files it uses, the catalogue
// and the settings, each with its length, so that nothing can slip from one into the next.
func (l *loader) hash(used []string, s Settings) string {
	sum := sha256.New()
	part := func(name string, data []byte) {
		fmt.Fprintf(sum, "%d %s %d\n", len(name), name, len(data))
		sum.Write(data)
	}
	for _, name := range used {
		part(name, l.files[name].source)
	}
	catalogue, err := json.Marshal(l.cat)
	if err != nil {
		panic(fmt.Sprintf("catalogue: %v", err)) // plain data, it always marshals
	}
	part("catalogue", catalogue)
	part("absent-optional", []byte(s.AbsentOptional))
	if s.Bound != "" {
		part("bound", []byte(s.Bound))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
