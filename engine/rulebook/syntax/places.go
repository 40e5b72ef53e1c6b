package syntax

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// Places knows where the nodes of a tree begin. The tree itself keeps lines only; but
// names and constants stand in it in the order of the source, so that reading the
// source once more, beside the tree, finds them all.
type Places struct {
	nodes map[ast.PositionHolder]Place
	names map[named]Place
}

// named is a name that the tree keeps as a text: the n-th local of a statement, the n-th
// parameter of a function, the method of a call.
type named struct {
	node ast.PositionHolder
	n    int
}

// Of is where a node begins. Of a node that is not in the tree only the line is known.
func (p *Places) Of(node ast.PositionHolder) Place {
	if at, ok := p.nodes[node]; ok {
		return at
	}
	return Place{Line: node.Line()}
}

// Name is where the n-th name stands, from 0, that a statement or function declares; of a
// call it is the method.
func (p *Places) Name(node ast.PositionHolder, n int) Place {
	if at, ok := p.names[named{node, n}]; ok {
		return at
	}
	return p.Of(node)
}

// Locate finds the places of a tree that was parsed from the source.
func Locate(source string, chunk []ast.Stmt) *Places {
	l := &locator{Places: &Places{nodes: map[ast.PositionHolder]Place{}, names: map[named]Place{}}}
	scanner, lexer := parse.NewScanner(strings.NewReader(source), ""), &parse.Lexer{}
	for {
		token, err := scanner.Scan(lexer)
		if err != nil || token.Type == parse.EOF {
			break
		}
		l.tokens = append(l.tokens, token)
	}
	l.stmts(chunk)
	return l.Places
}

type locator struct {
	*Places
	tokens []ast.Token
	next   int
	lost   bool // source and tree do not go together; nothing more is recorded
}

var leaves = []int{parse.TIdent, parse.TString, parse.TNumber, parse.TTrue, parse.TFalse, parse.TNil, parse.T3Comma}

func isLeaf(t ast.Token) bool { return slices.Contains(leaves, t.Type) }

func placeOf(t ast.Token) Place { return Place{Word: t.Str, Line: t.Pos.Line, Column: t.Pos.Column} }

// leaf takes the next name or constant.
func (l *locator) leaf(text string) (Place, bool) {
	for ; !l.lost && l.next < len(l.tokens); l.next++ {
		if t := l.tokens[l.next]; isLeaf(t) {
			if t.Str != text {
				break
			}
			l.next++
			return placeOf(t), true
		}
	}
	l.lost = true
	return Place{}, false
}

// word takes a keyword or sign that stands before the next leaf. When there is none
// the place is that of what comes next.
func (l *locator) word(node ast.PositionHolder, words ...string) {
	if l.lost {
		return
	}
	for i := l.next; i < len(l.tokens); i++ {
		t := l.tokens[i]
		if !isLeaf(t) && slices.Contains(words, t.Str) {
			l.nodes[node], l.next = placeOf(t), i+1
			return
		}
		if isLeaf(t) {
			l.nodes[node] = placeOf(t)
			return
		}
	}
}

func (l *locator) name(node ast.PositionHolder, n int, text string) {
	if at, ok := l.leaf(text); ok {
		l.names[named{node, n}] = at
	}
}

func (l *locator) constant(node ast.PositionHolder, text string) {
	if at, ok := l.leaf(text); ok {
		l.nodes[node] = at
	}
}

// like gives a node the place of its first part.
func (l *locator) like(node, part ast.PositionHolder) {
	if at, ok := l.nodes[part]; ok {
		l.nodes[node] = at
	}
}

func (l *locator) stmts(list []ast.Stmt) {
	for _, s := range list {
		l.stmt(s)
	}
}

func (l *locator) exprs(list []ast.Expr) {
	for _, e := range list {
		l.expr(e)
	}
}

