package lint

import (
	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/rulebook/syntax"
)

// filled is how the tables that variables hold are filled after they were made.
type filled struct {
	fields  map[*variable][]fieldWrite
	inserts map[*variable][]ast.Expr // through table.insert
}

// fieldWrite is t.x = value, or t[i] = value. The value is the target itself when it cannot be
// told apart from others.
type fieldWrite struct {
	target *ast.AttrGetExpr
	value  ast.Expr
}

// fill reads the file once for all who ask.
func (f *file) fill() *filled {
	if f.filled != nil {
		return f.filled
	}
	f.filled = &filled{fields: map[*variable][]fieldWrite{}, inserts: map[*variable][]ast.Expr{}}
	syntax.Inspect(f.chunk, func(node ast.PositionHolder, _ []ast.PositionHolder) bool {
		switch node := node.(type) {
		case *ast.FuncCallExpr:
			if lib, name := f.nativeCall(node); lib == "table" && name == "insert" && len(node.Args) > 1 {
				if v := f.variable(node.Args[0]); v != nil {
					f.filled.inserts[v] = append(f.filled.inserts[v], node.Args[len(node.Args)-1])
				}
			}
		case *ast.AssignStmt:
			for i, target := range node.Lhs {
				a, ok := target.(*ast.AttrGetExpr)
				if !ok {
					continue
				}
				w := fieldWrite{target: a, value: a}
				if len(node.Rhs) == len(node.Lhs) {
					w.value = node.Rhs[i]
				}
				if v := f.variable(a.Object); v != nil {
					f.filled.fields[v] = append(f.filled.fields[v], w)
				}
			}
		}
		return true
	})
	return f.filled
}

// variable is what a name means, nil for anything else.
func (f *file) variable(e ast.Expr) *variable {
	id, ok := e.(*ast.IdentExpr)
	if !ok {
		return nil
	}
	return f.scope.vars[id]
}
