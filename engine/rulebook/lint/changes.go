package lint

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/rulebook/declaration"
	"msgx/engine/rulebook/diagnostic"
)

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
