package syntax

import "github.com/yuin/gopher-lua/ast"

// Inspect visits every node of a tree in the order of the source, each before what it
// consists of. path holds what the node stands in, the outermost first; it is valid
// during the visit only. A visit that returns false leaves out what the node consists of.
func Inspect(chunk []ast.Stmt, visit func(node ast.PositionHolder, path []ast.PositionHolder) bool) {
	i := inspector{visit: visit}
	i.stmts(chunk)
}

// InspectExpr visits an expression as Inspect does.
func InspectExpr(e ast.Expr, visit func(node ast.PositionHolder, path []ast.PositionHolder) bool) {
	i := inspector{visit: visit}
	i.expr(e)
}

type inspector struct {
	visit func(ast.PositionHolder, []ast.PositionHolder) bool
	path  []ast.PositionHolder
}

func (i *inspector) within(node ast.PositionHolder, parts func()) {
	if !i.visit(node, i.path) {
		return
	}
	i.path = append(i.path, node)
	parts()
	i.path = i.path[:len(i.path)-1]
}

func (i *inspector) stmts(list []ast.Stmt) {
	for _, s := range list {
		i.within(s, func() { i.stmt(s) })
	}
}

func (i *inspector) exprs(list []ast.Expr) {
	for _, e := range list {
		i.expr(e)
	}
}

func (i *inspector) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		i.exprs(s.Lhs)
		i.exprs(s.Rhs)
	case *ast.LocalAssignStmt:
		i.exprs(s.Exprs)
	case *ast.FuncCallStmt:
		i.expr(s.Expr)
	case *ast.DoBlockStmt:
		i.stmts(s.Stmts)
	case *ast.WhileStmt:
		i.expr(s.Condition)
		i.stmts(s.Stmts)
	case *ast.RepeatStmt:
		i.stmts(s.Stmts)
		i.expr(s.Condition)
	case *ast.IfStmt:
		i.expr(s.Condition)
		i.stmts(s.Then)
		i.stmts(s.Else)
	case *ast.NumberForStmt:
		i.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
		i.stmts(s.Stmts)
	case *ast.GenericForStmt:
		i.exprs(s.Exprs)
		i.stmts(s.Stmts)
	case *ast.FuncDefStmt:
		i.exprs([]ast.Expr{s.Name.Func, s.Name.Receiver})
		i.expr(s.Func)
	case *ast.ReturnStmt:
		i.exprs(s.Exprs)
	}
}

func (i *inspector) expr(e ast.Expr) {
	if e == nil {
		return
	}
	i.within(e, func() {
		switch e := e.(type) {
		case *ast.AttrGetExpr:
			i.exprs([]ast.Expr{e.Object, e.Key})
		case *ast.TableExpr:
			for _, f := range e.Fields {
				i.exprs([]ast.Expr{f.Key, f.Value})
			}
		case *ast.FuncCallExpr:
			i.exprs([]ast.Expr{e.Func, e.Receiver})
			i.exprs(e.Args)
		case *ast.FunctionExpr:
			i.stmts(e.Stmts)
		default:
			i.exprs(operands(e))
		}
	})
}

// operands are the parts of an operator.
func operands(e ast.Expr) []ast.Expr {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		return []ast.Expr{e.Lhs, e.Rhs}
	case *ast.RelationalOpExpr:
		return []ast.Expr{e.Lhs, e.Rhs}
	case *ast.ArithmeticOpExpr:
		return []ast.Expr{e.Lhs, e.Rhs}
	case *ast.StringConcatOpExpr:
		return []ast.Expr{e.Lhs, e.Rhs}
	case *ast.UnaryMinusOpExpr:
		return []ast.Expr{e.Expr}
	case *ast.UnaryNotOpExpr:
		return []ast.Expr{e.Expr}
	case *ast.UnaryLenOpExpr:
		return []ast.Expr{e.Expr}
	}
	return nil
}
