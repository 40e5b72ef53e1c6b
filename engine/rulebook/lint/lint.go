// Package lint finds what is wrong with a rule set by reading it: all findings at once,
// each with a number, a place, the cause and the fix. It holds to one rule: better to miss
// something than to accuse a rule that is right.
//
//	loader.go     what the loader refuses, and what it cannot know the column of
//	scope.go      which variable a name means, which function it belongs to
//	types.go      what an expression is: view, a record, a field of the catalogue
//	purity.go     MX1xx     fields.go     MX302, MX303, MX307, MX5xx about values
//	footprint.go  MX2xx     modes.go      MX3xx about merge modes and sections
//	shape.go      MX4xx     hygiene.go    MX5xx
//
// The loader's own faults are taken from the loader; what scripts and the manifest declare
// is read by package declaration for both. A file that does not parse has that finding
// alone, the others are read all the same. No source makes Check panic or hang.
package lint

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook/diagnostic"
)

// Finding is one thing that is wrong.
type Finding struct {
	Code    diagnostic.Code `json:"code"`
	File    string          `json:"file"`   // from the root of the rule set
	Line    int             `json:"line"`   // from 1; 0 when it is about the file as a whole
	Column  int             `json:"column"` // in characters from 1; 0 with line 0
	Width   int             `json:"width"`  // characters that it is about
	Source  string          `json:"source"` // the line; of a very long one, the part around the column
	Message string          `json:"message"`
	Cause   string          `json:"cause"`
	Fix     string          `json:"fix"`
	Page    string          `json:"page"` // where the page of the code is

	before string // what of Source stands before the finding
}

// Report is what came of reading a rule set.
type Report struct {
	Files    int       `json:"files"` // that were read
	Findings []Finding `json:"findings"`
}

// OK tells that nothing was found.
func (r Report) OK() bool { return len(r.Findings) == 0 }

// Check reads the rule set at the root of fsys. With paths, only the findings of those files
// and folders are reported; what else there is is read all the same, since a script is
// judged together with its libraries and the manifest. The error says that fsys
// could not be read, or that a path is not there; what is wrong with the rules is in the Report.
func Check(fsys fs.FS, cat *catalogue.Catalogue, paths ...string) (Report, error) {
	for _, p := range paths {
		if _, err := fs.Stat(fsys, p); err != nil {
			return Report{}, fmt.Errorf("lint: %w", err)
		}
	}
	s := &set{cat: cat, sources: map[string]*source{}}
	if err := s.read(fsys); err != nil {
		return Report{}, fmt.Errorf("lint: %w", err)
	}
	for _, src := range s.sorted() {
		s.check(src)
	}
	s.declarations()
	s.loaded(fsys)
	return s.report(paths), nil
}

// set is a rule set as it is read.
type set struct {
	cat      *catalogue.Catalogue
	sources  map[string]*source
	findings []Finding
	known    map[string]bool // codes, files and messages that were found
	named    map[string]bool // what some file gives a table as a function or field, once asked for
}

func (s *set) sorted() []*source {
	out := make([]*source, 0, len(s.sources))
	for _, src := range s.sources {
		out = append(out, src)
	}
	slices.SortFunc(out, func(a, b *source) int { return strings.Compare(a.name, b.name) })
	return out
}

// check looks at one file.
func (s *set) check(src *source) {
	if src.chunk == nil {
		return
	}
	f := &file{set: s, source: src, scope: resolve(src), types: map[*variable]typ{}, busy: map[*variable]bool{}, asked: map[ast.Expr]typ{}, seen: map[listOf]bool{}}
	src.file = f
	f.script()
	f.purity()
	f.fields()
	f.modes()
	f.decisions()
	f.footprint()
	f.hygiene()
}

// file is one source under the eyes of the checks.
type file struct {
	*set
	*source
	scope  *scope
	types  map[*variable]typ
	busy   map[*variable]bool // types that are being found out
	asked  map[ast.Expr]typ
	seen   map[listOf]bool // lists of decisions that were looked at
	header *script         // nil but in a script

	done    effects
	calls   map[*variable][]*ast.FuncCallExpr // of local functions, once asked for
	mutable map[*variable]bool                // variables whose table may be written to, once asked for
	filled  *filled
	leaving map[ast.Stmt]bool // whether nothing comes after a statement, as far as asked
}

// find notes a finding with what is said of its code in general; fix overrides it.
func (s *set) find(src *source, code diagnostic.Code, at place, fix, format string, args ...any) {
	kind, _ := diagnostic.KindOf(code)
	f := Finding{
		Code: code, File: src.name, Message: fmt.Sprintf(format, args...), Cause: kind.Cause, Fix: cmp.Or(fix, kind.Fix), Page: code.Page(),
	}
	src.locate(&f, at)
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[known(code, src.name, f.Message, 0)], s.known[known(code, src.name, f.Message, f.Line)] = true, true
	s.findings = append(s.findings, f)
}

// known names a finding; with line 0 wherever in the file it is.
func known(code diagnostic.Code, file, message string, line int) string {
	return fmt.Sprintf("%s %s:%d %s", code, file, line, message)
}

// report sorts, leaves out what was found twice, and what nobody asked for.
func (s *set) report(paths []string) Report {
	slices.SortStableFunc(s.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			strings.Compare(string(a.Code), string(b.Code)), strings.Compare(a.Message, b.Message))
	})
	findings := slices.CompactFunc(s.findings, func(a, b Finding) bool {
		return a.Code == b.Code && a.File == b.File && a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
	r := Report{Findings: []Finding{}}
	for _, src := range s.sources {
		if asked(paths, src.name) {
			r.Files++
		}
	}
	for _, f := range findings {
		if asked(paths, f.File) {
			r.Findings = append(r.Findings, f)
		}
	}
	return r
}

func asked(paths []string, name string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool {
		p = path.Clean(p)
		return p == "." || p == name || strings.HasPrefix(name, p+"/")
	})
}
