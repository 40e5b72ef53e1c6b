package lint

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/catalogue"
)

// typ is what an expression is known to be; the zero typ is unknown.
type typ struct {
	what  what
	tag   string           // of an element: its tag; of reference data: its type
	field *catalogue.Field // of a scalar
	clear bool             // it may be CLEAR: it comes from a record of the message
}

type what int

const (
	unknown what = iota
	aView
	theFlights
	aFlight
	theSettings
	theRefs
	refsOfType
	aReference
	aMessage
	aMeta
	theRecords
	aRecord
	theMembers
	aMember
	aScalar // a value of the catalogue
	anObject
	aList
	anEntry
	aText // of the host, such as msg.kind
	aNumber
)

var described = map[what]string{
	aView: "view", theFlights: "view.flights", aFlight: "a flight", theSettings: "view.settings", theRefs: "view.refs",
	refsOfType: "reference data", aReference: "a reference record", aMessage: "msg", aMeta: "msg.meta", theRecords: "msg.records",
	aRecord: "a record of msg", theMembers: "MAFL", aMember: "an entry of MAFL", anObject: "an object", aList: "a list", anEntry: "an entry",
}

// String names the type in a message.
func (t typ) String() string {
	switch t.what {
	case anObject:
		return t.tag
	case aList:
		return t.tag
	case anEntry:
		return "an entry of " + t.tag
	}
	return described[t.what]
}

// isTable tells what the host hands out as a read-only table.
func (t typ) isTable() bool {
	return t.what != unknown && t.what != aScalar && t.what != aText && t.what != aNumber
}

// typeOf is what an expression is. Chains of fields are asked for each of their parts: the
// answer is kept, unless it came while a variable was still being found out.
func (f *file) typeOf(e ast.Expr) typ {
	if t, known := f.asked[e]; known {
		return t
	}
	t := f.infer(e)
	if t.what != unknown || len(f.busy) == 0 {
		f.asked[e] = t
	}
	return t
}

func (f *file) infer(e ast.Expr) typ {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if v := f.scope.vars[e]; v != nil {
			return f.typeOfVariable(v)
		}
	case *ast.AttrGetExpr:
		t := f.typeOf(e.Object)
		if key, ok := e.Key.(*ast.StringExpr); ok && t.what != theFlights && t.what != refsOfType {
			return f.member(t, key.Value)
		}
		return element(t)
	case *ast.LogicalOpExpr:
		right := f.typeOf(e.Rhs)
		if e.Operator == "and" {
			return right
		}
		left := f.typeOf(e.Lhs)
		if table, ok := e.Rhs.(*ast.TableExpr); left == right || ok && len(table.Fields) == 0 {
			return left
		}
	}
	return typ{}
}

// element is what a table of many holds.
func element(t typ) typ {
	switch t.what {
	case theFlights:
		return typ{what: aFlight}
	case theRecords:
		return typ{what: aRecord}
	case theMembers:
		return typ{what: aMember}
	case theRefs:
		return typ{what: refsOfType}
	case refsOfType:
		return typ{what: aReference}
	case aList:
		return typ{what: anEntry, tag: t.tag}
	}
	return typ{}
}

func (f *file) typeOfVariable(v *variable) typ {
	if v.writes > 0 || f.busy[v] {
		return typ{}
	}
	if t, known := f.types[v]; known {
		return t
	}
	f.busy[v] = true
	defer delete(f.busy, v)
	var t typ
	switch {
	case v.param:
		t = f.typeOfParameter(v)
	case v.loop != nil:
		t = f.typeOfLoop(v)
	case v.value != nil:
		t = f.typeOf(v.value)
	}
	f.types[v] = t
	return t
}

// typeOfParameter knows decide(view, msg), and functions that take both under these
// names. Of a local function it asks all who call it.
func (f *file) typeOfParameter(v *variable) typ {
	fn := v.owner
	if f.decides(fn) {
		return [...]typ{{what: aView}, {what: aMessage}}[min(v.n, 1)]
	}
	if f.takesBoth(fn) && (v.name == "view" || v.name == "msg") {
		if v.name == "view" {
			return typ{what: aView}
		}
		return typ{what: aMessage}
	}
	if fn.name == nil || v.n < 0 || fn.name.writes > 0 || len(fn.name.reads) == 0 {
		return typ{}
	}
	calls := f.callsOf(fn.name)
	if len(calls) != len(fn.name.reads) { // it is also handed on
		return typ{}
	}
	var t typ
	for i, c := range calls {
		if v.n >= len(c.Args) {
			return typ{}
		}
		if got := f.typeOf(c.Args[v.n]); i == 0 {
			t = got
		} else if got != t {
			return typ{}
		}
	}
	return t
}

// decides tells the decide function of a script.
func (f *file) decides(fn *function) bool {
	return f.header != nil && fn.node != nil && f.header.decide == fn.node && len(fn.params) <= 2
}

// takesBoth tells a function that is handed a whole message.
func (f *file) takesBoth(fn *function) bool {
	named := func(name string) bool {
		return slices.ContainsFunc(fn.params, func(v *variable) bool { return v.name == name })
	}
	return fn.node != nil && named("view") && named("msg")
}

// callsOf finds the calls of a local function, in the order of the source.
func (f *file) callsOf(v *variable) []*ast.FuncCallExpr {
	if f.calls == nil {
		f.calls = map[*variable][]*ast.FuncCallExpr{}
		f.each(func(c *ast.FuncCallExpr, _ []ast.PositionHolder) {
			if id, ok := c.Func.(*ast.IdentExpr); ok && f.scope.vars[id] != nil {
				f.calls[f.scope.vars[id]] = append(f.calls[f.scope.vars[id]], c)
			}
		})
	}
	return f.calls[v]
}

// typeOfLoop knows for _, x in ipairs(list) and pairs.
func (f *file) typeOfLoop(v *variable) typ {
	if len(v.loop.Exprs) != 1 {
		return typ{}
	}
	call, ok := v.loop.Exprs[0].(*ast.FuncCallExpr)
	if !ok || len(call.Args) != 1 || !f.scope.global(call.Func, "ipairs") && !f.scope.global(call.Func, "pairs") {
		return typ{}
	}
	t := f.typeOf(call.Args[0])
	if v.n == 1 {
		return element(t)
	}
	if v.n == 0 && f.scope.global(call.Func, "ipairs") {
		return typ{what: aNumber}
	}
	return typ{}
}
