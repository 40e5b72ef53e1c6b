package lint

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/syntax"
)

// What the parts of a decision may hold.
var (
	decisionKeys = []string{"changes", "refs", "outbound", "notes", "skip", "reject"}
	changeKeys   = []string{"flid", "op", "set", "clear", "lists"}
	refKeys      = []string{"type", "key", "op", "value"}
	noteKeys     = []string{"flid", "reason"}
)

// decisions looks at what decide returns, as far as it is written out, and at whether it
// always returns something. In a library a function that takes view and msg stands for it.
func (f *file) decisions() {
	for node, fn := range f.scope.functions {
		if !f.decides(fn) && (f.header != nil || !f.takesBoth(fn)) {
			continue
		}
		if f.decides(fn) && !f.ends(node.Stmts) {
			f.say(diagnostic.NoDecision, f.at(node), "", "decide reaches its end without a decision on some path")
		}
		syntax.Inspect(node.Stmts, func(n ast.PositionHolder, _ []ast.PositionHolder) bool {
			if r, ok := n.(*ast.ReturnStmt); ok && f.scope.within[r] == fn {
				f.decision(r, f.decides(fn))
			}
			return true
		})
	}
}

func (f *file) decision(r *ast.ReturnStmt, decides bool) {
	if len(r.Exprs) == 0 {
		if decides {
			f.say(diagnostic.NoDecision, f.at(r), "", "decide returns nothing here")
		}
		return
	}
	e := r.Exprs[0]
	id, _ := e.(*ast.IdentExpr)
	switch v := f.declaredWith(e).(type) {
	case *ast.NilExpr, *ast.StringExpr, *ast.NumberExpr, *ast.TrueExpr, *ast.FalseExpr:
		if decides {
			f.say(diagnostic.NoDecision, f.at(e), "", "decide returns %s, which is not a decision", syntax.Expr(v))
		}
	case *ast.TableExpr:
		parts := f.table(v, id, "a decision", decisionKeys, decides)
		alone := slices.ContainsFunc(parts, func(p part) bool { return (p.name == "skip" || p.name == "reject") && neverNil(p.value) })
		if alone && id == nil && slices.ContainsFunc(parts, func(p part) bool { return p.name != "skip" && p.name != "reject" && made(p.value) }) {
			f.say(diagnostic.DecisionShape, f.at(e), "return it alone", "skip and reject stand alone: nothing else is decided beside them")
		}
		for _, p := range parts {
			f.part(p)
		}
	case *ast.FuncCallExpr:
	default:
		f.done.open = true
	}
}

// neverNil tells a text that is there whatever comes.
func neverNil(e ast.Expr) bool {
	switch e.(type) {
	case *ast.StringExpr, *ast.StringConcatOpExpr:
		return true
	}
	return false
}

// made tells a table that is made here: it is not nil.
func made(e ast.Expr) bool {
	_, ok := e.(*ast.TableExpr)
	return ok
}

// declaredWith is what a variable was declared with, also when it is a table that is
// filled later on.
func (f *file) declaredWith(e ast.Expr) ast.Expr {
	if id, ok := e.(*ast.IdentExpr); ok {
		if v := f.scope.vars[id]; v != nil && v.writes == 0 && !v.param && v.loop == nil && v.value != nil {
			return v.value
		}
	}
	return e
}

// part is an entry of a table of a decision.
type part struct {
	name  string
	at    place
	value ast.Expr
}

// table gives the entries of a table, those of its constructor and those that are
// assigned to the variable that holds it, and holds their names to what is known.
func (f *file) table(t *ast.TableExpr, held *ast.IdentExpr, what string, known []string, sure bool) []part {
	parts := f.parted(t, held)
	for _, p := range parts {
		if sure && !slices.Contains(known, p.name) {
			f.say(diagnostic.UnknownDecision, p.at, write(p.name, known), "%s has no %q, expected %s%s", what, p.name, strings.Join(known, ", "), diagnostic.Perhaps(p.name, known))
		}
	}
	return parts
}

