package rulebook

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook/declaration"
	"msgx/engine/rulebook/diagnostic"
)

const (
	manifestFile = declaration.ManifestFile
	scriptFolder = declaration.ScriptFolder
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
	faults []*diagnostic.Fault
}

func newLoader(fsys fs.FS, cat *catalogue.Catalogue) *loader {
	return &loader{fsys: fsys, cat: cat, files: map[string]*file{}, used: map[string]bool{}}
}

func (l *loader) fault(code diagnostic.Code, file, format string, args ...any) {
	l.faults = append(l.faults, &diagnostic.Fault{Code: code, File: file, Text: fmt.Sprintf(format, args...)})
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
		return nil, fmt.Errorf("rules: absent-optional is %q, expected %s or %s", s.AbsentOptional, Keep, Clear)
	}
	l.read()
	b := &Rulebook{cat: l.cat, settings: s, limits: limits.orDefault(), shapes: newShapes(l.cat), files: l.files, byKind: map[string]*entry{}, rec: rec}
	if len(l.faults) == 0 {
		l.bind(b, s)
	}
	if len(l.faults) > 0 {
		return nil, l.joined()
	}
	b.used = slices.Sorted(maps.Keys(l.used))
	b.hash = l.hash(b.used, s)
	return b, nil
}

// joined is every fault once, in the order of the files and lines.
func (l *loader) joined() error {
	slices.SortStableFunc(l.faults, func(a, b *diagnostic.Fault) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Text, b.Text))
	})
	faults := make([]error, len(l.faults))
	for i, f := range l.faults {
		faults[i] = f
	}
	return errors.Join(faults...)
}

