// Package syntax shows parts of a Lua syntax tree as text, and finds the columns
// that the tree itself does not keep.
package syntax

import (
	"fmt"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// Place is where a word of the source stands, counted from 1.
type Place struct {
	Word         string
	Line, Column int
}

// Words finds the places of the given keywords and operators, in the order of the
// source. Text in comments and strings is none.
func Words(source string, words ...string) []Place {
	wanted := map[string]bool{}
	for _, w := range words {
		wanted[w] = true
	}
	var out []Place
	scanner, lexer := parse.NewScanner(strings.NewReader(source), ""), &parse.Lexer{}
	for {
		token, err := scanner.Scan(lexer)
		if err != nil || token.Type == parse.EOF {
			return out
		}
		if token.Type != parse.TString && wanted[token.Str] {
			out = append(out, Place{token.Str, token.Pos.Line, token.Pos.Column})
		}
	}
}

// How tightly an expression binds; a looser part of a tighter whole stands in parentheses.
const (
	orLevel = iota + 1
	andLevel
	compareLevel
	concatLevel
	addLevel
	multiplyLevel
	unaryLevel
	powerLevel
	tightest
)

var arithmetic = map[string]int{"+": addLevel, "-": addLevel, "*": multiplyLevel, "/": multiplyLevel, "%": multiplyLevel, "^": powerLevel}

func level(e ast.Expr) int {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		if e.Operator == "or" {
			return orLevel
		}
		return andLevel
	case *ast.RelationalOpExpr:
		return compareLevel
	case *ast.StringConcatOpExpr:
		return concatLevel
	case *ast.ArithmeticOpExpr:
		return arithmetic[e.Operator]
	case *ast.UnaryMinusOpExpr, *ast.UnaryNotOpExpr, *ast.UnaryLenOpExpr:
		return unaryLevel
	}
	return tightest
}

// Expr shows an expression on one line. The bodies of functions are left out.
func Expr(e ast.Expr) string {
	switch e := e.(type) {
	case nil:
		return ""
	case *ast.TrueExpr:
		return "true"
	case *ast.FalseExpr:
		return "false"
	case *ast.NilExpr:
		return "nil"
	case *ast.NumberExpr:
		return e.Value
	case *ast.StringExpr:
		return Quote(e.Value)
	case *ast.Comma3Expr:
		return "..."
	case *ast.IdentExpr:
		return e.Value
	case *ast.AttrGetExpr:
		if name, ok := e.Key.(*ast.StringExpr); ok && isName(name.Value) {
			return prefix(e.Object) + "." + name.Value
		}
		return prefix(e.Object) + "[" + Expr(e.Key) + "]"
	case *ast.TableExpr:
		return table(e)
	case *ast.FuncCallExpr:
		if e.Method != "" {
			return prefix(e.Receiver) + ":" + e.Method + "(" + List(e.Args) + ")"
		}
		return prefix(e.Func) + "(" + List(e.Args) + ")"
	case *ast.FunctionExpr:
		return "function(" + Parameters(e) + ") … end"
	}
	return operator(e)
}

func operator(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		return binary(e, e.Lhs, e.Operator, e.Rhs)
	case *ast.RelationalOpExpr:
		return binary(e, e.Lhs, e.Operator, e.Rhs)
	case *ast.ArithmeticOpExpr:
		return binary(e, e.Lhs, e.Operator, e.Rhs)
	case *ast.StringConcatOpExpr:
		return within(e.Lhs, concatLevel+1) + " .. " + within(e.Rhs, concatLevel)
	case *ast.UnaryMinusOpExpr:
		return "-" + within(e.Expr, unaryLevel)
	case *ast.UnaryNotOpExpr:
		return "not " + within(e.Expr, unaryLevel)
	case *ast.UnaryLenOpExpr:
		return "#" + within(e.Expr, unaryLevel)
	}
	return fmt.Sprintf("(%T)", e)
}

