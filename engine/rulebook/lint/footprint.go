package lint

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/rulebook/declaration"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/syntax"
)

// footprint holds what a script was seen to do to what it declares.
func (f *file) footprint() {
	if f.header == nil || !f.header.Whole || f.header.table == nil || len(f.header.Kinds) == 0 {
		return
	}
	f.computed()
	for _, m := range f.done.tags {
		if !slices.Contains(f.header.Writes, m.name) && m.name != "FLID" {
			f.say(diagnostic.UndeclaredTag, m.at, `writes = { "`+strings.Join(append(slices.Clone(f.header.Writes), m.name), `", "`)+`" }`, "%s is written and not declared in writes", m.name)
		}
	}
	for _, m := range f.done.ops {
		if !slices.Contains(f.header.Ops, m.name) {
			f.say(diagnostic.UndeclaredOp, m.at, `add "`+m.name+`" to ops`, "the operation %s is not declared in ops: the script declares %s", m.name, list(f.header.Ops))
		}
	}
	f.unwritten()
	f.references()
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// computed notes tables that are written under computed names: what they hold is
// not known.
func (f *file) computed() {
	syntax.Inspect(f.chunk, func(node ast.PositionHolder, _ []ast.PositionHolder) bool {
		s, ok := node.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for _, target := range s.Lhs {
			if a, ok := target.(*ast.AttrGetExpr); ok && !position(a.Key) {
				if _, constant := a.Key.(*ast.StringExpr); !constant && !f.setOf(a) {
					f.done.open, f.done.anyOp = true, true
				}
			}
		}
		return true
	})
}

// setOf tells seen[flid] = true: a set, which is no part of a decision.
func (f *file) setOf(a *ast.AttrGetExpr) bool {
	t := f.typeOf(a.Key)
	return t.what == aScalar && t.field == identifier
}

// position tells t[#t + 1] and t[1].
func position(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.NumberExpr, *ast.UnaryLenOpExpr:
		return true
	case *ast.ArithmeticOpExpr:
		return position(e.Lhs) || position(e.Rhs)
	}
	return false
}

// unwritten finds declarations that nothing makes use of: names that occur nowhere else.
func (f *file) unwritten() {
	if f.done.open {
		return
	}
	writes, ops := f.header.value.Field("writes"), f.header.value.Field("ops")
	declared := map[place]bool{}
	for _, v := range slices.Concat(writes.List, ops.List) {
		declared[v.At] = true
	}
	mentioned := map[string]bool{}
	syntax.Inspect(f.chunk, func(node ast.PositionHolder, _ []ast.PositionHolder) bool {
		if text, ok := node.(*ast.StringExpr); ok && !declared[f.at(text)] {
			mentioned[text.Value] = true
		}
		return true
	})
	for _, m := range f.done.ops {
		mentioned[m.name] = true
	}
	for _, v := range writes.List {
		if slices.Contains(f.cat.Tags(), v.Text) && !mentioned[v.Text] {
			f.say(diagnostic.UnwrittenTag, v.At, "", "%s is declared in writes and nothing writes it", v.Text)
		}
	}
	for _, v := range ops.List {
		if slices.Contains(declaration.Ops, v.Text) && !mentioned[v.Text] && !f.done.anyOp {
			f.say(diagnostic.UnusedOp, v.At, "", "%s is declared in ops and nothing does it", v.Text)
		}
	}
}

// references holds what is read of view.refs to reads.
func (f *file) references() {
	read, whole := map[string]bool{}, false
	syntax.Inspect(f.chunk, func(node ast.PositionHolder, path []ast.PositionHolder) bool {
		a, ok := node.(*ast.AttrGetExpr)
		if !ok {
			return true
		}
		key, constant := a.Key.(*ast.StringExpr)
		if constant && key.Value == "refs" && !directly(path) {
			whole = true // all of view.refs is handed on
		}
		if f.typeOf(a.Object).what != theRefs {
			return true
		}
		switch {
		case !constant:
			whole = true
		case !read[key.Value]:
			read[key.Value] = true
			if _, known := f.cat.Reference(key.Value); known && !slices.Contains(f.header.Reads, key.Value) {
				f.say(diagnostic.UndeclaredRead, f.at(key), `add "`+key.Value+`" to reads`, "view.refs.%s is read and not declared in reads", key.Value)
			}
		}
		return true
	})
	if whole || f.viewHandedOn() {
		return
	}
	for _, v := range f.header.value.Field("reads").List {
		if _, known := f.cat.Reference(v.Text); known && !read[v.Text] {
			f.say(diagnostic.UnusedRead, v.At, "", "%s is declared in reads and nothing looks at view.refs.%s", v.Text, v.Text)
		}
	}
}

// directly tells that a field of what is visited is read: view.refs.SLST.
func directly(path []ast.PositionHolder) bool {
	if len(path) == 0 {
		return false
	}
	_, field := path[len(path)-1].(*ast.AttrGetExpr)
	return field
}

// viewHandedOn tells that somebody else may look at view.refs.
func (f *file) viewHandedOn() bool {
	handed := false
	f.each(func(c *ast.FuncCallExpr, _ []ast.PositionHolder) {
		lib, name := f.call(c)
		if lib == "merge" && (name == "flop" || name == "schedule") {
			return
		}
		for _, a := range c.Args {
			handed = handed || f.typeOf(a).what == aView
		}
	})
	return handed
}
