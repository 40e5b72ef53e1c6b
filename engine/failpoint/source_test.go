package failpoint_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"msgx/engine/failpoint"
)

// lasting are the calls that make something last, by name. A commit is one only in InTx, through which all go.
var lasting = map[string]bool{"ExecContext": true, "Exec": true, "Produce": true, "Up": true, "CreateTopics": true, "commit": true}

// excepted calls make nothing last that could be left half done.
var excepted = map[string]string{
	"engine/store/tx.go rollback":          "ROLLBACK: what the server does by itself when the process ends",
	"engine/store/audit.go Snapshot":       "ROLLBACK of a snapshot, which only reads",
	"engine/mailbox/connect.go Connect":    "settings of a session",
	"engine/outbox/kafka/topics.go Create": "a command makes them, before anything is sent, and making them again is harmless",
}

type function struct {
	name          string
	lasts         []string
	before, after bool
}

// TestEveryBoundaryHasItsPoints lists what makes something last and has no point beside it.
func TestEveryBoundaryHasItsPoints(t *testing.T) {
	used, seen := map[string]bool{}, map[string]bool{}
	found := 0
	for from, file := range sources(t) {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			f := read(fn, used)
			if len(f.lasts) == 0 {
				continue
			}
			found++
			at := from + " " + f.name
			if excepted[at] != "" {
				seen[at] = true
			} else if !f.before || !f.after {
				t.Errorf("%s: %s makes something last, expected failpoint.Before and failpoint.After around it", at, strings.Join(f.lasts, ", "))
			}
		}
	}
	if found < 8 {
		t.Errorf("found %d functions that make something last, expected 8 or more: is the engine still where it was?", found)
	}
	for at := range excepted {
		if !seen[at] {
			t.Errorf("%s is excepted, and makes nothing last", at)
		}
	}
	for _, b := range failpoint.Boundaries {
		if !used[string(b)] {
			t.Errorf("boundary %s is not used", b)
		}
	}
}

// writes is how a statement that changes something begins, or what it holds further in.
var writes = regexp.MustCompile(`(?i)\b(insert\s+into|update\s+\w+(\s+\w+)?\s+set|delete\s+from|truncate|alter\s+table|create\s+(table|index)|nextval\()`)

// TestNothingIsWrittenElsewhere finds statements that write and are sent by a function without a boundary: as a query that
// returns rows, or in a batch that commits by itself, they would last without one.
func TestNothingIsWrittenElsewhere(t *testing.T) {
	files := sources(t)
	statements := map[string]bool{} // by folder and name
	for at, file := range files {
		for _, decl := range file.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				for i, value := range spec.(*ast.ValueSpec).Values {
					if writes.MatchString(literals(value)) {
						statements[path.Dir(at)+"."+spec.(*ast.ValueSpec).Names[i].Name] = true
					}
				}
			}
		}
	}
	within := map[string]bool{} // functions that have a boundary, by folder and name
	functions(files, func(at string, fn *ast.FuncDecl) {
		if guarded(fn) {
			within[path.Dir(at)+"."+fn.Name.Name] = true
		}
	})
	used := map[string]bool{}
	functions(files, func(at string, fn *ast.FuncDecl) {
		for _, name := range mentions(fn, path.Dir(at), statements, nil) {
			used[name] = true
		}
		if guarded(fn) {
			return
		}
		for _, name := range mentions(fn, path.Dir(at), statements, within) {
			t.Errorf("%s %s sends %s, which writes, expected it within a boundary: InTx, or a Tx or Batch that it is given", at, fn.Name.Name, name)
		}
	})
	if len(used) < 30 {
		t.Errorf("found %d statements that write, expected 30 or more: are they still constants?", len(used))
	}
}

func functions(files map[string]*ast.File, do func(at string, fn *ast.FuncDecl)) {
	for at, file := range files {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				do(at, fn)
			}
		}
	}
}

// mentions are the statements that a function names, but for those that it hands to a function that has a boundary.
func mentions(fn *ast.FuncDecl, folder string, statements, within map[string]bool) (names []string) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			return !ok || !within[folder+"."+s.Sel.Name]
		case *ast.Ident:
			if name := folder + "." + n.Name; statements[name] {
				names = append(names, name)
			}
		}
		return true
	})
	return names
}

// guarded tells that a function has a boundary, or writes into a transaction or batch of somebody who has.
func guarded(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			id, ok := s.X.(*ast.Ident)
			found = found || (ok && id.Name == "failpoint")
		}
		return true
	})
	fields := slices.Clone(fn.Type.Params.List)
	if fn.Recv != nil {
		fields = append(fields, fn.Recv.List...)
	}
	for _, field := range fields {
		star, ok := field.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		switch of := star.X.(type) {
		case *ast.Ident:
			found = found || of.Name == "Tx"
		case *ast.SelectorExpr:
			found = found || of.Sel.Name == "Batch"
		}
	}
	return found
}

// literals is the text of all string literals of an expression.
func literals(e ast.Expr) string {
	var b strings.Builder
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			b.WriteString(l.Value)
		}
		return true
	})
	return b.String()
}

// read notes what a function does, and which boundaries it names.
func read(fn *ast.FuncDecl, used map[string]bool) function {
	f := function{name: fn.Name.Name}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Name == "failpoint" {
				used[constants[n.Sel.Name]] = true
			}
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, isName := s.X.(*ast.Ident)
			switch {
			case isName && id.Name == "failpoint":
				f.before = f.before || s.Sel.Name == "Before"
				f.after = f.after || s.Sel.Name == "After"
			case lasting[s.Sel.Name] && len(n.Args) > 0 && isContext(n.Args[0]):
				f.lasts = append(f.lasts, s.Sel.Name)
			}
		}
		return true
	})
	return f
}

// isContext tells a call of a server from others of the same name, such as the callback of a batch.
func isContext(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && (id.Name == "ctx" || id.Name == "end")
}

// constants are the boundaries by the name of their constant.
var constants = map[string]string{}

func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(filepath.Join(root, "engine"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if filepath.Base(path) == "failpoint.go" {
			return note(file)
		}
		files[filepath.ToSlash(name)] = file
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// note fills constants, and holds Boundaries to them.
func note(file *ast.File) error {
	for _, decl := range file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			constants[v.Names[0].Name] = strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)
		}
	}
	if len(constants) != len(failpoint.Boundaries) {
		return fmt.Errorf("%d boundaries are declared, and Boundaries has %d", len(constants), len(failpoint.Boundaries))
	}
	return nil
}
