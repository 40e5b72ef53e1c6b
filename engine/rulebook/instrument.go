package rulebook

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/rulebook/syntax"
)

// Names that only an instrumented tree can spell, beside those of the rewriter.
const (
	opLine    = "(line)"    // line(n): a line begins
	opCalled  = "(called)"  // called(n): a function begins
	opBranch  = "(branch)"  // branch(n, v): v, whose truth decides
	opOperand = "(operand)" // operand(n, v): v, a part of a condition
	opEnter   = "(enter)"   // enter(n, entered): true, and a loop begins its first round
	opLeave   = "(leave)"   // leave(n, entered): a loop ends
	opFrom    = "(from)"    // from(t): t, about to be read from
	opRead    = "(read)"    // read(k): k, the key that is read of it
	entered   = "(entered)" // a local variable: whether a loop had a round
)

// traceOperators are allowed in an instrumented tree.
var traceOperators = []string{opLine, opCalled, opBranch, opOperand, opEnter, opLeave, opFrom, opRead}

// Point is a place where a run can go one way or another.
type Point struct {
	File   string
	Line   int
	Column int    // of the keyword or operator, from 1
	Kind   string // if, elseif, while, until, for, and, or, function
	Text   string // the condition, the head of the loop, the function
}

// probes are the places of a rule set that an instrumented tree reports.
type probes struct {
	lines    []linePlace
	points   []probe
	operands []string
}

type linePlace struct {
	file string
	line int
}

// probe is a point with the operands of its condition.
type probe struct {
	Point
	operands []int
	whole    bool // not a part of a larger condition
}

// instrumenter puts a call before each line, around each condition and into each index of
// a parsed tree, which is then rewritten like any other. The calls change no value.
type instrumenter struct {
	file   string
	probes *probes
	seen   map[int]bool
	ifs    []syntax.Place // the keywords, in the order in which the walk meets them
	loops  []syntax.Place
	untils []syntax.Place
	logic  []syntax.Place
	funcs  []syntax.Place
}

func instrument(file, source string, chunk []ast.Stmt, p *probes) []ast.Stmt {
	i := &instrumenter{
		file: file, probes: p, seen: map[int]bool{},
		ifs: syntax.Words(source, "if", "elseif"), loops: syntax.Words(source, "for", "while"),
		untils: syntax.Words(source, "until"), logic: syntax.Words(source, "and", "or"),
		funcs: syntax.Words(source, "function"),
	}
	return i.stmts(chunk)
}

// take is the next place of a kind of word.
func take(places *[]syntax.Place) syntax.Place {
	if len(*places) == 0 {
		return syntax.Place{}
	}
	p := (*places)[0]
	*places = (*places)[1:]
	return p
}

func (i *instrumenter) point(at syntax.Place, kind, text string) int {
	i.probes.points = append(i.probes.points, probe{Point: Point{i.file, at.Line, at.Column, kind, text}})
	return len(i.probes.points) - 1
}

func (i *instrumenter) stmts(list []ast.Stmt) []ast.Stmt {
	var out []ast.Stmt
	for _, s := range list {
		_, block := s.(*ast.DoBlockStmt)
		_, label := s.(*ast.LabelStmt)
		if !block && !label && !i.seen[s.Line()] {
			i.seen[s.Line()] = true
			i.probes.lines = append(i.probes.lines, linePlace{i.file, s.Line()})
			out = append(out, report(s, opLine, len(i.probes.lines)-1))
		}
		out = append(out, i.stmt(s))
	}
	return out
}

func (i *instrumenter) stmt(s ast.Stmt) ast.Stmt {
	switch s := s.(type) {
	case *ast.AssignStmt:
		for _, target := range s.Lhs {
			if target, ok := target.(*ast.AttrGetExpr); ok {
				target.Object, target.Key = i.expr(target.Object), i.expr(target.Key)
			}
		}
		i.exprs(s.Rhs)
	case *ast.LocalAssignStmt:
		i.exprs(s.Exprs)
	case *ast.FuncCallStmt:
		i.call(s.Expr.(*ast.FuncCallExpr))
	case *ast.DoBlockStmt:
		s.Stmts = i.stmts(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = i.decides(s.Condition, take(&i.loops), "while")
		s.Stmts = i.stmts(s.Stmts)
	case *ast.RepeatStmt:
		s.Stmts = i.stmts(s.Stmts)
		s.Condition = i.decides(s.Condition, take(&i.untils), "until")
	case *ast.IfStmt:
		place := take(&i.ifs)
		s.Condition = i.decides(s.Condition, place, place.Word)
		s.Then = i.stmts(s.Then)
		s.Else = i.stmts(s.Else)
	case *ast.NumberForStmt:
		n := i.point(take(&i.loops), "for", syntax.For(s))
		s.Init, s.Limit = i.expr(s.Init), i.expr(s.Limit)
		if s.Step != nil {
			s.Step = i.expr(s.Step)
		}
		s.Stmts = i.round(s, n, s.Stmts)
		return i.loop(s, n)
	case *ast.GenericForStmt:
		n := i.point(take(&i.loops), "for", syntax.For(s))
		i.exprs(s.Exprs)
		s.Stmts = i.round(s, n, s.Stmts)
		return i.loop(s, n)
	case *ast.FuncDefStmt:
		i.function(s.Func, syntax.Name(s.Name))
	case *ast.ReturnStmt:
		i.exprs(s.Exprs)
	}
	return s
}

// round is the body of a loop that reports its first round.
func (i *instrumenter) round(place ast.Stmt, n int, body []ast.Stmt) []ast.Stmt {
	first := at(place, &ast.AssignStmt{Lhs: []ast.Expr{ident(place, entered)}, Rhs: []ast.Expr{call(place, opEnter, number(place, n), ident(place, entered))}})
	return append([]ast.Stmt{first}, i.stmts(body)...)
}

// loop is a loop that reports when it had no round.
func (i *instrumenter) loop(s ast.Stmt, n int) ast.Stmt {
	start := at(s, &ast.LocalAssignStmt{Names: []string{entered}, Exprs: []ast.Expr{at(s, &ast.FalseExpr{})}})
	end := report(s, opLeave, n, ident(s, entered))
	return at(s, &ast.DoBlockStmt{Stmts: []ast.Stmt{start, s, end}})
}

// decides wraps the condition of a statement.
func (i *instrumenter) decides(e ast.Expr, place syntax.Place, kind string) ast.Expr {
	if constant(e) {
		return i.expr(e)
	}
	n := i.point(place, kind, syntax.Expr(e))
	e, operands := i.condition(e, true)
	i.probes.points[n].operands, i.probes.points[n].whole = operands, true
	return call(e, opBranch, number(e, n), single(e))
}

// condition wraps the parts of an expression whose truth matters, and tells its operands. In a
// whole condition the right side of "and" and "or" is one too; otherwise it is a value.
func (i *instrumenter) condition(e ast.Expr, whole bool) (ast.Expr, []int) {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		return i.logical(e, whole)
	case *ast.UnaryNotOpExpr:
		inner, operands := i.condition(e.Expr, true)
		e.Expr = inner
		return e, operands
	case *ast.RelationalOpExpr:
		left, operands := i.operand(e.Lhs)
		right, more := i.operand(e.Rhs)
		e.Lhs, e.Rhs = left, right
		return e, append(operands, more...)
	}
	return i.operand(e)
}