// read compiles the manifest, every script and every library. Old versions that
// nobody refers to are compiled too: they must stay sound to be worth keeping.
func (l *loader) read() {
	l.compile(manifestFile)
	l.folder(scriptFolder, func(name string) bool { return declaration.ScriptName.MatchString(name) }, "lib", "README.md", path.Base(diagnostic.Pages))
	l.folder(libFolder, func(name string) bool { return name != "" && name != flightModule && !strings.ContainsAny(name, "@ ") })
	for _, f := range l.sorted() {
		for _, lib := range f.requires {
			if lib != flightModule && l.files[path.Join(libFolder, lib+".lua")] == nil {
				l.faults = append(l.faults, &diagnostic.Fault{Code: diagnostic.NoLibrary, File: f.name, Word: lib,
					Text: fmt.Sprintf("requires %q, and there is no %s/%s.lua", lib, libFolder, lib)})
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
		l.fault(diagnostic.Unreadable, dir, "%v", err)
	}
	for _, e := range entries {
		full := path.Join(dir, e.Name())
		name, isLua := strings.CutSuffix(e.Name(), ".lua")
		switch {
		case strings.HasPrefix(e.Name(), "."), slices.Contains(known, e.Name()): // editors leave settings
		case !isLua || e.IsDir() || !named(name):
			l.fault(diagnostic.UnexpectedFile, full, "unexpected file; scripts are named like rules/flop-gtdt@1.lua, libraries like rules/lib/merge.lua")
		default:
			l.compile(full)
		}
	}
}

func (l *loader) compile(name string) {
	defer func() {
		if broken := recover(); broken != nil { // the compiler gives up on some sources by panicking
			l.fault(diagnostic.Syntax, name, "cannot be compiled: %v", broken)
		}
	}()
	source, err := fs.ReadFile(l.fsys, name)
	if err != nil {
		l.fault(diagnostic.Unreadable, name, "%v", err)
		return
	}
	if len(source) > maxFile {
		l.fault(diagnostic.Unreadable, name, "%d bytes, expected at most %d", len(source), maxFile)
		return
	}
	if f := l.cache.find(name, source); f != nil {
		l.files[name] = f
		return
	}
	chunk, err := parse.Parse(strings.NewReader(string(source)), name)
	if err != nil {
		l.syntaxError(name, err)
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
		l.syntaxError(name, err)
		return
	}
	l.files[name] = &file{name: name, source: source, proto: proto, requires: requires}
	if len(faults) == 0 {
		l.cache.keep(l.files[name])
	}
}

// syntaxError puts the place first, as everywhere else.
func (l *loader) syntaxError(name string, err error) {
	f := &diagnostic.Fault{Code: diagnostic.Syntax, File: name, Text: err.Error()}
	var e *parse.Error
	var c *lua.CompileError
	switch {
	case errors.As(err, &e) && e.Pos.Line <= 0:
		f.Text = e.Message + " at the end of the file"
	case errors.As(err, &e) && e.Token == "\xef" && e.Pos.Line == 1:
		f.Line, f.Column, f.Text = 1, 1, "a byte order mark before the text; save the file as UTF-8 without one"
	case errors.As(err, &e):
		// The parser has read the word already.
		f.Line, f.Column, f.Text = e.Pos.Line, max(1, e.Pos.Column-len(e.Token)+1), fmt.Sprintf("%s near %q", e.Message, e.Token)
	case errors.As(err, &c):
		f.Line, f.Text = c.Line, c.Message
	}
	l.faults = append(l.faults, f)
}

// failed takes an error of a file that was run; its text begins with a place.
func (l *loader) failed(err error, name string) {
	code := diagnostic.FailsLoading
	if errors.Is(err, errCircle) {
		code = diagnostic.LibraryCircle
	}
	f := &diagnostic.Fault{Code: code, File: name, Text: err.Error()}
	if at := placed.FindStringSubmatch(f.Text); at != nil {
		f.File, f.Text = at[1], at[3]
		f.Line, _ = strconv.Atoi(at[2]) // digits, or nothing: then it is about the whole file
	}
	l.faults = append(l.faults, f)
}

// placed is a text that begins with a file and perhaps a line.
var placed = regexp.MustCompile(`(?s)^([^\s:]+\.lua):(?:(\d+):)? (.*)$`)

// bind runs the manifest and the scripts it names, and ties kinds to scripts.
func (l *loader) bind(b *Rulebook, s Settings) {
	m, err := b.start(nil)
	if err != nil {
		l.failed(err, "")
		return
	}
	v, err := m.run(l.files[manifestFile])
	if err != nil {
		l.failed(err, manifestFile)
		return
	}
	mf, faults := declaration.ReadManifest(declared(v, maxDeclared), l.cat)
	l.faults = append(l.faults, faults...)
	l.use(l.files[manifestFile])
	header := l.headers(m)
	l.bound(header, mf, s)
	bound, faults := mf.Bind(l.cat, header)
	l.faults = append(l.faults, faults...)
	for _, e := range bound {
		b.byKind[e.Kind.Name] = entryOf(e)
	}
	m.forget()
	b.machine = m
}

// headers gives what the file of a script declares, and runs each file once.
func (l *loader) headers(m *player) func(file string) (h declaration.Header, found, read bool) {
	known := map[string]*declaration.Header{}
	return func(file string) (declaration.Header, bool, bool) {
		f := l.files[file]
		if f == nil {
			return declaration.Header{}, false, false
		}
		h, again := known[file]
		if !again {
			h = l.header(m, f)
			known[file] = h
		}
		if h == nil {
			return declaration.Header{}, true, false
		}
		return *h, true, true
	}
}

// header runs a script and reads what it declares, nil when it does not run.
func (l *loader) header(m *player, f *file) *declaration.Header {
	l.use(f)
	v, err := m.load(f)
	if err != nil {
		l.failed(err, f.name)
		return nil
	}
	h, faults := declaration.ReadHeader(f.name, declared(v, maxDeclared), l.cat)
	l.faults = append(l.faults, faults...)
	return &h
}

func entryOf(e declaration.Binding) *entry {
	name, version := declaration.Split(e.Script)
	out := &entry{
		Script: Script{Kind: e.Kind.Name, Name: name, Version: version, Writes: e.Header.Writes, Ops: e.Header.Ops, Reads: e.Header.Reads, File: e.File},
		family: e.Kind.Family,
		writes: map[string]bool{},
	}
	for _, tag := range e.Header.Writes {
		out.writes[tag] = true
	}
	return out
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
