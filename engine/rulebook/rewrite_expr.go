package rulebook

import (
	"maps"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/rulebook/diagnostic"
)

func (r *rewriter) exprs(list []ast.Expr) {
	for i, e := range list {
		list[i] = r.expr(e)
	}
}

func (r *rewriter) expr(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case nil, *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr, *ast.Comma3Expr:
	case *ast.IdentExpr:
		r.name(e)
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expr(e.Object), r.expr(e.Key)
	case *ast.TableExpr:
		r.table(e)
		if len(e.Fields) == 0 {
			return call(e, opNew)
		}
		return call(e, opNew, e)
	case *ast.FuncCallExpr:
		r.call(e)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.FunctionExpr:
		r.function(e)
	default:
		r.fault(diagnostic.Syntax, e, "", "an expression the host does not know (%T)", e)
	}
	return e
}

func (r *rewriter) name(e *ast.IdentExpr) {
	if _, local := r.owner(e.Value); local {
		return
	}
	switch {
	case e.Value == "require":
		r.fault(diagnostic.RequireForm, e, "require", `require may only be called, with the name of a library: require("merge")`)
	case !r.globals[e.Value]:
		known := slices.DeleteFunc(slices.Sorted(maps.Keys(r.globals)), func(name string) bool { return strings.HasPrefix(name, "(") })
		r.fault(diagnostic.UnknownName, e, e.Value, "unknown name %q; a rule may use its own locals and %v", e.Value, known)
	}
}

func (r *rewriter) table(e *ast.TableExpr) {
	for _, f := range e.Fields {
		f.Value = r.expr(f.Value)
		if f.Key == nil {
			continue
		}
		if _, literal := f.Key.(*ast.StringExpr); !literal {
			f.Key = call(e, opKey, single(r.expr(f.Key)))
		}
	}
}

// concat flattens a .. b .. c into one call: one result, one charge.
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	var parts []ast.Expr
	var rest ast.Expr = e
	for {
		c, ok := rest.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		parts = append(parts, single(r.expr(c.Lhs)))
		rest = c.Rhs
	}
	return call(e, opConcat, append(parts, single(r.expr(rest)))...)
}

func (r *rewriter) call(e *ast.FuncCallExpr) {
	if name, ok := e.Func.(*ast.IdentExpr); ok && name.Value == "require" {
		if _, local := r.owner("require"); !local {
			r.require(e)
			return
		}
	}
	e.Func, e.Receiver = r.optional(e.Func), r.optional(e.Receiver)
	r.exprs(e.Args)
}

func (r *rewriter) optional(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	return r.expr(e)
}

func (r *rewriter) require(e *ast.FuncCallExpr) {
	if len(e.Args) == 1 {
		if name, ok := e.Args[0].(*ast.StringExpr); ok {
			r.requires = append(r.requires, name.Value)
			return
		}
	}
	r.fault(diagnostic.RequireForm, e, "require", `require takes the name of a library as it stands: require("merge")`)
}

func (r *rewriter) function(e *ast.FunctionExpr) {
	r.depth++
	r.push()
	r.declare(e.ParList.Names...)
	e.Stmts = r.stmts(e.Stmts)
	r.pop()
	r.depth--
}

// positioned is what every node can do.
type positioned interface {
	SetLine(int)
	SetLastLine(int)
}

// at gives a new node the place of the one it stands for.
func at[N positioned](place ast.PositionHolder, node N) N {
	node.SetLine(place.Line())
	node.SetLastLine(max(place.Line(), place.LastLine()))
	return node
}

func ident(place ast.PositionHolder, name string) ast.Expr {
	return at(place, &ast.IdentExpr{Value: name})
}

// call makes a call of a host operation that yields exactly one value.
func call(place ast.PositionHolder, name string, args ...ast.Expr) *ast.FuncCallExpr {
	return at(place, &ast.FuncCallExpr{Func: ident(place, name), Args: args, AdjustRet: true})
}

func setField(place ast.PositionHolder, object, key, value ast.Expr) ast.Stmt {
	c := call(place, opSet, single(object), single(key), single(value))
	c.AdjustRet = false
	return at(place, &ast.FuncCallStmt{Expr: c})
}

// single cuts an expression that may yield several values to one.
func single(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
	return e
}
