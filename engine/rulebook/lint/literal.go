package lint

import (
	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/syntax"
)

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