func binary(e, left ast.Expr, op string, right ast.Expr) string {
	l := level(e)
	if op == "^" { // binds to the right
		return within(left, l+1) + " ^ " + within(right, l)
	}
	return within(left, l) + " " + op + " " + within(right, l+1)
}

func within(e ast.Expr, least int) string {
	if level(e) < least {
		return "(" + Expr(e) + ")"
	}
	return Expr(e)
}

// prefix shows what is indexed or called.
func prefix(e ast.Expr) string {
	switch e.(type) {
	case *ast.IdentExpr, *ast.AttrGetExpr, *ast.FuncCallExpr:
		return Expr(e)
	}
	return "(" + Expr(e) + ")"
}

func table(e *ast.TableExpr) string {
	if len(e.Fields) == 0 {
		return "{}"
	}
	fields := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		switch key := f.Key.(type) {
		case nil:
			fields[i] = Expr(f.Value)
		case *ast.StringExpr:
			if isName(key.Value) {
				fields[i] = key.Value + " = " + Expr(f.Value)
				continue
			}
			fields[i] = "[" + Expr(key) + "] = " + Expr(f.Value)
		default:
			fields[i] = "[" + Expr(key) + "] = " + Expr(f.Value)
		}
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}

// List shows expressions side by side.
func List(list []ast.Expr) string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = Expr(e)
	}
	return strings.Join(out, ", ")
}

// Parameters shows what a function takes.
func Parameters(f *ast.FunctionExpr) string {
	names := append([]string{}, f.ParList.Names...)
	if f.ParList.HasVargs {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// Stmt shows a statement on one line; the bodies of blocks are left out.
func Stmt(s ast.Stmt) string {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return List(s.Lhs) + " = " + List(s.Rhs)
	case *ast.LocalAssignStmt:
		if len(s.Exprs) == 0 {
			return "local " + strings.Join(s.Names, ", ")
		}
		return "local " + strings.Join(s.Names, ", ") + " = " + List(s.Exprs)
	case *ast.FuncCallStmt:
		return Expr(s.Expr)
	case *ast.DoBlockStmt:
		return "do … end"
	case *ast.WhileStmt:
		return "while " + Expr(s.Condition) + " do … end"
	case *ast.RepeatStmt:
		return "repeat … until " + Expr(s.Condition)
	case *ast.IfStmt:
		return "if " + Expr(s.Condition) + " then … end"
	case *ast.NumberForStmt:
		return For(s) + " do … end"
	case *ast.GenericForStmt:
		return For(s) + " do … end"
	case *ast.FuncDefStmt:
		return "function " + Name(s.Name) + "(" + Parameters(s.Func) + ") … end"
	case *ast.ReturnStmt:
		return strings.TrimSpace("return " + List(s.Exprs))
	case *ast.BreakStmt:
		return "break"
	case *ast.GotoStmt:
		return "goto " + s.Label
	case *ast.LabelStmt:
		return "::" + s.Name + "::"
	}
	return fmt.Sprintf("(%T)", s)
}

// For shows the head of a for loop.
func For(s ast.Stmt) string {
	switch s := s.(type) {
	case *ast.NumberForStmt:
		head := "for " + s.Name + " = " + Expr(s.Init) + ", " + Expr(s.Limit)
		if s.Step != nil {
			head += ", " + Expr(s.Step)
		}
		return head
	case *ast.GenericForStmt:
		return "for " + strings.Join(s.Names, ", ") + " in " + List(s.Exprs)
	}
	return ""
}

// Name shows the name that a function is defined under.
func Name(n *ast.FuncName) string {
	if n.Func == nil {
		return Expr(n.Receiver) + ":" + n.Method
	}
	return Expr(n.Func)
}

// Quote shows a string as Lua reads it.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

var reserved = " and break do else elseif end false for function if in local nil not or return repeat then true until while goto "

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && !strings.Contains(reserved, " "+s+" ")
}
