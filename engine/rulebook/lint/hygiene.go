package lint

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/rulebook"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/syntax"
)

// hygiene finds what has no effect, or not the one that a reader expects.
func (f *file) hygiene() {
	f.variables()
	f.unreachable(f.chunk)
	syntax.Inspect(f.chunk, func(node ast.PositionHolder, _ []ast.PositionHolder) bool {
		switch node := node.(type) {
		case *ast.IfStmt:
			f.constant(node.Condition)
			if len(node.Then)+len(node.Else) == 0 {
				f.say(diagnostic.EmptyBranch, f.at(node), "", "nothing happens when %s", syntax.Expr(node.Condition))
			}
			f.unreachable(node.Then)
			f.unreachable(node.Else)
		case *ast.WhileStmt:
			if _, forever := node.Condition.(*ast.TrueExpr); !forever {
				f.constant(node.Condition)
			}
			f.unreachable(node.Stmts)
		case *ast.RepeatStmt:
			f.constant(node.Condition)
			f.unreachable(node.Stmts)
		case *ast.DoBlockStmt:
			f.unreachable(node.Stmts)
		case *ast.NumberForStmt:
			f.unreachable(node.Stmts)
		case *ast.GenericForStmt:
			f.unreachable(node.Stmts)
		case *ast.FunctionExpr:
			f.unreachable(node.Stmts)
		case *ast.TableExpr:
			f.twice(node)
		}
		return true
	})
}

func (f *file) variables() {
	globals := rulebook.Globals()
	for _, v := range f.scope.all {
		if strings.HasPrefix(v.name, "_") || v.self {
			continue
		}
		switch {
		case len(v.reads) > 0:
		case v.param:
			f.say(diagnostic.UnusedParameter, v.at, "name it _"+v.name+", or _", "the parameter %s is not used", v.name)
		case v.loop != nil || v.n < 0:
			f.say(diagnostic.UnusedLocal, v.at, "name it _", "the variable %s is not used", v.name)
		default:
			f.say(diagnostic.UnusedLocal, v.at, "", "the local %s is not used", v.name)
		}
		switch {
		case v.hides != nil:
			f.say(diagnostic.Shadowing, v.at, "", "%s hides the one of line %d", v.name, v.hides.at.Line)
		case slices.Contains(globals, v.name):
			f.say(diagnostic.Shadowing, v.at, "", "%s hides the %s of the sandbox", v.name, v.name)
		}
	}
}

// constant looks at a condition that is the same whatever comes.
func (f *file) constant(e ast.Expr) {
	switch e := e.(type) {
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr, *ast.TableExpr, *ast.FunctionExpr:
		f.say(diagnostic.Constant, f.at(e), "", "the condition %s is always the same", syntax.Expr(e))
	case *ast.RelationalOpExpr:
		same := simple(e.Lhs) && syntax.Expr(e.Lhs) == syntax.Expr(e.Rhs) && f.typeOf(e.Lhs).what != unknown // n ~= n asks for NaN
		if same || isConstant(e.Lhs) && isConstant(e.Rhs) {
			f.say(diagnostic.Constant, f.at(e), "", "the condition %s is always the same", syntax.Expr(e))
		}
	case *ast.LogicalOpExpr:
		f.constant(e.Lhs)
		f.constant(e.Rhs)
	case *ast.UnaryNotOpExpr:
		f.constant(e.Expr)
	}
}

func isConstant(e ast.Expr) bool {
	switch e.(type) {
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr:
		return true
	}
	return false
}

// simple tells a name or a chain of fields.
func simple(e ast.Expr) bool {
	for {
		a, ok := e.(*ast.AttrGetExpr)
		if !ok {
			break
		}
		if _, ok := a.Key.(*ast.StringExpr); !ok {
			return false
		}
		e = a.Object
	}
	_, ok := e.(*ast.IdentExpr)
	return ok
}

// unreachable finds a statement after one that never lets it have its turn.
func (f *file) unreachable(block []ast.Stmt) {
	for i, s := range block[:max(len(block)-1, 0)] {
		if _, label := block[i+1].(*ast.LabelStmt); !label && f.leaves(s) {
			f.say(diagnostic.Unreachable, f.at(block[i+1]), "", "this never runs: what stands before it always ends")
			return
		}
	}
}

// ends tells that a block never comes to its end, but returns or fails before.
func (f *file) ends(block []ast.Stmt) bool {
	return slices.ContainsFunc(block, f.leaves)
}

// leaves tells a statement after which nothing comes. Blocks stand in blocks: the answer
// is kept.
func (f *file) leaves(s ast.Stmt) bool {
	if f.leaving == nil {
		f.leaving = map[ast.Stmt]bool{}
	}
	answer, asked := f.leaving[s]
	if !asked {
		answer = f.never(s)
		f.leaving[s] = answer
	}
	return answer
}

func (f *file) never(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.FuncCallStmt:
		c, ok := s.Expr.(*ast.FuncCallExpr)
		return ok && f.scope.global(c.Func, "error")
	case *ast.DoBlockStmt:
		return f.ends(s.Stmts) && !breaks(s.Stmts)
	case *ast.IfStmt:
		return f.ends(s.Then) && f.ends(s.Else) && !breaks(s.Then) && !breaks(s.Else)
	case *ast.WhileStmt:
		_, forever := s.Condition.(*ast.TrueExpr)
		return forever && !breaks(s.Stmts)
	case *ast.RepeatStmt:
		_, forever := s.Condition.(*ast.FalseExpr)
		return forever && !breaks(s.Stmts) || f.ends(s.Stmts) && !breaks(s.Stmts)
	}
	return false
}

// breaks tells a break that ends the loop around a block, or a goto: where it leads is not
// followed.
func breaks(block []ast.Stmt) bool {
	found := false
	syntax.Inspect(block, func(node ast.PositionHolder, path []ast.PositionHolder) bool {
		switch node.(type) {
		case *ast.BreakStmt:
			found = found || !slices.ContainsFunc(path, isLoop)
		case *ast.GotoStmt:
			found = true
		case *ast.FunctionExpr:
			return false
		}
		return !found
	})
	return found
}

func isLoop(node ast.PositionHolder) bool {
	switch node.(type) {
	case *ast.WhileStmt, *ast.RepeatStmt, *ast.NumberForStmt, *ast.GenericForStmt:
		return true
	}
	return false
}

// twice finds a name that a table is given twice.
func (f *file) twice(t *ast.TableExpr) {
	seen := map[string]place{}
	for _, field := range t.Fields {
		key, ok := field.Key.(*ast.StringExpr)
		if !ok {
			continue
		}
		if first, again := seen[key.Value]; again {
			f.say(diagnostic.DuplicateKey, f.at(key), "", "%s stands twice: on line %d already", key.Value, first.Line)
			continue
		}
		seen[key.Value] = f.at(key)
	}
}
