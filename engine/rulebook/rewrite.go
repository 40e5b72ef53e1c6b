package rulebook

import (
	"fmt"
	"slices"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/rulebook/diagnostic"
)

// Names that only rewritten code can spell.
const (
	opSet    = "(set)"    // set(table, key, value): the only way to write to a table
	opConcat = "(concat)" // concat(a, b, …): the .. operator, bounded
	opNew    = "(new)"    // new({…}): charges for a table
	opKey    = "(key)"    // key(k): a computed key of a table constructor
)

// rewriter walks a syntax tree once: it refuses what a pure script must not do,
// and rewrites what the host has to check while the script runs.
type rewriter struct {
	file     string
	globals  map[string]bool // the allow-list
	scopes   []map[string]int
	depth    int // of nested functions
	requires []string
	faults   []*diagnostic.Fault
}

// rewrite checks and rewrites a chunk. It returns the libraries that it requires.
func rewrite(file string, chunk []ast.Stmt, globals map[string]bool) ([]ast.Stmt, []string, []*diagnostic.Fault) {
	r := &rewriter{file: file, globals: globals}
	out := r.block(chunk)
	slices.Sort(r.requires)
	return out, slices.Compact(r.requires), r.faults
}

func (r *rewriter) fault(code diagnostic.Code, at ast.PositionHolder, word, format string, args ...any) {
	r.faults = append(r.faults, &diagnostic.Fault{Code: code, File: r.file, Line: at.Line(), Word: word, Text: fmt.Sprintf(format, args...)})
}

func (r *rewriter) push() { r.scopes = append(r.scopes, map[string]int{}) }
func (r *rewriter) pop()  { r.scopes = r.scopes[:len(r.scopes)-1] }

func (r *rewriter) declare(names ...string) {
	for _, name := range names {
		r.scopes[len(r.scopes)-1][name] = r.depth
	}
}

// owner is the depth of the function that a local variable belongs to.
func (r *rewriter) owner(name string) (int, bool) {
	for _, scope := range slices.Backward(r.scopes) {
		if depth, ok := scope[name]; ok {
			return depth, true
		}
	}
	return 0, false
}

func (r *rewriter) block(stmts []ast.Stmt) []ast.Stmt {
	r.push()
	defer r.pop()
	return r.stmts(stmts)
}

func (r *rewriter) stmts(stmts []ast.Stmt) []ast.Stmt {
	for i, s := range stmts {
		stmts[i] = r.stmt(s)
	}
	return stmts
}

func (r *rewriter) stmt(s ast.Stmt) ast.Stmt {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return r.assign(s)
	case *ast.LocalAssignStmt:
		r.local(s)
	case *ast.FuncCallStmt:
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = r.expr(s.Condition)
		s.Stmts = r.block(s.Stmts)
	case *ast.RepeatStmt: // the condition sees the locals of the body
		r.push()
		s.Stmts = r.stmts(s.Stmts)
		s.Condition = r.expr(s.Condition)
		r.pop()
	case *ast.IfStmt:
		s.Condition = r.expr(s.Condition)
		s.Then = r.block(s.Then)
		s.Else = r.block(s.Else)
	case *ast.NumberForStmt:
		s.Init, s.Limit, s.Step = r.expr(s.Init), r.expr(s.Limit), r.expr(s.Step)
		r.push()
		r.declare(s.Name)
		s.Stmts = r.stmts(s.Stmts)
		r.pop()
	case *ast.GenericForStmt:
		r.exprs(s.Exprs)
		r.push()
		r.declare(s.Names...)
		s.Stmts = r.stmts(s.Stmts)
		r.pop()
	case *ast.FuncDefStmt:
		return r.funcDef(s)
	case *ast.ReturnStmt:
		r.exprs(s.Exprs)
	case *ast.BreakStmt, *ast.LabelStmt, *ast.GotoStmt:
	default:
		r.fault(diagnostic.Syntax, s, "", "a statement the host does not know (%T)", s)
	}
	return s
}

