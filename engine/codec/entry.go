package codec

import (
	"strings"

	"github.com/antchfx/xmlquery"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// state is what an element said.
type state int

const (
	empty  state = iota // nothing: it clears
	filled              // a value
	void                // something, of which nothing could be used: as good as absent
)

// fill gathers what the parts of an element said.
type fill struct{ value, unusable bool }

func (f fill) state() state {
	switch {
	case f.value:
		return filled
	case f.unusable:
		return void
	}
	return empty
}

// reading is the text of one field.
type reading struct {
	state state
	value string
}

// value reads an element that is one field.
func (d *decoding) value(n *xmlquery.Node, f *catalogue.Field) (reading, *Error) {
	if len(n.Attr) > 0 {
		d.strayAttributes(n)
	}
	d.strayElements(n)
	text := textOf(n)
	if text == "" {
		if childContent(n) {
			return reading{state: void}, nil
		}
		return reading{state: empty}, nil
	}
	return d.read(n, "", f, text)
}

// read brings a trimmed text that is not empty into canonical form; below is
// the rest of its path after the element. on-bad of the field is honoured here.
func (d *decoding) read(n *xmlquery.Node, below string, f *catalogue.Field, text string) (reading, *Error) {
	value, bad := canonical(f, text, d.codec.zone)
	if bad == nil {
		return reading{filled, value}, nil
	}
	if f.OnBad == "absent" {
		if below != "" { // an element is counted by its owner
			d.dropped.add(plainPath(n) + below)
		}
		return reading{state: void}, nil
	}
	return reading{}, newError(bad.class, d.place(n)+below, text, bad.want)
}

// parts reads the fields of an object or list entry.
func (d *decoding) parts(n *xmlquery.Node, f *form) (map[string]string, fill, *Error) {
	fields := make(map[string]string, len(f.attrs)+len(f.elems)+1)
	var got fill
	put := func(tag string, r reading) {
		switch r.state {
		case filled:
			fields[tag] = r.value
			got.value = true
		case void:
			got.unusable = true
		}
	}
	for _, a := range n.Attr {
		field := f.attrs[a.Name.Local]
		if field == nil || a.Name.Space != "" {
			if !silent(a) {
				d.unknowns.add(plainPath(n) + "/@" + a.Name.Local)
			}
			continue
		}
		text := strings.TrimSpace(a.Value)
		if text == "" {
			continue
		}
		r, fault := d.read(n, "/@"+field.Tag, field, text)
		if fault != nil {
			return nil, got, fault
		}
		put(field.Tag, r)
	}
	if f.text == nil {
		got.unusable = d.strayText(n) || got.unusable
	} else if text := textOf(n); text != "" {
		r, fault := d.read(n, "/text()", f.text, text)
		if fault != nil {
			return nil, got, fault
		}
		put(f.text.Tag, r)
	}
	fault := d.children(n, f, put)
	return fields, got, fault
}

// children reads the parts that are elements. Nested lists are left to their
// own reader; an element without a name in the catalogue makes the owner
// unusable rather than empty when it says something.
func (d *decoding) children(n *xmlquery.Node, f *form, put func(string, reading)) *Error {
	var seen map[string]bool
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != xmlquery.ElementNode {
			continue
		}
		field := f.elems[c.Data]
		if !d.ours(c) || (field == nil && f.lists[c.Data] == nil) {
			d.unknown(c)
			if hasContent(c) {
				put("", reading{state: void})
			}
			continue
		}
		if field == nil {
			continue
		}
		if seen[c.Data] {
			return unable(d.place(c), "a second "+c.Data, "one "+c.Data+" in "+n.Data)
		}
		if seen == nil {
			seen = make(map[string]bool, len(f.elems))
		}
		seen[c.Data] = true
		r, fault := d.value(c, field)
		if fault != nil {
			return fault
		}
		if r.state == void {
			d.drop(c)
		}
		put(c.Data, r)
	}
	return nil
}

// occurrences are the elements of one list of one record.
type occurrences struct {
	form    *form
	node    *xmlquery.Node // the first of them, for its path
	records []flight.Record
	empties int
	voids   int
}

// gathered are the lists of one record, in order of first appearance.
type gathered struct{ all []*occurrences }

func (g *gathered) of(f *form, n *xmlquery.Node) *occurrences {
	for _, o := range g.all {
		if o.form == f {
			return o
		}
	}
	o := &occurrences{form: f, node: n}
	g.all = append(g.all, o)
	return o
}

// listed adds one occurrence to its list.
func (d *decoding) listed(g *gathered, n *xmlquery.Node, f *form) *Error {
	o := g.of(f, n)
	fields, got, fault := d.parts(n, f)
	if fault != nil {
		return fault
	}
	record := flight.Record{Fields: fields}
	if len(f.lists) > 0 {
		var nested gathered
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if inner := f.lists[c.Data]; d.ours(c) && inner != nil {
				if fault := d.listed(&nested, c, inner); fault != nil {
					return fault
				}
			}
		}
		for _, l := range nested.all {
			e, there := d.list(l)
			got.unusable = got.unusable || !there
			if len(e.Records) > 0 {
				if record.Lists == nil {
					record.Lists = map[string][]flight.Record{}
				}
				record.Lists[l.form.tag] = e.Records
				got.value = true
			}
		}
	}
	switch got.state() {
	case filled:
		o.records = append(o.records, record)
	case empty:
		o.empties++
	default:
		o.voids++
	}
	return nil
}

// list is what the occurrences say together. Only empty ones clear the list;
// one of several that is empty, or of which nothing could be used, is dropped
// and counted; false when nothing is left to say.
func (d *decoding) list(o *occurrences) (message.Element, bool) {
	dropped := o.voids
	if len(o.records) > 0 || o.voids > 0 {
		dropped += o.empties
	} else {
		dropped += o.empties - 1
	}
	for range dropped {
		d.drop(o.node)
	}
	switch {
	case len(o.records) > 0:
		return message.Element{Records: o.records}, true
	case o.voids > 0:
		return message.Element{}, false
	}
	return message.Element{Empty: true}, true
}
