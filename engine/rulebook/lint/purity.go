package lint

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/rulebook"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/syntax"
)

// purity finds what a pure script must not do, beyond what the loader refuses.
func (f *file) purity() {
	natives := rulebook.Natives()
	syntax.Inspect(f.chunk, func(node ast.PositionHolder, path []ast.PositionHolder) bool {
		switch node := node.(type) {
		case *ast.AssignStmt:
			for _, target := range node.Lhs {
				if t, ok := target.(*ast.AttrGetExpr); ok {
					f.written(t.Object, f.scope.within[node], t)
				}
			}
		case *ast.FuncDefStmt:
			if t, ok := node.Name.Func.(*ast.AttrGetExpr); ok {
				f.written(t.Object, f.scope.within[node], t)
			}
		case *ast.FuncCallExpr:
			f.callPurity(node)
		case *ast.AttrGetExpr:
			f.native(node, natives)
			f.libraryMember(node, path)
		case *ast.GenericForStmt:
			if len(node.Exprs) > 0 && f.scope.global(node.Exprs[0], "next") {
				f.say(diagnostic.NextLoop, f.at(node.Exprs[0]), "", "a loop over next")
			}
		}
		return true
	})
}

// written looks at a table that is written to.
func (f *file) written(table ast.Expr, by *function, at ast.Expr) {
	if t := f.typeOf(table); t.isTable() {
		f.say(diagnostic.InputWrite, f.at(at), "", "%s is read-only: %s is what the rule is given", syntax.Expr(at), t)
		return
	}
	id := f.origin(table)
	if id == nil || by == nil {
		return
	}
	v := f.scope.vars[id]
	if v == nil || v.owner != f.scope.file || v.writes > 0 || v.value == nil || by == f.scope.file || f.atLoad(by) {
		return
	}
	_, made := v.value.(*ast.TableExpr)
	if made || f.required(id) != "" {
		f.say(diagnostic.ModuleWrite, f.at(at), "", "%s is written to when %q is read-only already: the file holds it", syntax.Expr(at), v.name)
	}
}

// origin is the name from which a table was reached, through locals that only stand for
// what another name holds; nil where there is none.
func (f *file) origin(table ast.Expr) *ast.IdentExpr {
	for range 16 { // a chain of locals is short; each could stand for itself in code that does not load
		id, ok := root(table).(*ast.IdentExpr)
		if !ok {
			return nil
		}
		v := f.scope.vars[id]
		if v == nil || v.writes > 0 || v.value == nil {
			return id
		}
		if _, alias := root(v.value).(*ast.IdentExpr); !alias {
			return id
		}
		table = v.value
	}
	return nil
}

// atLoad tells a function that may run while its file is being loaded, when tables can
// still be written to. Only decide, and what is in it, surely does not.
func (f *file) atLoad(fn *function) bool {
	if f.header == nil || f.header.decide == nil {
		return true
	}
	decide := f.scope.functions[f.header.decide]
	if fn.inside(decide) {
		return false
	}
	top := fn
	for top.outer != f.scope.file {
		top = top.outer
	}
	if top.name == nil || len(f.callsOf(top.name)) != len(top.name.reads) {
		return true
	}
	for _, c := range f.callsOf(top.name) { // called from decide only
		if !f.scope.within[c].inside(decide) {
			return true
		}
	}
	return len(top.name.reads) == 0
}

func (f *file) callPurity(c *ast.FuncCallExpr) {
	lib, name := f.nativeCall(c)
	if lib == "table" && slices.Contains([]string{"insert", "remove", "sort"}, name) && len(c.Args) > 0 {
		f.written(c.Args[0], f.scope.within[c], c.Args[0])
		if name == "sort" && len(c.Args) > 1 {
			f.comparison(c.Args[1])
		}
	}
	if c.Method != "" && instead["string."+c.Method] != "" && !f.defines(c.Method) {
		f.say(diagnostic.UnknownNative, f.nameAt(c, 0), instead["string."+c.Method], "the sandbox has no string.%s", c.Method)
	}
}

// nativeCall names the function of string, table or math that is called.
func (f *file) nativeCall(c *ast.FuncCallExpr) (lib, name string) {
	a, ok := f.local(c.Func).(*ast.AttrGetExpr)
	if !ok {
		return "", ""
	}
	id, isName := a.Object.(*ast.IdentExpr)
	key, isText := a.Key.(*ast.StringExpr)
	if !isName || !isText || f.scope.vars[id] != nil {
		return "", ""
	}
	return id.Value, key.Value
}

func (f *file) native(a *ast.AttrGetExpr, natives map[string][]string) {
	id, ok := a.Object.(*ast.IdentExpr)
	key, isText := a.Key.(*ast.StringExpr)
	if !ok || !isText || f.scope.vars[id] != nil || natives[id.Value] == nil || slices.Contains(natives[id.Value], key.Value) {
		return
	}
	whole := id.Value + "." + key.Value
	fix := instead[whole]
	if fix == "" {
		fix = "it has " + strings.Join(natives[id.Value], ", ")
	}
	f.say(diagnostic.UnknownNative, f.at(key), fix, "the sandbox has no %s%s", whole, diagnostic.Perhaps(key.Value, natives[id.Value]))
}