func (r *rewriter) local(s *ast.LocalAssignStmt) {
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		if _, ok := s.Exprs[0].(*ast.FunctionExpr); ok { // a local function sees itself
			r.declare(s.Names[0])
		}
	}
	r.exprs(s.Exprs)
	r.declare(s.Names...)
}

// assign rewrites an assignment. One field is set by a call; several targets are first
// evaluated into locals, then set, as Lua does it. (gopher-lua itself does not: its a, b = b, a
// leaves both with the value of b.)
func (r *rewriter) assign(s *ast.AssignStmt) ast.Stmt {
	r.exprs(s.Rhs)
	for i, target := range s.Lhs {
		switch target := target.(type) {
		case *ast.IdentExpr:
			r.assignable(target)
		case *ast.AttrGetExpr:
			target.Object, target.Key = r.expr(target.Object), r.expr(target.Key)
		default:
			r.fault(diagnostic.Syntax, s.Lhs[i], "", "cannot assign to this")
		}
	}
	if len(s.Lhs) > 1 || len(s.Rhs) > 1 {
		return unfold(s)
	}
	if target, ok := s.Lhs[0].(*ast.AttrGetExpr); ok {
		return setField(s, target.Object, target.Key, single(s.Rhs[0]))
	}
	return s
}

// unfold turns a.x, b[i] = f() into a block with one step for each part.
func unfold(s *ast.AssignStmt) ast.Stmt {
	block := &ast.DoBlockStmt{}
	places := &ast.LocalAssignStmt{}
	values := &ast.LocalAssignStmt{Exprs: s.Rhs}
	var sets []ast.Stmt
	for i, target := range s.Lhs {
		value := fmt.Sprintf("(value %d)", i)
		values.Names = append(values.Names, value)
		switch target := target.(type) {
		case *ast.AttrGetExpr:
			object, key := fmt.Sprintf("(object %d)", i), fmt.Sprintf("(key %d)", i)
			places.Names = append(places.Names, object, key)
			places.Exprs = append(places.Exprs, single(target.Object), single(target.Key))
			sets = append(sets, setField(s, ident(s, object), ident(s, key), ident(s, value)))
		default:
			sets = append(sets, at(s, &ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{ident(s, value)}}))
		}
	}
	if len(places.Names) > 0 {
		block.Stmts = append(block.Stmts, at(s, places))
	}
	block.Stmts = append(append(block.Stmts, at(s, values)), sets...)
	return at(s, block)
}

// funcDef rewrites function a.b() … end and function a:b() … end.
func (r *rewriter) funcDef(s *ast.FuncDefStmt) ast.Stmt {
	if s.Name.Func == nil {
		s.Func.ParList.Names = append([]string{"self"}, s.Func.ParList.Names...)
		key := at(s, &ast.StringExpr{Value: s.Name.Method})
		return setField(s, r.expr(s.Name.Receiver), key, r.expr(s.Func))
	}
	if target, ok := s.Name.Func.(*ast.AttrGetExpr); ok {
		return setField(s, r.expr(target.Object), target.Key, r.expr(s.Func))
	}
	if name, ok := s.Name.Func.(*ast.IdentExpr); ok {
		r.assignable(name)
	}
	s.Func = r.expr(s.Func).(*ast.FunctionExpr)
	return s
}

// assignable refuses to write to globals and to variables that outlive the
// function: they would carry state from one message to the next.
func (r *rewriter) assignable(name *ast.IdentExpr) {
	depth, ok := r.owner(name.Value)
	switch {
	case !ok:
		r.fault(diagnostic.GlobalWrite, name, name.Value, "%q is assigned but is not a local variable; write: local %s = …", name.Value, name.Value)
	case depth != r.depth:
		r.fault(diagnostic.OuterWrite, name, name.Value, "%q belongs to an enclosing function and cannot be assigned here; return the value, or keep it in a table made inside decide", name.Value)
	}
}
