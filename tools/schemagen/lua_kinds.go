package main

import (
	"fmt"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/message"
)

// luaKind is the name of a kind in the name of a class.
func luaKind(kind string) string { return "msgx." + strings.ReplaceAll(kind, "-", "_") }

// kinds are the classes of each kind's own: a record with what the kind carries, its message,
// and its script, so that an editor offers for FLOP-GTDT what a FLOP-GTDT has.
func (w *luaWriter) kinds() {
	for _, k := range w.cat.Kinds {
		if k.Family == message.Reference || slices.Contains(k.Elements, "*") {
			continue
		}
		name := luaKind(k.Name)
		w.class(name+".Record", "one record of "+k.Name+"; what was absent is nil, what was empty is CLEAR")
		w.field("flid", "msgx.id", "the flight")
		w.field("ffid?", "msgx.text", "display key")
		for _, tag := range k.Elements {
			w.carried(tag)
		}
		w.class(name+".Message : msgx.AnyMessage", k.Name+": "+k.Meaning)
		w.field("kind", fmt.Sprintf("%q", k.Name), "what it is")
		w.field("records", name+".Record[]", "in document order")
		w.class(name+".Script : msgx.Script", "what the file of a script for "+k.Name+" returns")
		w.field("kind", fmt.Sprintf("%q", k.Name), "the kind it handles")
		w.field("decide", "fun(view: msgx.View, msg: "+name+".Message): msgx.Decision", "the rule")
	}
}

// carried is an element of a record.
func (w *luaWriter) carried(tag string) {
	if f, ok := w.cat.Scalar(tag); ok {
		w.field(tag+"?", valueType(f)+"|msgx.Clear", bounded(f))
	} else if o, ok := w.cat.Object(tag); ok {
		w.field(tag+"?", "msgx."+tag+"|msgx.Clear", o.Meaning)
	} else if l, ok := w.cat.List(tag); ok {
		w.field(tag+"?", "msgx."+tag+"[]|msgx.Clear", l.Meaning)
	}
}

// modes are what merge.flop takes: a mode for each tag, only of what fits its shape.
func (w *luaWriter) modes() {
	w.class("msgx.Modes", "what merge.flop does with each element")
	mode := func(tag, typ, meaning string) { w.field(tag+"?", typ, meaning) }
	for i := range w.cat.Flight.Scalars {
		if f := &w.cat.Flight.Scalars[i]; f.Tag != "FLID" {
			mode(f.Tag, "msgx.ValueMode", f.Meaning)
		}
	}
	for _, o := range w.cat.Flight.Objects {
		mode(o.Tag, "msgx.ValueMode", o.Meaning)
	}
	for _, l := range w.cat.Flight.Lists {
		mode(l.Tag, "msgx.ListMode", l.Meaning)
	}
}

// keys are the elements by which entries of a list can be told apart.
func (w *luaWriter) keys() {
	var tags []string
	for _, l := range w.cat.Flight.Lists {
		for _, f := range l.Fields {
			if !slices.Contains(tags, f.Tag) {
				tags = append(tags, f.Tag)
			}
		}
	}
	slices.Sort(tags)
	w.alias("msgx.ListElement", tags)
}

// requests are the messages that a decision can have sent upstream, each with its fields.
func (w *luaWriter) requests() {
	names := make([]string, len(w.cat.Requests))
	for i, r := range w.cat.Requests {
		names[i] = "msgx.Request." + r.Name
		w.class(names[i], r.Name+": "+r.Meaning)
		w.field("request", fmt.Sprintf("%q", r.Name), "which request")
		for j := range r.Fields {
			w.requested(&r.Fields[j])
		}
	}
	w.line("")
	w.line("---@alias msgx.Outbound %s", strings.Join(names, "|"))
}

func (w *luaWriter) requested(f *catalogue.Field) {
	name := f.Tag
	if f.Optional {
		name += "?"
	}
	w.field(name, valueType(f), f.Meaning)
}