// defines tells whether some file of the set gives a table a function of that name.
func (s *set) defines(name string) bool {
	if s.named != nil {
		return s.named[name]
	}
	s.named = map[string]bool{}
	note := func(e ast.Expr) {
		if key, ok := e.(*ast.StringExpr); ok {
			s.named[key.Value] = true
		}
	}
	for _, src := range s.sources {
		syntax.Inspect(src.chunk, func(node ast.PositionHolder, path []ast.PositionHolder) bool {
			switch node := node.(type) {
			case *ast.FuncDefStmt:
				s.named[node.Name.Method] = true
			case *ast.AttrGetExpr:
				if isTarget(node, path) {
					note(node.Key)
				}
			case *ast.TableExpr:
				for _, field := range node.Fields {
					note(field.Key)
				}
			}
			return true
		})
	}
	return s.named[name]
}

func isText(e ast.Expr, text string) bool {
	s, ok := e.(*ast.StringExpr)
	return ok && s.Value == text
}

// comparison looks at what table.sort is given.
func (f *file) comparison(e ast.Expr) {
	fn, ok := f.local(e).(*ast.FunctionExpr)
	if !ok || len(fn.Stmts) != 1 {
		return
	}
	r, ok := fn.Stmts[0].(*ast.ReturnStmt)
	if !ok || len(r.Exprs) != 1 {
		return
	}
	switch e := r.Exprs[0].(type) {
	case *ast.RelationalOpExpr:
		if e.Operator == "<" || e.Operator == ">" {
			return
		}
		f.say(diagnostic.Comparison, f.at(r.Exprs[0]), "", "%s is not an order: it holds for equal entries, or tells nothing about different ones", syntax.Expr(e))
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr:
		f.say(diagnostic.Comparison, f.at(r.Exprs[0]), "", "%s is not an order", syntax.Expr(e))
	}
}

// libraryMember looks for functions that a library does not have.
func (f *file) libraryMember(a *ast.AttrGetExpr, path []ast.PositionHolder) {
	key, ok := a.Key.(*ast.StringExpr)
	lib := f.required(a.Object)
	if !ok || lib == "" {
		return
	}
	if len(path) > 0 {
		if s, ok := path[len(path)-1].(*ast.AssignStmt); ok && slices.Contains(s.Lhs, ast.Expr(a)) {
			return
		}
	}
	known := f.exports(lib)
	if known == nil || slices.Contains(known, key.Value) {
		return
	}
	fix := "it has " + strings.Join(known, ", ")
	f.say(diagnostic.UnknownMember, f.at(key), fix, "the library %s has no %s%s", lib, key.Value, diagnostic.Perhaps(key.Value, known))
}

// exports lists the names that a library has; nil when they cannot all be told.
func (f *file) exports(lib string) []string {
	if lib == "flight" {
		return []string{"lists", "objects", "scalars", "shape"}
	}
	src := f.sources[libFolder+"/"+lib+".lua"]
	if src == nil || src.chunk == nil {
		return nil
	}
	if src.exports == nil {
		src.exports = exported(src)
	}
	if !src.exports.whole {
		return nil
	}
	return src.exports.names
}

// exports is what a library returns.
type exports struct {
	names []string
	whole bool
}

func exported(src *source) *exports {
	f := &file{source: src, scope: resolve(src)}
	out := &exports{whole: true}
	e := f.returned()
	if id, ok := e.(*ast.IdentExpr); ok && f.scope.vars[id] != nil && f.scope.vars[id].writes == 0 {
		v := f.scope.vars[id]
		e = v.value
		syntax.Inspect(src.chunk, func(node ast.PositionHolder, path []ast.PositionHolder) bool {
			a, ok := node.(*ast.AttrGetExpr)
			if !ok {
				return true
			}
			owner, _ := a.Object.(*ast.IdentExpr)
			if owner == nil || f.scope.vars[owner] != v || !isTarget(a, path) {
				return true
			}
			if key, ok := a.Key.(*ast.StringExpr); ok {
				out.names = append(out.names, key.Value)
			} else {
				out.whole = false
			}
			return true
		})
	}
	t, ok := e.(*ast.TableExpr)
	if !ok {
		return &exports{}
	}
	for _, field := range t.Fields {
		if key, ok := field.Key.(*ast.StringExpr); ok {
			out.names = append(out.names, key.Value)
		} else {
			out.whole = false
		}
	}
	slices.Sort(out.names)
	out.names = slices.Compact(out.names)
	return out
}

// isTarget tells a field that is being assigned.
func isTarget(a *ast.AttrGetExpr, path []ast.PositionHolder) bool {
	if len(path) == 0 {
		return false
	}
	switch s := path[len(path)-1].(type) {
	case *ast.AssignStmt:
		return slices.Contains(s.Lhs, ast.Expr(a))
	case *ast.FuncDefStmt:
		return s.Name.Func == ast.Expr(a)
	}
	return false
}
