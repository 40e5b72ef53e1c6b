package lint

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/syntax"
)

// effects is what a script was seen to do.
type effects struct {
	tags []mention // that it writes
	ops  []mention
	// open tells that it may write more than was seen.
	open bool
	// anyOp tells that an operation is computed.
	anyOp bool
}

// mention is a tag or an operation where it is written.
type mention struct {
	name string
	at   place
}

// modes looks at the calls of the libraries merge and draft: which tags they name, and
// whether the mode fits.
func (f *file) modes() {
	f.each(func(c *ast.FuncCallExpr, _ []ast.PositionHolder) {
		lib, name := f.call(c)
		switch {
		case lib == "merge":
			f.mergeCall(c, name)
		case lib == "draft":
			f.draftCall(c, name)
		case lib != "":
			f.done.open = true
		default:
			f.otherCall(c)
		}
	})
}

// otherCall asks whether what is called can write: the sandbox cannot, a function of
// this file is looked at itself.
func (f *file) otherCall(c *ast.FuncCallExpr) {
	if c.Method != "" {
		if len(c.Args) > 0 && !isString(c) {
			f.done.open = f.done.open || f.defines(c.Method)
		}
		return
	}
	id, ok := root(c.Func).(*ast.IdentExpr)
	if !ok {
		f.done.open = true
		return
	}
	v := f.scope.vars[id]
	if v == nil { // of the sandbox
		return
	}
	if _, ours := f.local(c.Func).(*ast.FunctionExpr); !ours {
		f.done.open = true
	}
}

func isString(c *ast.FuncCallExpr) bool {
	_, ok := c.Receiver.(*ast.StringExpr)
	return ok
}

func (f *file) mergeCall(c *ast.FuncCallExpr, name string) {
	switch name {
	case "flop":
		f.does("update", f.at(c))
		if len(c.Args) == 3 {
			f.modeTable(c.Args[2])
			return
		}
		f.done.open = true
	case "schedule":
		for _, op := range []string{"create", "update", "revive"} {
			f.does(op, f.at(c))
		}
		f.done.open = true
		if len(c.Args) == 3 {
			f.schedule(c.Args[2])
		}
	case "by_key", "set_only":
	case "value", "replace":
		if len(c.Args) == 3 {
			f.tagged(c.Args[1], c.Func)
			return
		}
		f.done.open = true
	default:
		f.done.open = true
	}
}

// modeTable looks at { GTDT = merge.replace }.
func (f *file) modeTable(e ast.Expr) {
	t := f.tableOf(e)
	if t == nil {
		f.done.open = true
		return
	}
	for _, field := range t.Fields {
		key, ok := field.Key.(*ast.StringExpr)
		if !ok {
			f.done.open = true
			continue
		}
		if f.writesTag(key.Value, f.at(key)) {
			f.carried(key.Value, f.at(key))
			f.fits(key.Value, field.Value)
		}
	}
}

// schedule looks at { value = …, list = …, absent = … }.
func (f *file) schedule(e ast.Expr) {
	t := f.tableOf(e)
	if t == nil {
		return
	}
	known := []string{"value", "list", "absent"}
	for _, field := range t.Fields {
		key, ok := field.Key.(*ast.StringExpr)
		if !ok {
			continue
		}
		if !slices.Contains(known, key.Value) {
			f.say(diagnostic.UnknownField, f.at(key), write(key.Value, known), "merge.schedule takes no %s%s", key.Value, diagnostic.Perhaps(key.Value, known))
			continue
		}
		list := f.listMode(field.Value)
		if key.Value == "value" && list == forLists || key.Value == "list" && list == forValues {
			f.say(diagnostic.WrongSection, f.at(field.Value), "", "%s is not a mode for %ss", syntax.Expr(field.Value), key.Value)
		}
		if text, ok := f.local(field.Value).(*ast.StringExpr); ok && key.Value == "absent" && !slices.Contains(absent.Flags, text.Value) {
			f.say(diagnostic.NotAFlag, f.at(field.Value), "write keep or clear", "absent is never %q", text.Value)
		}
	}
}

// forWhat says what a mode can be used for.
type forWhat int

const (
	forAnything forWhat = iota // or not known
	forValues
	forLists
)

// listMode tells the modes of the library merge apart.
func (f *file) listMode(e ast.Expr) forWhat {
	e = f.local(e)
	if call, ok := e.(*ast.FuncCallExpr); ok {
		switch lib, name := f.call(call); {
		case lib == "merge" && name == "by_key":
			return forLists
		case lib == "merge" && name == "set_only" && len(call.Args) == 1:
			return f.listMode(call.Args[0])
		}
		return forAnything
	}
	a, ok := e.(*ast.AttrGetExpr)
	if !ok || f.required(a.Object) != "merge" {
		return forAnything
	}
	switch {
	case isText(a.Key, "value"):
		return forValues
	case isText(a.Key, "replace"):
		return forLists
	}
	return forAnything
}

