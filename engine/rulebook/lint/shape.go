package lint

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook"
	"msgx/engine/rulebook/declaration"
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
		alone := slices.ContainsFunc(parts, func(p part) bool { return p.name == "skip" || p.name == "reject" })
		if alone && len(parts) > 1 && id == nil {
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
	v := f.scope.vars[held]
	syntax.Inspect(f.chunk, func(node ast.PositionHolder, _ []ast.PositionHolder) bool {
		s, ok := node.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for i, target := range s.Lhs {
			a, ok := target.(*ast.AttrGetExpr)
			if !ok {
				continue
			}
			id, ok := a.Object.(*ast.IdentExpr)
			if !ok || f.scope.vars[id] != v {
				continue
			}
			key, ok := a.Key.(*ast.StringExpr)
			switch {
			case !ok:
				f.done.open = true
			case len(s.Rhs) == len(s.Lhs):
				parts = append(parts, part{key.Value, f.at(key), s.Rhs[i]})
			default:
				parts = append(parts, part{key.Value, f.at(key), a})
			}
		}
		return true
	})
	return parts
}

func (f *file) part(p part) {
	switch p.name {
	case "changes":
		f.items(p.value, func(t *ast.TableExpr, id *ast.IdentExpr) { f.change(t, id) })
	case "refs":
		f.items(p.value, func(t *ast.TableExpr, id *ast.IdentExpr) { f.ref(t, id) })
	case "notes":
		f.items(p.value, func(t *ast.TableExpr, id *ast.IdentExpr) {
			f.needs(t, f.table(t, id, "a note", noteKeys, true), id, "a note gives a reason", "reason")
		})
	case "outbound":
		f.items(p.value, func(t *ast.TableExpr, id *ast.IdentExpr) { f.outbound(t, id) })
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
func (f *file) items(list ast.Expr, visit func(*ast.TableExpr, *ast.IdentExpr)) {
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
	is := func(e ast.Expr) bool {
		id, ok := e.(*ast.IdentExpr)
		return ok && f.scope.vars[id] == v
	}
	syntax.Inspect(f.chunk, func(node ast.PositionHolder, _ []ast.PositionHolder) bool {
		switch node := node.(type) {
		case *ast.FuncCallExpr:
			if lib, name := f.nativeCall(node); lib == "table" && name == "insert" && len(node.Args) > 1 && is(node.Args[0]) {
				one(node.Args[len(node.Args)-1])
			}
		case *ast.AssignStmt:
			for i, target := range node.Lhs {
				if a, ok := target.(*ast.AttrGetExpr); ok && is(a.Object) && len(node.Rhs) == len(node.Lhs) {
					one(node.Rhs[i])
				}
			}
		}
		return true
	})
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

func (f *file) change(t *ast.TableExpr, held *ast.IdentExpr) {
	parts := f.table(t, held, "a change", changeKeys, true)
	f.needs(t, parts, held, "a change names flid and op", "flid", "op")
	for _, p := range parts {
		switch p.name {
		case "flid":
			if n, ok := f.local(p.value).(*ast.NumberExpr); ok {
				f.say(diagnostic.WrongLiteral, f.at(p.value), quoted(n.Value), "flid is the number %s, expected a text", n.Value)
			}
		case "op":
			f.op(p.value)
		case "set":
			f.section(p.value, "set")
		case "lists":
			f.section(p.value, "lists")
		case "clear":
			f.cleared(p.value)
		}
	}
}

// op notes an operation, and holds it to those that there are.
func (f *file) op(e ast.Expr) {
	text, ok := f.local(e).(*ast.StringExpr)
	switch {
	case !ok:
		f.done.anyOp = true
	case !slices.Contains(declaration.Ops, text.Value):
		f.say(diagnostic.DecisionShape, f.at(e), write(text.Value, declaration.Ops), "op is %q, expected %s%s", text.Value, strings.Join(declaration.Ops, ", "), diagnostic.Perhaps(text.Value, declaration.Ops))
	default:
		f.does(text.Value, f.at(e))
	}
}

// section looks at set = { … } and lists = { … }.
func (f *file) section(e ast.Expr, section string) {
	t, ok := f.declaredWith(e).(*ast.TableExpr)
	if !ok {
		f.done.open = true
		return
	}
	id, _ := e.(*ast.IdentExpr)
	for _, p := range f.parted(t, id) {
		if !f.writesTag(p.name, p.at) {
			continue
		}
		if isList := f.shape(p.name) == "list"; isList != (section == "lists") {
			fix := "put it under set"
			if isList {
				fix = "put it under lists"
			}
			f.say(diagnostic.WrongSection, p.at, fix, "%s is a %s and does not stand under %s", p.name, f.shape(p.name), section)
			continue
		}
		f.literal(p.name, p.value)
	}
}

func (f *file) cleared(e ast.Expr) {
	t, ok := f.declaredWith(e).(*ast.TableExpr)
	if _, held := e.(*ast.IdentExpr); held || !ok {
		f.done.open = true
	}
	if !ok {
		return
	}
	for _, field := range t.Fields {
		tag, ok := f.local(field.Value).(*ast.StringExpr)
		switch {
		case field.Key != nil:
			f.say(diagnostic.DecisionShape, f.at(field.Value), `write the tags as a list: clear = { "STND" }`, "clear is a list of tags, not a table of names")
		case !ok:
			f.done.open = true
		case f.writesTag(tag.Value, f.at(field.Value)) && f.shape(tag.Value) == "list":
			f.say(diagnostic.WrongSection, f.at(field.Value), "empty a list with lists = { "+tag.Value+" = {} }", "%s is a list and does not stand under clear", tag.Value)
		}
	}
}

func (f *file) ref(t *ast.TableExpr, held *ast.IdentExpr) {
	parts := f.table(t, held, "a reference change", refKeys, true)
	f.needs(t, parts, held, "a reference change names type, key and op", "type", "key", "op")
	for _, p := range parts {
		text, ok := f.local(p.value).(*ast.StringExpr)
		if !ok {
			continue
		}
		if _, known := f.cat.Reference(text.Value); p.name == "type" && !known {
			types := declaration.ReferenceTypes(f.cat)
			f.say(diagnostic.UnknownReference, f.at(p.value), write(text.Value, types), "%q is not a type of reference data%s", text.Value, diagnostic.Perhaps(text.Value, types))
		}
		if p.name == "op" && text.Value != "upsert" && text.Value != "delete" {
			f.say(diagnostic.DecisionShape, f.at(p.value), "write upsert or delete", "op of a reference change is %q, expected upsert or delete", text.Value)
		}
	}
}

func (f *file) outbound(t *ast.TableExpr, held *ast.IdentExpr) {
	parts := f.parted(t, held)
	f.needs(t, parts, held, "a request has a name", "request")
	at := slices.IndexFunc(parts, func(p part) bool { return p.name == "request" })
	if at < 0 {
		return
	}
	name, ok := f.local(parts[at].value).(*ast.StringExpr)
	if !ok {
		return
	}
	request, ok := f.cat.Request(name.Value)
	if !ok {
		var known []string
		for _, r := range f.cat.Requests {
			known = append(known, r.Name)
		}
		f.say(diagnostic.UnknownDecision, f.at(parts[at].value), write(name.Value, known), "%q is not a request of the catalogue%s", name.Value, diagnostic.Perhaps(name.Value, known))
		return
	}
	var fields []string
	for _, field := range request.Fields {
		fields = append(fields, field.Tag)
	}
	f.table(t, held, "the request "+name.Value, append(fields, "request"), true)
}

// literal holds a value that is written out to the field's type.
func (f *file) literal(tag string, e ast.Expr) {
	if f.scope.global(e, "CLEAR") {
		f.say(diagnostic.WrongLiteral, f.at(e), `clear it: clear = { "`+tag+`" }, or lists = { `+tag+` = {} } for a list`, "CLEAR is not a value: it occurs in msg only")
		return
	}
	value := f.local(e)
	if o, ok := f.cat.Object(tag); ok {
		f.literalParts(tag, o.Parts, value)
		return
	}
	if l, ok := f.cat.List(tag); ok {
		if t, ok := value.(*ast.TableExpr); ok {
			for _, entry := range t.Fields {
				if entry.Key == nil && len(l.Lists) == 0 {
					f.literalParts(tag, l.Fields, f.local(entry.Value))
				}
			}
		}
		return
	}
	if field, ok := f.cat.Scalar(tag); ok {
		f.literalValue(tag, field, value, f.at(e))
	}
}

func (f *file) literalParts(tag string, fields []catalogue.Field, e ast.Expr) {
	t, ok := e.(*ast.TableExpr)
	if !ok {
		return
	}
	var known []string
	for _, p := range fields {
		known = append(known, p.Tag)
	}
	for _, p := range f.parted(t, nil) {
		field, ok := catalogue.PartOf(fields, p.name)
		if !ok {
			f.say(diagnostic.UnknownField, p.at, write(p.name, known), "%s has no %s%s", tag, p.name, diagnostic.Perhaps(p.name, known))
			continue
		}
		f.literalValue(tag+"."+p.name, field, f.local(p.value), f.at(p.value))
	}
}

func (f *file) literalValue(name string, field *catalogue.Field, value ast.Expr, at place) {
	integer := f.isInteger(field)
	switch v := value.(type) {
	case *ast.NumberExpr:
		if !integer {
			f.say(diagnostic.WrongLiteral, at, quoted(v.Value), "%s is a text, found the number %s", name, v.Value)
		}
	case *ast.StringExpr:
		if integer {
			f.say(diagnostic.WrongLiteral, at, "write a number without quotes", "%s is a number, found the text %s", name, syntax.Quote(v.Value))
		} else if want := rulebook.Expected(field, v.Value); want != "" {
			f.say(diagnostic.WrongLiteral, at, "write "+want, "%s is %s, expected %s", name, syntax.Quote(v.Value), want)
		}
	case *ast.TrueExpr, *ast.FalseExpr, *ast.TableExpr, *ast.FunctionExpr:
		f.say(diagnostic.WrongLiteral, at, "", "%s is %s, which is not a value of the field", name, syntax.Expr(v))
	}
}