func (f *file) parted(t *ast.TableExpr, held *ast.IdentExpr) []part {
	var parts []part
	for _, field := range t.Fields {
		if key, ok := field.Key.(*ast.StringExpr); ok {
			parts = append(parts, part{key.Value, f.at(key), field.Value})
		} else if field.Key != nil {
			f.done.open = true
		}
	}
	if held == nil {
		return parts
	}
	for _, w := range f.fill().fields[f.scope.vars[held]] {
		if key, ok := w.target.Key.(*ast.StringExpr); ok {
			parts = append(parts, part{key.Value, f.at(key), w.value})
		} else {
			f.done.open = true
		}
	}
	return parts
}

func (f *file) part(p part) {
	switch p.name {
	case "changes":
		f.items(p, func(t *ast.TableExpr, id *ast.IdentExpr) { f.change(t, id) })
	case "refs":
		f.items(p, func(t *ast.TableExpr, id *ast.IdentExpr) { f.ref(t, id) })
	case "notes":
		f.items(p, func(t *ast.TableExpr, id *ast.IdentExpr) {
			f.needs(t, f.table(t, id, "a note", noteKeys, true), id, "a note gives a reason", "reason")
		})
	case "outbound":
		f.items(p, func(t *ast.TableExpr, id *ast.IdentExpr) { f.outbound(t, id) })
	case "skip", "reject":
		switch v := f.local(p.value).(type) {
		case *ast.NumberExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.TableExpr:
			f.say(diagnostic.DecisionShape, f.at(p.value), "write the reason as a text", "%s is %s, expected a reason", p.name, syntax.Expr(v))
		case *ast.StringExpr:
			if v.Value == "" {
				f.say(diagnostic.DecisionShape, f.at(p.value), "write the reason as a text", "%s without a reason", p.name)
			}
		}
	}
}

// items visits the tables that a list of a decision is written out with: in its
// constructor, through table.insert, and through list[#list + 1] = ….
func (f *file) items(p part, visit func(*ast.TableExpr, *ast.IdentExpr)) {
	list := p.value
	key := listOf{f.variable(list), p.name}
	if key.variable != nil && f.seen[key] {
		return
	}
	f.seen[key] = true
	one := func(e ast.Expr) {
		id, _ := e.(*ast.IdentExpr)
		if t, ok := f.declaredWith(e).(*ast.TableExpr); ok {
			visit(t, id)
		} else if c, call := e.(*ast.FuncCallExpr); !call || f.lib(c.Func) == "" {
			f.done.open = true
		}
	}
	switch t := f.declaredWith(list).(type) {
	case *ast.TableExpr:
		for _, field := range t.Fields {
			if field.Key == nil {
				one(field.Value)
			}
		}
	default:
		f.done.open = true
		return
	}
	id, ok := list.(*ast.IdentExpr)
	if !ok {
		return
	}
	v := f.scope.vars[id]
	for _, w := range f.fill().fields[v] {
		one(w.value)
	}
	for _, e := range f.fill().inserts[v] {
		one(e)
	}
}

// listOf is a list of a decision that a variable holds: one is looked at once, however often it is
// returned.
type listOf struct {
	variable *variable
	name     string
}

// needs asks for the names that an entry must have.
func (f *file) needs(t *ast.TableExpr, parts []part, held *ast.IdentExpr, text string, names ...string) {
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) && !f.open(t) && (held == nil || !f.changed(f.scope.vars[held])) {
			f.say(diagnostic.DecisionShape, f.at(t), "add "+name, "%s: %s is missing", text, name)
		}
	}
}

// open tells a constructor with computed names.
func (f *file) open(t *ast.TableExpr) bool {
	return slices.ContainsFunc(t.Fields, func(field *ast.Field) bool {
		_, constant := field.Key.(*ast.StringExpr)
		return field.Key != nil && !constant
	})
}
