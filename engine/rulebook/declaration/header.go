package declaration

import (
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/rulebook/diagnostic"
)

// Header is what a script file declares.
type Header struct {
	Kinds  []string // a trailing * stands for any rest
	Writes []string // written out, in catalogue order
	Ops    []string
	Reads  []string
	// Whole tells that nothing of it was Unknown.
	Whole bool
	// All tells that "*" stands in writes.
	All bool
}

// Keys are what the table of a script may hold.
var Keys = []string{"kind", "kinds", "writes", "ops", "reads", "decide"}

// Ops are the operations that a script can ask for; without a declaration it may only update.
var Ops = []string{string(decision.Create), string(decision.Update), string(decision.Revive), string(decision.Delete)}

// ReadHeader checks the table that a script returns. All faults are reported.
func ReadHeader(file string, v Value, cat *catalogue.Catalogue) (Header, []*diagnostic.Fault) {
	h := Header{Whole: true}
	r := &reader{file: file}
	if v.Type == Unknown {
		return Header{}, nil
	}
	if v.Type != Table {
		r.fault(diagnostic.ScriptShape, v.At, "a script returns one table with kind or kinds, writes and decide")
		return h, r.faults
	}
	r.keys(v)
	h.Kinds = r.kinds(v, &h)
	h.Writes = r.writes(v, cat, &h)
	h.Ops = r.ops(v, &h)
	reads, known := r.names(diagnostic.ScriptShape, v, "reads")
	h.Whole = h.Whole && known
	for _, typ := range reads {
		if _, ok := cat.Reference(typ.text); !ok {
			r.fault(diagnostic.UnknownReference, typ.at, "reads: %q is not a type of reference data%s", typ.text, diagnostic.Perhaps(typ.text, ReferenceTypes(cat)))
		}
	}
	h.Reads = texts(reads)
	if decide := v.Field("decide"); decide.Type != Function && decide.Type != Unknown {
		at := decide.At
		if decide.Type == Nil {
			at = v.At
		}
		r.fault(diagnostic.ScriptShape, at, "decide: expected a function(view, msg)")
	}
	return h, r.faults
}

// ReferenceTypes lists the types of reference data.
func ReferenceTypes(cat *catalogue.Catalogue) []string {
	out := make([]string, len(cat.References))
	for i, r := range cat.References {
		out[i] = r.Type
	}
	return out
}

func (r *reader) keys(v Value) {
	expected := strings.Join(Keys, ", ")
	for _, e := range v.List {
		r.fault(diagnostic.UnknownHeader, e.At, "unknown key %q, expected %s", "1", expected)
		break
	}
	for _, f := range v.Fields {
		if !slices.Contains(Keys, f.Name) {
			r.fault(diagnostic.UnknownHeader, f.At, "unknown key %q, expected %s%s", f.Name, expected, diagnostic.Perhaps(f.Name, Keys))
		}
	}
}

func (r *reader) kinds(v Value, h *Header) []string {
	list, known := r.names(diagnostic.ScriptShape, v, "kinds")
	h.Whole = h.Whole && known
	kinds := texts(list)
	switch one := v.Field("kind"); one.Type {
	case Text:
		kinds = append(kinds, one.Text)
	case Unknown:
		h.Whole = false
	case Nil:
		if len(kinds) == 0 && known {
			r.fault(diagnostic.ScriptShape, v.At, "kind: a script says which kind it handles, or lists kinds")
		}
	default:
		r.fault(diagnostic.ScriptShape, one.At, "kind: expected a string")
	}
	return kinds
}

func (r *reader) writes(v Value, cat *catalogue.Catalogue, h *Header) []string {
	if v.Field("writes").Type == Nil {
		r.fault(diagnostic.ScriptShape, v.At, "writes: a script declares its footprint, {} when it changes no field")
	}
	list, known := r.names(diagnostic.ScriptShape, v, "writes")
	h.Whole = h.Whole && known
	var out []string
	for _, tag := range list {
		switch {
		case tag.text == "*":
			h.All = true
			out = append(out, cat.Tags()...)
		case !slices.Contains(cat.Tags(), tag.text):
			r.fault(diagnostic.UnknownTag, tag.at, "writes: %q is not a tag of a flight%s", tag.text, diagnostic.Perhaps(tag.text, cat.Tags()))
		default:
			out = append(out, tag.text)
		}
	}
	out = slices.DeleteFunc(out, func(tag string) bool { return tag == "FLID" }) // the identity is nobody's to write
	slices.SortFunc(out, func(a, b string) int { return cat.Order(a) - cat.Order(b) })
	return slices.Compact(out)
}

func (r *reader) ops(v Value, h *Header) []string {
	if v.Field("ops").Type == Nil {
		return []string{string(decision.Update)}
	}
	list, known := r.names(diagnostic.ScriptShape, v, "ops")
	h.Whole = h.Whole && known
	for _, op := range list {
		if !slices.Contains(Ops, op.text) {
			r.fault(diagnostic.ScriptShape, op.at, "ops: %q, expected %s%s", op.text, strings.Join(Ops, ", "), diagnostic.Perhaps(op.text, Ops))
		}
	}
	return texts(list)
}

// Matches tells whether a pattern ("REF-*", or a kind as it stands) covers a kind.
func Matches(pattern, kind string) bool {
	if rest, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(kind, rest)
	}
	return pattern == kind
}
