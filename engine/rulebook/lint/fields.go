package lint

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook/declaration"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/syntax"
)

// fields holds what a rule reads, and what it compares it with, to the catalogue.
func (f *file) fields() {
	syntax.Inspect(f.chunk, func(node ast.PositionHolder, path []ast.PositionHolder) bool {
		switch node := node.(type) {
		case *ast.AttrGetExpr:
			if !isTarget(node, path) {
				f.field(node)
			}
		case *ast.RelationalOpExpr:
			f.compared(node, node.Lhs, node.Rhs)
			f.compared(node, node.Rhs, node.Lhs)
		case *ast.FuncCallExpr:
			if f.scope.global(node.Func, "tonumber") && len(node.Args) > 0 {
				f.summed(node.Args[0])
			}
		case *ast.ArithmeticOpExpr:
			f.summed(node.Lhs)
			f.summed(node.Rhs)
		}
		return true
	})
}

func (f *file) field(a *ast.AttrGetExpr) {
	key, ok := a.Key.(*ast.StringExpr)
	if !ok {
		return
	}
	t := f.typeOf(a.Object)
	if t.what == theRefs {
		if _, known := f.cat.Reference(key.Value); !known {
			types := declaration.ReferenceTypes(f.cat)
			f.say(diagnostic.UnknownReference, f.at(key), write(key.Value, types), "%q is not a type of reference data%s", key.Value, diagnostic.Perhaps(key.Value, types))
		}
		return
	}
	known := f.names(t)
	if known == nil {
		return
	}
	if !slices.Contains(known, key.Value) {
		f.say(diagnostic.UnknownField, f.at(key), write(key.Value, known), "%s has no %s%s", t, key.Value, diagnostic.Perhaps(key.Value, known))
		return
	}
	if t.what == aRecord {
		f.carried(key.Value, f.at(key))
	}
}

// write proposes the nearest name, "" when there is none.
func write(name string, known []string) string {
	if near := diagnostic.Nearest(name, known); near != "" {
		return "write " + near
	}
	return ""
}

// carried asks whether the messages of the script have an element at all.
func (f *file) carried(tag string, at place) {
	kinds := f.served()
	if len(kinds) == 0 || !slices.Contains(f.cat.Tags(), tag) || tag == "FLID" || tag == "FFID" || !f.header.Whole {
		return
	}
	var names, carry []string
	for _, k := range kinds {
		if slices.Contains(k.Elements, "*") || slices.Contains(k.Elements, tag) {
			return
		}
		names, carry = append(names, k.Name), append(carry, k.Elements...)
	}
	fix := ""
	if len(carry) > 0 {
		fix = "read " + strings.Join(carry, " or ") + " of the record, or " + tag + " of the flight: view.flights[record.flid]." + tag
	}
	f.say(diagnostic.NotCarried, at, fix, "no message of %s carries %s", strings.Join(names, ", "), tag)
}

// compared looks at a comparison of something with a constant.
func (f *file) compared(e *ast.RelationalOpExpr, side, other ast.Expr) {
	t := f.typeOf(side)
	equality := e.Operator == "==" || e.Operator == "~="
	switch value := other.(type) {
	case *ast.StringExpr:
		f.comparedText(t, side, value, equality)
	case *ast.NumberExpr:
		if t.what == aText || t.what == aScalar && !f.isInteger(t.field) {
			f.say(diagnostic.WrongType, f.at(other), quoted(value.Value), "%s is a text, and %s a number", syntax.Expr(side), value.Value)
		}
	case *ast.IdentExpr:
		if equality && f.scope.global(value, "CLEAR") && t.what != unknown && !t.clear {
			f.say(diagnostic.NeverClear, f.at(other), "", "%s is never CLEAR", syntax.Expr(side))
		}
	}
	if call, ok := side.(*ast.FuncCallExpr); ok && f.scope.global(call.Func, "type") && equality {
		if value, ok := other.(*ast.StringExpr); ok && !slices.Contains(typeNames, value.Value) {
			f.say(diagnostic.Constant, f.at(other), write(value.Value, typeNames), "type never gives %q%s", value.Value, diagnostic.Perhaps(value.Value, typeNames))
		}
	}
}

// typeNames are what type gives.
var typeNames = []string{"nil", "boolean", "number", "string", "table", "function", "userdata", "clear"}

func quoted(number string) string { return `write "` + number + `"` }

func (f *file) comparedText(t typ, side ast.Expr, value *ast.StringExpr, equality bool) {
	switch {
	case t.what == aNumber || t.what == aScalar && f.isInteger(t.field):
		f.say(diagnostic.WrongType, f.at(value), "compare with a number", "%s is a number, and %q a text", syntax.Expr(side), value.Value)
	case !equality:
	case t.what == aScalar && value.Value == "":
		fix := "write nil"
		if t.clear {
			fix = "write CLEAR for an element that was there and empty, nil for one that was absent"
		}
		f.say(diagnostic.EmptyText, f.at(value), fix, "%s is never the empty text", syntax.Expr(side))
	case t.what == aScalar && t.field.Type == catalogue.Flag && !slices.Contains(t.field.Flags, value.Value):
		f.say(diagnostic.NotAFlag, f.at(value), "write one of "+strings.Join(t.field.Flags, ", "), "%s is never %q%s", syntax.Expr(side), value.Value, diagnostic.Perhaps(value.Value, t.field.Flags))
	case f.isKind(side):
		if _, ok := f.cat.KindNamed(value.Value); !ok {
			kinds := declaration.KindNames(f.cat)
			f.say(diagnostic.UnknownKind, f.at(value), write(value.Value, kinds), "%q is no kind of the catalogue%s", value.Value, diagnostic.Perhaps(value.Value, kinds))
		}
	}
}

func (f *file) isKind(e ast.Expr) bool {
	a, ok := f.local(e).(*ast.AttrGetExpr)
	return ok && isText(a.Key, "kind") && f.typeOf(a.Object).what == aMessage
}

func (f *file) isInteger(field *catalogue.Field) bool {
	v, ok := f.cat.ValueType(field.Type)
	return ok && v.Lua == "integer"
}

// summed looks at what is made a number.
func (f *file) summed(e ast.Expr) {
	if t := f.typeOf(e); t.what == aScalar && t.field.Type == catalogue.ID {
		f.say(diagnostic.IdentifierSum, f.at(e), "", "%s is an identifier of up to 18 digits: as a number it is not exact", syntax.Expr(e))
	}
}
