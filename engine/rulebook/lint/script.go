package lint

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook/declaration"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/syntax"
)

// script is what a script declares, as it is written.
type script struct {
	declaration.Header
	table  *ast.TableExpr
	value  declaration.Value
	decide *ast.FunctionExpr
}

// each visits the nodes of one type.
func (f *file) each(visit func(c *ast.FuncCallExpr, path []ast.PositionHolder)) {
	syntax.Inspect(f.chunk, func(node ast.PositionHolder, path []ast.PositionHolder) bool {
		if c, ok := node.(*ast.FuncCallExpr); ok {
			visit(c, path)
		}
		return true
	})
}

// returned is the value that the file returns, nil when it returns none.
func (f *file) returned() ast.Expr {
	if len(f.chunk) == 0 {
		return nil
	}
	last, ok := f.chunk[len(f.chunk)-1].(*ast.ReturnStmt)
	if !ok || len(last.Exprs) == 0 {
		return nil
	}
	return last.Exprs[0]
}

// script reads what a script declares.
func (f *file) script() {
	if !f.isScript() {
		return
	}
	h := &script{}
	v := declaration.Value{Type: declaration.Nil, At: place{Line: max(len(f.lines)-1, 1)}}
	if e := f.returned(); e != nil {
		h.table = f.tableOf(e)
		v = f.value(e, 3)
		if h.table != nil {
			v = f.value(h.table, 3)
		}
	}
	var faults []*diagnostic.Fault
	h.value = v
	h.Header, faults = declaration.ReadHeader(f.name, v, f.cat)
	if h.table != nil {
		if fn, ok := f.local(entry(h.table, "decide")).(*ast.FunctionExpr); ok {
			h.decide = fn
		}
	}
	f.header = h
	for _, fault := range faults {
		f.take(fault)
	}
	f.kinds(v)
}

// kinds holds the kinds that a script names to the catalogue.
func (f *file) kinds(v declaration.Value) {
	named := append([]declaration.Value{v.Field("kind")}, v.Field("kinds").List...)
	for _, k := range named {
		covers := slices.ContainsFunc(f.cat.Kinds, func(kind catalogue.Kind) bool { return declaration.Matches(k.Text, kind.Name) })
		if k.Type == declaration.Text && !covers {
			f.say(diagnostic.UnknownKind, k.At, "", "%q covers no kind of the catalogue%s", k.Text, diagnostic.Perhaps(k.Text, declaration.KindNames(f.cat)))
		}
	}
}

// served are the kinds that a script handles; nil when that is not known.
func (f *file) served() []catalogue.Kind {
	if f.header == nil {
		return nil
	}
	var out []catalogue.Kind
	for _, k := range f.cat.Kinds {
		if slices.ContainsFunc(f.header.Kinds, func(p string) bool { return declaration.Matches(p, k.Name) }) {
			out = append(out, k)
		}
	}
	return out
}

// value gives an expression as a declaration.
func (f *file) value(e ast.Expr, depth int) declaration.Value {
	at := f.at(e)
	switch e := f.local(e).(type) {
	case *ast.StringExpr:
		return declaration.Value{Type: declaration.Text, Text: e.Value, At: at}
	case *ast.NilExpr:
		return declaration.Value{At: at}
	case *ast.FunctionExpr:
		return declaration.Value{Type: declaration.Function, At: at}
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NumberExpr:
		return declaration.Value{Type: declaration.Other, At: at}
	case *ast.TableExpr:
		if v, ok := f.tableValue(e, depth); ok {
			v.At = at
			return v
		}
	}
	return declaration.Value{Type: declaration.Unknown, At: at}
}

// tableValue is false for a table that is not written out.
func (f *file) tableValue(t *ast.TableExpr, depth int) (declaration.Value, bool) {
	v := declaration.Value{Type: declaration.Table}
	if depth == 0 {
		return v, true
	}
	for i, field := range t.Fields {
		switch key := field.Key.(type) {
		case nil:
			if i == len(t.Fields)-1 && many(field.Value) {
				return v, false
			}
			v.List = append(v.List, f.value(field.Value, depth-1))
		case *ast.StringExpr:
			v.Fields = append(v.Fields, declaration.Field{Name: key.Value, At: f.at(key), Value: f.value(field.Value, depth-1)})
		default:
			return v, false
		}
	}
	return v, true
}

// many tells an expression that may yield several values.
func many(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
}