// fits holds a mode to the shape of its tag.
func (f *file) fits(tag string, mode ast.Expr) {
	list, isList := f.cat.List(tag)
	use := f.listMode(mode)
	switch {
	case isList && use == forValues:
		f.say(diagnostic.WrongSection, f.at(mode), "use merge.replace or merge.by_key", "%s is a list, and %s is for scalars and objects", tag, syntax.Expr(mode))
	case !isList && use == forLists:
		f.say(diagnostic.WrongSection, f.at(mode), "use merge.value", "%s is a %s, and %s is for lists", tag, f.shape(tag), syntax.Expr(mode))
	case isList:
		f.keys(list, mode)
	}
}

// shape is scalar, object, list, or "" for what the catalogue does not have.
func (f *file) shape(tag string) string {
	if _, ok := f.cat.Scalar(tag); ok {
		return "scalar"
	}
	if _, ok := f.cat.Object(tag); ok {
		return "object"
	}
	if _, ok := f.cat.List(tag); ok {
		return "list"
	}
	return ""
}

// keys holds the elements of merge.by_key to the list.
func (f *file) keys(list *catalogue.List, mode ast.Expr) {
	call, ok := f.local(mode).(*ast.FuncCallExpr)
	if !ok {
		return
	}
	lib, name := f.call(call)
	if lib == "merge" && name == "set_only" && len(call.Args) == 1 {
		f.keys(list, call.Args[0])
	}
	if lib != "merge" || name != "by_key" {
		return
	}
	var known []string
	for _, p := range list.Fields {
		known = append(known, p.Tag)
	}
	if len(call.Args) == 0 {
		f.say(diagnostic.UnknownKey, f.at(call), "", "merge.by_key without a key: every record is appended")
	}
	for _, a := range call.Args {
		if key, ok := f.local(a).(*ast.StringExpr); ok && !slices.Contains(known, key.Value) {
			f.say(diagnostic.UnknownKey, f.at(a), write(key.Value, known), "%s has no element %s%s", list.Tag, key.Value, diagnostic.Perhaps(key.Value, known))
		}
	}
}

func (f *file) draftCall(c *ast.FuncCallExpr, name string) {
	switch name {
	case "open":
		if len(c.Args) > 0 {
			f.op(c.Args[0])
		}
	case "set", "clear", "replace":
		if len(c.Args) > 1 {
			f.drafted(c, name)
		}
	case "list", "change":
	default:
		f.done.open = true
	}
}

// drafted looks at draft.set(d, "STND", value) and its like.
func (f *file) drafted(c *ast.FuncCallExpr, name string) {
	tag, ok := f.local(c.Args[1]).(*ast.StringExpr)
	if !ok {
		f.done.open = true
		return
	}
	if !f.writesTag(tag.Value, f.at(c.Args[1])) {
		return
	}
	if isList := f.shape(tag.Value) == "list"; isList != (name == "replace") {
		fix := "use draft.set or draft.clear"
		if isList {
			fix = "use draft.replace; {} empties the list"
		}
		f.say(diagnostic.WrongSection, f.at(c.Args[1]), fix, "%s is a %s, and draft.%s is for others", tag.Value, f.shape(tag.Value), name)
		return
	}
	if name == "set" && len(c.Args) > 2 {
		f.literal(tag.Value, c.Args[2])
	}
}

// tagged looks at a mode that is called by hand: merge.value(d, "STND", said).
func (f *file) tagged(tag, mode ast.Expr) {
	text, ok := f.local(tag).(*ast.StringExpr)
	if !ok {
		f.done.open = true
		return
	}
	if f.writesTag(text.Value, f.at(tag)) {
		f.fits(text.Value, mode)
	}
}

// writesTag notes that a tag is written; false when there is no such tag.
func (f *file) writesTag(tag string, at place) bool {
	if f.shape(tag) == "" {
		f.say(diagnostic.UnknownTag, at, write(tag, f.cat.Tags()), "%q is not a tag of a flight%s", tag, diagnostic.Perhaps(tag, f.cat.Tags()))
		return false
	}
	f.done.tags = append(f.done.tags, mention{tag, at})
	return true
}

func (f *file) does(op string, at place) { f.done.ops = append(f.done.ops, mention{op, at}) }
