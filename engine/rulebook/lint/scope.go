package lint

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// variable is a local, a parameter or the variable of a loop.
type variable struct {
	name  string
	at    place
	owner *function
	param bool
	self  bool // the receiver that function a:b() … has without naming it
	// value is what it was declared with, when that is one expression of its own.
	value ast.Expr
	loop  *ast.GenericForStmt // whose variable it is
	n     int                 // its position among the names of the loop or the parameters
	reads []*ast.IdentExpr
	// writes counts assignments after the declaration.
	writes int
	hides  *variable
}

// function is a function of the source, or the file as a whole.
type function struct {
	node   *ast.FunctionExpr // nil for the file
	outer  *function
	params []*variable
	name   *variable // the local that holds it, if any
}

// inside tells whether a function is f or stands in it.
func (f *function) inside(other *function) bool {
	for ; f != nil; f = f.outer {
		if f == other {
			return true
		}
	}
	return false
}

// scope says what the names of a file mean.
type scope struct {
	src       *source
	vars      map[*ast.IdentExpr]*variable // without those that name a global
	all       []*variable
	functions map[*ast.FunctionExpr]*function
	within    map[ast.PositionHolder]*function // of statements and calls
	file      *function

	blocks []map[string]*variable
	now    *function
}

func resolve(src *source) *scope {
	s := &scope{
		src: src, vars: map[*ast.IdentExpr]*variable{}, functions: map[*ast.FunctionExpr]*function{},
		within: map[ast.PositionHolder]*function{}, file: &function{},
	}
	s.now = s.file
	s.block(src.chunk)
	return s
}

func (s *scope) look(name string) *variable {
	for _, b := range slices.Backward(s.blocks) {
		if v := b[name]; v != nil {
			return v
		}
	}
	return nil
}

func (s *scope) declare(v *variable) *variable {
	v.owner, v.hides = s.now, s.look(v.name)
	s.blocks[len(s.blocks)-1][v.name] = v
	s.all = append(s.all, v)
	return v
}

func (s *scope) open()  { s.blocks = append(s.blocks, map[string]*variable{}) }
func (s *scope) close() { s.blocks = s.blocks[:len(s.blocks)-1] }

func (s *scope) block(list []ast.Stmt) {
	s.open()
	s.stmts(list)
	s.close()
}

func (s *scope) stmts(list []ast.Stmt) {
	for _, st := range list {
		s.within[st] = s.now
		s.stmt(st)
	}
}

func (s *scope) exprs(list ...ast.Expr) {
	for _, e := range list {
		s.expr(e)
	}
}

func (s *scope) stmt(st ast.Stmt) {
	switch st := st.(type) {
	case *ast.AssignStmt:
		s.exprs(st.Rhs...)
		for _, target := range st.Lhs {
			s.target(target)
		}
	case *ast.LocalAssignStmt:
		s.local(st)
	case *ast.FuncCallStmt:
		s.expr(st.Expr)
	case *ast.DoBlockStmt:
		s.block(st.Stmts)
	case *ast.WhileStmt:
		s.expr(st.Condition)
		s.block(st.Stmts)
	case *ast.RepeatStmt:
		s.open()
		s.stmts(st.Stmts)
		s.expr(st.Condition)
		s.close()
	case *ast.IfStmt:
		s.expr(st.Condition)
		s.block(st.Then)
		s.block(st.Else)
	case *ast.NumberForStmt:
		s.exprs(st.Init, st.Limit, st.Step)
		s.open()
		s.declare(&variable{name: st.Name, at: s.src.nameAt(st, 0), n: -1})
		s.stmts(st.Stmts)
		s.close()
	case *ast.GenericForStmt:
		s.exprs(st.Exprs...)
		s.open()
		for i, n := range st.Names {
			s.declare(&variable{name: n, at: s.src.nameAt(st, i), loop: st, n: i})
		}
		s.stmts(st.Stmts)
		s.close()
	case *ast.FuncDefStmt:
		s.defined(st)
	case *ast.ReturnStmt:
		s.exprs(st.Exprs...)
	}
}

func (s *scope) local(st *ast.LocalAssignStmt) {
	if len(st.Names) == 1 && len(st.Exprs) == 1 {
		if fn, ok := st.Exprs[0].(*ast.FunctionExpr); ok { // sees itself
			v := s.declare(&variable{name: st.Names[0], at: s.src.nameAt(st, 0), value: fn})
			s.function(fn, v, false)
			return
		}
	}
	s.exprs(st.Exprs...)
	for i, n := range st.Names {
		v := &variable{name: n, at: s.src.nameAt(st, i)}
		if i < len(st.Exprs) {
			v.value = st.Exprs[i] // of a call, the first value that it yields
		}
		s.declare(v)
	}
}

func (s *scope) target(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if v := s.look(e.Value); v != nil {
			v.writes++
		}
	case *ast.AttrGetExpr:
		s.exprs(e.Object, e.Key)
	}
}

func (s *scope) defined(st *ast.FuncDefStmt) {
	if st.Name.Func == nil {
		s.expr(st.Name.Receiver)
		s.function(st.Func, nil, true)
		return
	}
	s.target(st.Name.Func)
	s.function(st.Func, nil, false)
}

func (s *scope) function(fn *ast.FunctionExpr, name *variable, method bool) {
	f := &function{node: fn, outer: s.now, name: name}
	s.functions[fn] = f
	s.now = f
	s.open()
	if method {
		s.declare(&variable{name: "self", at: s.src.at(fn), param: true, self: true, n: -1})
	}
	for i, n := range fn.ParList.Names {
		f.params = append(f.params, s.declare(&variable{name: n, at: s.src.nameAt(fn, i), param: true, n: i}))
	}
	s.stmts(fn.Stmts)
	s.close()
	s.now = f.outer
}

func (s *scope) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if v := s.look(e.Value); v != nil {
			s.vars[e] = v
			v.reads = append(v.reads, e)
		}
	case *ast.AttrGetExpr:
		s.exprs(e.Object, e.Key)
	case *ast.TableExpr:
		s.within[e] = s.now
		for _, f := range e.Fields {
			s.exprs(f.Key, f.Value)
		}
	case *ast.FuncCallExpr:
		s.within[e] = s.now
		s.exprs(e.Func, e.Receiver)
		s.exprs(e.Args...)
	case *ast.FunctionExpr:
		s.function(e, nil, false)
	case *ast.LogicalOpExpr:
		s.exprs(e.Lhs, e.Rhs)
	case *ast.RelationalOpExpr:
		s.exprs(e.Lhs, e.Rhs)
	case *ast.ArithmeticOpExpr:
		s.exprs(e.Lhs, e.Rhs)
	case *ast.StringConcatOpExpr:
		s.exprs(e.Lhs, e.Rhs)
	case *ast.UnaryMinusOpExpr:
		s.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		s.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		s.expr(e.Expr)
	}
}

// global tells that a name is not one of the file's own.
func (s *scope) global(e ast.Expr, name string) bool {
	id, ok := e.(*ast.IdentExpr)
	return ok && id.Value == name && s.vars[id] == nil
}