func (l *locator) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		l.exprs(s.Lhs)
		l.exprs(s.Rhs)
		l.like(s, s.Lhs[0])
	case *ast.LocalAssignStmt:
		l.local(s)
	case *ast.FuncCallStmt:
		l.expr(s.Expr)
		l.like(s, s.Expr)
	case *ast.DoBlockStmt:
		l.word(s, "do")
		l.stmts(s.Stmts)
	case *ast.WhileStmt:
		l.word(s, "while")
		l.expr(s.Condition)
		l.stmts(s.Stmts)
	case *ast.RepeatStmt:
		l.word(s, "repeat")
		l.stmts(s.Stmts)
		l.expr(s.Condition)
	case *ast.IfStmt:
		l.word(s, "if", "elseif")
		l.expr(s.Condition)
		l.stmts(s.Then)
		l.stmts(s.Else)
	case *ast.NumberForStmt:
		l.word(s, "for")
		l.name(s, 0, s.Name)
		l.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
		l.stmts(s.Stmts)
	case *ast.GenericForStmt:
		l.word(s, "for")
		for i, n := range s.Names {
			l.name(s, i, n)
		}
		l.exprs(s.Exprs)
		l.stmts(s.Stmts)
	case *ast.FuncDefStmt:
		l.defined(s)
	default:
		l.leaving(s)
	}
}

// leaving locates what goes elsewhere.
func (l *locator) leaving(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		l.word(s, "return")
		l.exprs(s.Exprs)
	case *ast.BreakStmt:
		l.word(s, "break")
	case *ast.GotoStmt:
		l.word(s, "goto")
		l.name(s, 0, s.Label)
	case *ast.LabelStmt:
		l.word(s, "::")
		l.name(s, 0, s.Name)
	}
}

func (l *locator) local(s *ast.LocalAssignStmt) {
	l.word(s, "local")
	if l.next < len(l.tokens) && l.tokens[l.next].Type == parse.TFunction && len(s.Exprs) == 1 { // local function f
		if fn, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
			l.word(fn, "function")
			l.name(s, 0, s.Names[0])
			l.body(fn)
			return
		}
	}
	for i, n := range s.Names {
		l.name(s, i, n)
	}
	l.exprs(s.Exprs)
}

func (l *locator) defined(s *ast.FuncDefStmt) {
	l.word(s, "function")
	l.like(s.Func, s)
	if s.Name.Func == nil {
		l.expr(s.Name.Receiver)
		l.name(s, 0, s.Name.Method)
	} else {
		l.expr(s.Name.Func)
	}
	l.body(s.Func)
}

func (l *locator) body(fn *ast.FunctionExpr) {
	for i, n := range fn.ParList.Names {
		l.name(fn, i, n)
	}
	if fn.ParList.HasVargs {
		l.leaf("...")
	}
	l.stmts(fn.Stmts)
}

func (l *locator) expr(e ast.Expr) {
	switch e := e.(type) {
	case nil:
	case *ast.TrueExpr:
		l.constant(e, "true")
	case *ast.FalseExpr:
		l.constant(e, "false")
	case *ast.NilExpr:
		l.constant(e, "nil")
	case *ast.NumberExpr:
		l.constant(e, e.Value)
	case *ast.StringExpr:
		l.constant(e, e.Value)
	case *ast.Comma3Expr:
		l.constant(e, "...")
	case *ast.IdentExpr:
		l.constant(e, e.Value)
	case *ast.AttrGetExpr:
		l.exprs([]ast.Expr{e.Object, e.Key})
		l.like(e, e.Object)
	case *ast.FuncCallExpr:
		l.called(e)
	case *ast.TableExpr:
		l.word(e, "{")
		for _, f := range e.Fields {
			l.exprs([]ast.Expr{f.Key, f.Value})
		}
	case *ast.FunctionExpr:
		l.word(e, "function")
		l.body(e)
	default:
		l.operator(e)
	}
}

func (l *locator) called(e *ast.FuncCallExpr) {
	if e.Method != "" {
		l.expr(e.Receiver)
		l.like(e, e.Receiver)
		l.name(e, 0, e.Method)
	} else {
		l.expr(e.Func)
		l.like(e, e.Func)
	}
	l.exprs(e.Args)
}

func (l *locator) operator(e ast.Expr) {
	switch e.(type) {
	case *ast.UnaryMinusOpExpr:
		l.word(e, "-")
	case *ast.UnaryNotOpExpr:
		l.word(e, "not")
	case *ast.UnaryLenOpExpr:
		l.word(e, "#")
	}
	parts := operands(e)
	l.exprs(parts)
	if _, known := l.nodes[e]; !known && len(parts) > 0 {
		l.like(e, parts[0])
	}
}