// local follows a variable that is never written again to the value it was declared
// with. A table is only followed when nothing adds to it.
func (f *file) local(e ast.Expr) ast.Expr {
	for range 8 {
		id, ok := e.(*ast.IdentExpr)
		if !ok {
			return e
		}
		v := f.scope.vars[id]
		if v == nil || v.writes > 0 || v.param || v.loop != nil || v.value == nil {
			return e
		}
		if _, table := v.value.(*ast.TableExpr); table && f.changed(v) {
			return e
		}
		e = v.value
	}
	return e
}

// tableOf is the constructor of a table that nothing changes afterwards, nil otherwise.
func (f *file) tableOf(e ast.Expr) *ast.TableExpr {
	t, _ := f.local(e).(*ast.TableExpr)
	return t
}

// changed tells whether a table that a variable holds may be written to: it is the target of
// an assignment, or it is handed to somebody.
func (f *file) changed(v *variable) bool {
	if f.mutable == nil {
		f.mutable = map[*variable]bool{}
		mark := func(e ast.Expr) {
			if id, ok := root(e).(*ast.IdentExpr); ok && f.scope.vars[id] != nil {
				f.mutable[f.scope.vars[id]] = true
			}
		}
		syntax.Inspect(f.chunk, func(node ast.PositionHolder, _ []ast.PositionHolder) bool {
			switch node := node.(type) {
			case *ast.AssignStmt:
				for _, target := range node.Lhs {
					if t, ok := target.(*ast.AttrGetExpr); ok {
						mark(t.Object)
					}
				}
			case *ast.FuncDefStmt:
				if t, ok := node.Name.Func.(*ast.AttrGetExpr); ok {
					mark(t.Object)
				}
				mark(node.Name.Receiver)
			case *ast.FuncCallExpr:
				if f.lib(node.Func) != "" || f.reader(node.Func) { // libraries of the house do not write to their arguments
					return true
				}
				for _, a := range node.Args {
					mark(a)
				}
			}
			return true
		})
	}
	return f.mutable[v]
}

// reader tells a function of the sandbox that only looks at its arguments.
func (f *file) reader(fn ast.Expr) bool {
	for _, name := range []string{"ipairs", "pairs", "next", "type", "tostring", "assert"} {
		if f.scope.global(fn, name) {
			return true
		}
	}
	return false
}

// root is what a chain of fields begins with.
func root(e ast.Expr) ast.Expr {
	for {
		a, ok := e.(*ast.AttrGetExpr)
		if !ok {
			return e
		}
		e = a.Object
	}
}

// entry is the value of a name in a constructor, nil when it is not there.
func entry(t *ast.TableExpr, name string) ast.Expr {
	for _, field := range slices.Backward(t.Fields) {
		if key, ok := field.Key.(*ast.StringExpr); ok && key.Value == name {
			return field.Value
		}
	}
	return nil
}

// lib is the library that a function or table belongs to: "merge" of merge.flop and
// merge.flop's library itself; "" when it belongs to none.
func (f *file) lib(e ast.Expr) string {
	if a, ok := e.(*ast.AttrGetExpr); ok {
		e = a.Object
	}
	return f.required(e)
}

// required is the library that an expression is, "" when it is none.
func (f *file) required(e ast.Expr) string {
	if id, ok := e.(*ast.IdentExpr); ok {
		v := f.scope.vars[id]
		if v == nil || v.writes > 0 || v.value == nil {
			return ""
		}
		e = v.value
	}
	call, ok := e.(*ast.FuncCallExpr)
	if !ok || !f.scope.global(call.Func, "require") || len(call.Args) != 1 {
		return ""
	}
	if name, ok := call.Args[0].(*ast.StringExpr); ok {
		return name.Value
	}
	return ""
}

// call names the function of a library that is called: "merge", "flop".
func (f *file) call(c *ast.FuncCallExpr) (lib, name string) {
	a, ok := c.Func.(*ast.AttrGetExpr)
	if !ok {
		return "", ""
	}
	key, ok := a.Key.(*ast.StringExpr)
	if !ok {
		return "", ""
	}
	return f.required(a.Object), key.Value
}

// say notes a finding of this file.
func (f *file) say(code diagnostic.Code, at place, fix, format string, args ...any) {
	f.find(f.source, code, at, fix, format, args...)
}

// take turns a fault into a finding.
func (s *set) take(fault *diagnostic.Fault) {
	src := s.sources[fault.File]
	if src == nil {
		src = &source{name: fault.File}
	}
	at := place{Line: fault.Line, Column: fault.Column}
	if at.Column == 0 && (fault.Word != "" || at.Line > 0) {
		at = src.wordAt(fault.Line, fault.Word)
	}
	s.find(src, fault.Code, at, fixFor(fault), "%s", fault.Text)
}