func (i *instrumenter) logical(e *ast.LogicalOpExpr, whole bool) (ast.Expr, []int) {
	left, right := syntax.Expr(e.Lhs), syntax.Expr(e.Rhs)
	fixedLeft, fixedRight := constant(e.Lhs), constant(e.Rhs)
	_, nested := e.Lhs.(*ast.LogicalOpExpr) // its own sides tell all there is
	lhs, operands := i.condition(e.Lhs, true)
	place := take(&i.logic)
	e.Lhs = i.side(lhs, fixedLeft || nested, place, e.Operator, left, operands)
	if !whole {
		e.Rhs = i.expr(e.Rhs)
		return e, operands
	}
	rhs, more := i.condition(e.Rhs, true)
	_, nested = rhs.(*ast.LogicalOpExpr)
	e.Rhs = i.side(rhs, fixedRight || nested, place, e.Operator, right, more)
	return e, append(operands, more...)
}

func (i *instrumenter) side(e ast.Expr, fixed bool, place syntax.Place, kind, text string, operands []int) ast.Expr {
	if fixed {
		return e
	}
	n := i.point(place, kind, text)
	i.probes.points[n].operands = operands
	return call(e, opBranch, number(e, n), single(e))
}

func constant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return e.Value == "CLEAR"
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr, *ast.TableExpr, *ast.FunctionExpr:
		return true
	}
	return false
}

// operand wraps a part of a condition, so that its value is known.
func (i *instrumenter) operand(e ast.Expr) (ast.Expr, []int) {
	if constant(e) {
		return i.expr(e), nil
	}
	i.probes.operands = append(i.probes.operands, syntax.Expr(e))
	n := len(i.probes.operands) - 1
	return call(e, opOperand, number(e, n), single(i.expr(e))), []int{n}
}

func (i *instrumenter) exprs(list []ast.Expr) {
	for n, e := range list {
		list[n] = i.expr(e)
	}
}

func (i *instrumenter) expr(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.AttrGetExpr:
		e.Object = call(e, opFrom, single(i.expr(e.Object)))
		e.Key = call(e, opRead, single(i.expr(e.Key)))
	case *ast.TableExpr:
		for _, f := range e.Fields {
			if f.Key != nil {
				f.Key = i.expr(f.Key)
			}
			f.Value = i.expr(f.Value)
		}
	case *ast.FuncCallExpr:
		i.call(e)
	case *ast.LogicalOpExpr:
		out, _ := i.logical(e, false)
		return out
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = i.expr(e.Lhs), i.expr(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = i.expr(e.Lhs), i.expr(e.Rhs)
	case *ast.StringConcatOpExpr:
		e.Lhs, e.Rhs = i.expr(e.Lhs), i.expr(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		e.Expr = i.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = i.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = i.expr(e.Expr)
	case *ast.FunctionExpr:
		i.function(e, "")
	}
	return e
}

func (i *instrumenter) call(e *ast.FuncCallExpr) {
	if e.Func != nil {
		e.Func = i.expr(e.Func)
	} else {
		e.Receiver = i.expr(e.Receiver)
	}
	if name, ok := e.Func.(*ast.IdentExpr); ok && name.Value == "require" {
		return
	}
	i.exprs(e.Args)
}

func (i *instrumenter) function(f *ast.FunctionExpr, name string) {
	text := "function(" + syntax.Parameters(f) + ")"
	if name != "" {
		text = "function " + name + "(" + syntax.Parameters(f) + ")"
	}
	n := i.point(take(&i.funcs), "function", text)
	f.Stmts = append([]ast.Stmt{report(f, opCalled, n)}, i.stmts(f.Stmts)...)
}

func number(place ast.PositionHolder, n int) ast.Expr {
	return at(place, &ast.NumberExpr{Value: strconv.Itoa(n)})
}

// report is a statement that calls an operation with a number.
func report(place ast.PositionHolder, op string, n int, args ...ast.Expr) ast.Stmt {
	c := call(place, op, append([]ast.Expr{number(place, n)}, args...)...)
	c.AdjustRet = false
	return at(place, &ast.FuncCallStmt{Expr: c})
}
