package lint

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/catalogue"
	"msgx/engine/message"
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

// typeOf is what an expression is.
func (f *file) typeOf(e ast.Expr) typ {
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

var (
	identifier = &catalogue.Field{Tag: "FLID", Type: catalogue.ID}
	flightCode = &catalogue.Field{Tag: "FLNO", Type: catalogue.Code, MaxLen: 12}
	status     = &catalogue.Field{Tag: "state", Type: catalogue.Flag, Flags: []string{"ACTIVE", "DELETED"}}
	absent     = &catalogue.Field{Tag: "absent_optional", Type: catalogue.Flag, Flags: []string{"keep", "clear"}}
	day        = &catalogue.Field{Tag: "operation_day", Type: catalogue.Date}
)

// member is what a field of a table of the host is; unknown when there is no such field.
func (f *file) member(t typ, name string) typ {
	switch t.what {
	case aView:
		return map[string]typ{"flights": {what: theFlights}, "settings": {what: theSettings}, "refs": {what: theRefs}}[name]
	case theSettings:
		return map[string]typ{"absent_optional": {what: aScalar, field: absent}}[name]
	case theRefs:
		return typ{what: refsOfType, tag: name}
	case aMessage:
		return map[string]typ{"kind": {what: aText}, "meta": {what: aMeta}, "recs": {what: aNumber}, "records": {what: theRecords}}[name]
	case aMeta:
		if slices.Contains(f.names(t), name) {
			return typ{what: aText}
		}
	case aMember:
		return map[string]typ{"FLID": {what: aScalar, field: identifier}, "FLNO": {what: aScalar, field: flightCode}}[name]
	case aFlight:
		known := map[string]typ{"flid": {what: aScalar, field: identifier}, "state": {what: aScalar, field: status}, "version": {what: aNumber},
			"operation_day": {what: aScalar, field: day}, "MAFL": {what: theMembers}}
		if m, ok := known[name]; ok {
			return m
		}
		return f.element(name, false)
	case aRecord:
		known := map[string]typ{"flid": {what: aScalar, field: identifier}, "ffid": {what: aText}, "key": {what: aText}, "value": {what: aReference}}
		if m, ok := known[name]; ok && slices.Contains(f.names(t), name) {
			return m
		}
		return f.element(name, true)
	case anObject, anEntry:
		if part, ok := catalogue.PartOf(f.parts(t.tag), name); ok {
			return typ{what: aScalar, field: part}
		}
		if strings.Contains(" "+strings.Join(f.nested(t.tag), " ")+" ", " "+name+" ") {
			return typ{what: aList, tag: name}
		}
	}
	return typ{}
}

// element is a tag of a flight.
func (f *file) element(tag string, fromRecord bool) typ {
	if field, ok := f.cat.Scalar(tag); ok {
		return typ{what: aScalar, field: field, clear: fromRecord}
	}
	if _, ok := f.cat.Object(tag); ok {
		return typ{what: anObject, tag: tag, clear: fromRecord}
	}
	if _, ok := f.cat.List(tag); ok {
		return typ{what: aList, tag: tag, clear: fromRecord}
	}
	return typ{}
}

// parts are the values of an object or of an entry of a list.
func (f *file) parts(tag string) []catalogue.Field {
	if o, ok := f.cat.Object(tag); ok {
		return o.Parts
	}
	if l := listNamed(f.cat.Flight.Lists, tag); l != nil {
		return l.Fields
	}
	return nil
}

func (f *file) nested(tag string) []string {
	var out []string
	if l := listNamed(f.cat.Flight.Lists, tag); l != nil {
		for _, n := range l.Lists {
			out = append(out, n.Tag)
		}
	}
	return out
}

func listNamed(lists []catalogue.List, tag string) *catalogue.List {
	for i := range lists {
		if lists[i].Tag == tag {
			return &lists[i]
		}
		if l := listNamed(lists[i].Lists, tag); l != nil {
			return l
		}
	}
	return nil
}

// names lists the fields of a table of the host; nil when any name may be there.
func (f *file) names(t typ) []string {
	switch t.what {
	case aView:
		return []string{"flights", "refs", "settings"}
	case theSettings:
		return []string{"absent_optional"}
	case aMessage:
		return []string{"kind", "meta", "recs", "records"}
	case aMeta:
		var out []string
		for _, m := range f.cat.Meta {
			out = append(out, strings.ToLower(m.Tag))
		}
		return out
	case aMember:
		return []string{"FLID", "FLNO"}
	case aFlight:
		return append([]string{"flid", "state", "version", "operation_day", "MAFL"}, f.cat.Tags()...)
	case aRecord:
		return f.recordNames()
	case anObject, anEntry:
		var out []string
		for _, p := range f.parts(t.tag) {
			out = append(out, p.Tag)
		}
		return append(out, f.nested(t.tag)...)
	}
	return nil
}

// recordNames are the fields of a record: of a flight, or of reference data, or of both where
// the kind is not known.
func (f *file) recordNames() []string {
	flights, references := f.families()
	var out []string
	if flights {
		out = append(append(out, "flid", "ffid"), f.cat.Tags()...)
		for _, k := range f.cat.Kinds {
			out = append(out, k.Elements...)
		}
	}
	if references {
		out = append(out, "key", "value")
	}
	return out
}

// families tells which records the file may see.
func (f *file) families() (flights, references bool) {
	kinds := f.served()
	if len(kinds) == 0 {
		return true, true
	}
	for _, k := range kinds {
		flights = flights || k.Family != message.Reference
		references = references || k.Family == message.Reference
	}
	return flights, references
}
