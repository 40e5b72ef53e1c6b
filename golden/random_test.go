package golden_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"msgx/engine/catalogue"
)

// writer draws messages of any kind as XML, following the catalogue: each element is
// absent, empty or has a value, values come from small pools so that keys collide, and a
// flight's SODT stays on its day.
type writer struct {
	cat  *catalogue.Catalogue
	t    *rapid.T
	seqn int
}

// flights are few, so that messages meet. The first two are never a child.
var flights = []string{"1", "2", "3", "4", "5"}

// message draws one message of a kind; each of records stands for a flight.
func (w *writer) message(kind *catalogue.Kind, records []string) string {
	pair := kind.Wire[0]
	payload := kind.Payload[0]
	body := "<" + payload + ">" + strings.Join(records, "</"+payload+"><"+payload+">") + "</" + payload + ">"
	if kind.Record != "" {
		body = fmt.Sprintf("<%s><RECS>%d</RECS>", payload, len(records))
		for _, r := range records {
			body += "<" + kind.Record + ">" + r + "</" + kind.Record + ">"
		}
		body += "</" + payload + ">"
	}
	w.seqn++
	return fmt.Sprintf("<MSG><META><SNDR>AODB</SNDR><SEQN>%d</SEQN><DTTM>20210123080000</DTTM><TYPE>%s</TYPE><STYP>%s</STYP></META>%s</MSG>",
		w.seqn, pair.Type, strings.ReplaceAll(pair.Subtype, "*", "FDEL"), body)
}

// again is a message as its sender would send it anew, under the next number.
func (w *writer) again(text string) string {
	before, rest, _ := strings.Cut(text, "<SEQN>")
	_, after, _ := strings.Cut(rest, "</SEQN>")
	w.seqn++
	return fmt.Sprintf("%s<SEQN>%d</SEQN>%s", before, w.seqn, after)
}

// record draws what a message of a kind says of one flight.
func (w *writer) record(kind *catalogue.Kind, flid string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<FLID>%s</FLID>", flid)
	tags := kind.Elements
	if slices.Contains(tags, "*") {
		tags = w.some(w.cat.Tags())
	}
	for _, tag := range tags {
		switch tag {
		case "FLID", "FDEL":
		case "SODT":
			if kind.NeedsDay || w.draw(3, tag) > 0 {
				fmt.Fprintf(&b, "<SODT>23JAN21%02d%s</SODT>", w.draw(23, "hour"), rapid.SampledFrom([]string{"00", "35"}).Draw(w.t, "minute"))
			}
		case "MAID":
			if slices.Index(flights, flid) >= 2 {
				w.element(&b, tag, func() string { return rapid.SampledFrom(flights[:2]).Draw(w.t, "MAID") })
			}
		default:
			w.tag(&b, tag)
		}
	}
	return b.String()
}

// some draws a few of the tags, in their order, SODT and MAID always among them.
func (w *writer) some(tags []string) []string {
	few := rapid.SliceOfNDistinct(rapid.SampledFrom(tags), 0, 8, rapid.ID).Draw(w.t, "tags")
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool {
		return tag != "SODT" && tag != "MAID" && !slices.Contains(few, tag)
	})
}

func (w *writer) draw(most int, label string) int { return rapid.IntRange(0, most).Draw(w.t, label) }

// element draws an element that is absent, empty or has what content draws.
func (w *writer) element(b *strings.Builder, tag string, content func() string) {
	switch w.draw(3, tag) {
	case 0:
	case 1:
		fmt.Fprintf(b, "<%s/>", tag)
	default:
		fmt.Fprintf(b, "<%s>%s</%s>", tag, content(), tag)
	}
}

func (w *writer) tag(b *strings.Builder, tag string) {
	if f, ok := w.cat.Scalar(tag); ok {
		w.element(b, tag, func() string { return w.value(f) })
		return
	}
	if o, ok := w.cat.Object(tag); ok {
		if w.draw(2, tag) > 0 {
			b.WriteString(w.parts(tag, o.Parts, nil))
		}
		return
	}
	l, _ := w.cat.List(tag)
	for range w.draw(3, tag) {
		b.WriteString(w.parts(tag, l.Fields, l.Lists))
	}
}

// parts draws an object or an entry of a list; it may come out empty.
func (w *writer) parts(tag string, fields []catalogue.Field, nested []catalogue.List) string {
	attributes, text := "", ""
	for i := range fields {
		f := &fields[i]
		if w.draw(2, f.Tag) == 0 {
			continue
		}
		switch f.Source {
		case catalogue.FromAttribute:
			attributes += fmt.Sprintf(" %s=%q", f.Tag, w.value(f))
		case catalogue.FromText:
			text += w.value(f)
		default:
			text += "<" + f.Tag + ">" + w.value(f) + "</" + f.Tag + ">"
		}
	}
	for _, l := range nested {
		for range w.draw(2, l.Tag) {
			text += w.parts(l.Tag, l.Fields, l.Lists)
		}
	}
	return "<" + tag + attributes + ">" + text + "</" + tag + ">"
}

func (w *writer) value(f *catalogue.Field) string {
	pick := func(values ...string) string { return rapid.SampledFrom(values).Draw(w.t, f.Tag) }
	switch f.Type {
	case catalogue.ID:
		return pick("7", "007", "999999999999999999")
	case catalogue.Int:
		return pick("0", "1", "180")
	case catalogue.Decimal:
		return pick("0.10", "12.5", "300")
	case catalogue.Datetime:
		return pick("23JAN210535", "23jan212359", "24Jan210001")
	case catalogue.Date:
		return "23JAN21"
	case catalogue.Duration:
		return pick("0201", "2600")
	case catalogue.Flag:
		return pick(f.Flags...)
	}
	words := []string{"A", "B", "航"}
	if f.MaxLen >= 6 {
		words = append(words, "AB", "&lt;1&amp;&gt;", " x  y ")
	}
	return pick(words...)
}
