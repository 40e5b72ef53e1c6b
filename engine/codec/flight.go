package codec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antchfx/xmlquery"

	"msgx/engine/flight"
	"msgx/engine/message"
)

// schedule reads a daily schedule or an additional flight: RECS and records
// inside one payload element.
func (d *decoding) schedule(root *xmlquery.Node, s *shape) *Error {
	name := s.kind.Payload[0]
	payload, fault := d.single(root, name)
	if fault != nil {
		return fault
	}
	d.strangers(root, tagMeta, name)
	if payload == nil {
		d.msg.PayloadMissing = "/MSG/" + name
		return nil
	}
	d.strayAttributes(payload)
	d.strayText(payload)
	if fault := d.declared(payload); fault != nil {
		return fault
	}
	d.strangers(payload, tagRecords, s.kind.Record)
	return d.each(payload, []string{s.kind.Record}, func(n *xmlquery.Node) *Error {
		return d.scheduled(n, s)
	})
}

// operations reads operations and deletions: records directly under the root.
func (d *decoding) operations(root *xmlquery.Node, s *shape) *Error {
	d.strangers(root, append([]string{tagMeta}, s.kind.Payload...)...)
	fault := d.each(root, s.kind.Payload, func(n *xmlquery.Node) *Error {
		return d.operation(n, s)
	})
	if fault == nil && len(d.msg.Records) == 0 {
		d.msg.PayloadMissing = "/MSG/" + strings.Join(s.kind.Payload, " or /MSG/")
	}
	return fault
}

// each calls read for every child of the names, with its place noted.
func (d *decoding) each(parent *xmlquery.Node, names []string, read func(*xmlquery.Node) *Error) *Error {
	counts := make([]int, len(names))
	defer func() { d.record = nil }()
	for n := parent.FirstChild; n != nil; n = n.NextSibling {
		if !d.ours(n) {
			continue
		}
		i := slices.Index(names, n.Data)
		if i < 0 {
			continue
		}
		counts[i]++
		d.record, d.index = n, counts[i]
		if fault := read(n); fault != nil {
			return fault
		}
	}
	return nil
}

// strangers counts the children that are none of the named.
func (d *decoding) strangers(parent *xmlquery.Node, names ...string) {
	for n := parent.FirstChild; n != nil; n = n.NextSibling {
		if n.Type == xmlquery.ElementNode && (!d.ours(n) || !slices.Contains(names, n.Data)) {
			d.unknown(n)
		}
	}
}

// operation reads one FLOP or FDEL record. Without a usable FLID nothing can
// be done with it, and no catalogue mends that.
func (d *decoding) operation(n *xmlquery.Node, s *shape) *Error {
	r, flid, fault := d.body(n, s)
	if fault != nil {
		return fault
	}
	text := ""
	if flid != nil {
		text = textOf(flid)
	}
	if r.FLID, fault = d.identity(n, text); fault != nil {
		return fault
	}
	if ffid, ok := r.Elements[tagFFID]; ok {
		r.FFID = ffid.Text
		delete(r.Elements, tagFFID)
	}
	required := s.kind.Required
	if len(required) > 0 && d.msg.PayloadMissing == "" && !slices.ContainsFunc(required, func(tag string) bool { _, ok := r.Elements[tag]; return ok }) {
		d.msg.PayloadMissing = fmt.Sprintf("%s in %s of flight %s", strings.Join(required, " or "), d.place(n), r.FLID)
	}
	d.msg.Records = append(d.msg.Records, r)
	return nil
}

// scheduled reads one FLTR record. A bad FLID, and a bad SODT where the day is
// needed, are faults of the record, which reject the schedule as a whole.
func (d *decoding) scheduled(n *xmlquery.Node, s *shape) *Error {
	r, flid, fault := d.body(n, s)
	if fault != nil {
		return fault
	}
	dayless := s.kind.NeedsDay && len(r.Faults) == 0 // a bad SODT is a fault already
	text := ""
	if flid != nil {
		text = textOf(flid)
	}
	id, bad := d.identity(n, text)
	if bad != nil {
		r.Faults = append(r.Faults, bad.Error())
	} else {
		r.FLID = id
		r.Elements[tagFLID] = message.Element{Text: id.String()}
	}
	r.FFID = r.Elements[tagFFID].Text
	if dayless && r.Elements[tagSODT].Text == "" {
		r.Faults = append(r.Faults, malformed(d.place(n)+"/"+tagSODT, "", "the scheduled time").Error())
	}
	d.msg.Records = append(d.msg.Records, r)
	return nil
}

func (d *decoding) identity(record *xmlquery.Node, text string) (flight.ID, *Error) {
	id, err := flight.ParseID(text)
	if err != nil {
		return 0, malformed(d.place(record)+"/"+tagFLID, text, "1 to 18 digits")
	}
	return id, nil
}

// body reads the elements of a record and gives back where its FLID stands.
func (d *decoding) body(n *xmlquery.Node, s *shape) (r message.Record, flid *xmlquery.Node, fault *Error) {
	d.strayAttributes(n)
	d.strayText(n)
	r.Elements = make(map[string]message.Element)
	seen := map[string]bool{}
	var lists gathered
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != xmlquery.ElementNode {
			continue
		}
		slot, known := s.slots[c.Data]
		if !known || !d.ours(c) {
			d.unknown(c)
			continue
		}
		if slot.list != nil {
			if fault := d.listed(&lists, c, slot.list); fault != nil {
				return r, nil, fault
			}
			continue
		}
		if seen[c.Data] {
			return r, nil, unable(d.place(c), "a second "+c.Data, "one "+c.Data+" in a record")
		}
		seen[c.Data] = true
		if c.Data == tagFLID {
			flid = c
			d.strayAttributes(c)
			d.strayElements(c)
			continue
		}
		if fault := d.element(&r, c, slot, s); fault != nil {
			return r, nil, fault
		}
	}
	for _, l := range lists.all {
		if e, there := d.list(l); there {
			r.Elements[l.form.tag] = e
		}
	}
	return r, flid, nil
}

// element reads a scalar or an object into the record.
func (d *decoding) element(r *message.Record, n *xmlquery.Node, s slot, in *shape) *Error {
	switch {
	case s.object != nil:
		fields, fill, fault := d.parts(n, s.object)
		if fault != nil {
			return fault
		}
		switch fill.state() {
		case filled:
			r.Elements[n.Data] = message.Element{Object: fields}
		case empty:
			r.Elements[n.Data] = message.Element{Empty: true}
		default:
			d.drop(n)
		}
	case s.scalar != nil:
		text, fault := d.value(n, s.scalar)
		if fault != nil {
			if n.Data == tagSODT && in.kind.Family == message.Schedule {
				return d.badDay(r, n, in, fault)
			}
			return fault
		}
		switch text.state {
		case filled:
			r.Elements[n.Data] = message.Element{Text: text.value}
		case empty:
			r.Elements[n.Data] = message.Element{Empty: true}
		default:
			d.drop(n)
		}
	default:
		d.strayAttributes(n)
		d.strayText(n)
		d.strayElements(n)
	}
	return nil
}

// badDay deals with an SODT that does not parse: a fault where the operation
// day is needed, as good as absent where it is not.
func (d *decoding) badDay(r *message.Record, n *xmlquery.Node, in *shape, fault *Error) *Error {
	if in.kind.NeedsDay {
		r.Faults = append(r.Faults, fault.Error())
	} else {
		d.drop(n)
	}
	return nil
}
