package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"msgx/engine/catalogue"
)

// xsdWriter writes an XML Schema. It is stricter than the codec in one way: XSD
// 1.0 cannot say "and elements we do not know". It is laxer in another: that a
// scalar stands once and which subtype carries which elements is not in it.
type xsdWriter struct {
	bytes.Buffer
	cat    *catalogue.Catalogue
	indent int
	named  map[string]*catalogue.Field // simple types in use, by name
}

func xsd(cat *catalogue.Catalogue) []byte {
	w := &xsdWriter{cat: cat, named: map[string]*catalogue.Field{}}
	w.WriteString(xml.Header)
	w.line("<!-- %s -->", notice)
	w.open(`xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"`)
	w.note("The messages that the product knows. Elements come in any order; an empty element clears, an absent one keeps. " +
		"Unknown elements and attributes are ignored by the product but not described here, and neither is which subtype carries which elements.")
	w.root()
	w.meta()
	w.flight()
	for _, o := range cat.Flight.Objects {
		w.complex(o.Tag, o.Meaning, o.Parts, nil)
	}
	w.lists(cat.Flight.Lists)
	w.requests()
	w.open(`xs:complexType name="reference" mixed="true"`)
	w.note("One record of reference data: its key element is required, everything else is kept as it comes.")
	w.open("xs:sequence")
	w.line(`<xs:any minOccurs="0" maxOccurs="unbounded" processContents="skip"/>`)
	w.close("xs:sequence")
	w.line(`<xs:anyAttribute processContents="skip"/>`)
	w.close("xs:complexType")
	w.open(`xs:simpleType name="nothing"`)
	w.line(`<xs:restriction base="xs:token"><xs:maxLength value="0"/></xs:restriction>`)
	w.close("xs:simpleType")
	w.simpleTypes()
	w.close("xs:schema")
	return w.Bytes()
}

func (w *xsdWriter) line(format string, args ...any) {
	w.WriteString(strings.Repeat("  ", w.indent))
	fmt.Fprintf(w, format+"\n", args...)
}

func (w *xsdWriter) open(tag string) {
	w.line("<%s>", tag)
	w.indent++
}

func (w *xsdWriter) close(tag string) {
	w.indent--
	w.line("</%s>", tag)
}

func (w *xsdWriter) note(text string) {
	w.line("<xs:annotation><xs:documentation>%s</xs:documentation></xs:annotation>", escaped(text))
}

func escaped(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		panic(err) // a builder does not fail
	}
	return b.String()
}

// element declares an element with its meaning.
func (w *xsdWriter) element(name, typ, meaning string) {
	w.open(fmt.Sprintf("xs:element name=%q type=%q", name, typ))
	w.note(meaning)
	w.close("xs:element")
}

func (w *xsdWriter) root() {
	w.open(`xs:element name="MSG"`)
	w.open("xs:complexType")
	w.open("xs:sequence")
	w.element("META", "META", "the envelope")
	w.open(`xs:choice minOccurs="0" maxOccurs="unbounded"`)
	w.element("SCHD", "SCHD", "a schedule: SCHD / DNLD, RESP and ADFT")
	w.element("FLOP", "flight", "an operation: FLOP / subtype, FLOP / FDEL too")
	w.element("FDEL", "flight", "a deletion: FDEL / any")
	w.element("RECS", w.simple(&catalogue.Field{Type: catalogue.Int}), "the declared number of reference records")
	for _, r := range w.cat.References {
		w.element(r.Type, "reference", fmt.Sprintf("%s, by %s", r.Meaning, r.Key))
	}
	for _, r := range w.cat.Requests {
		w.element(r.Name, r.Name, r.Meaning)
	}
	w.close("xs:choice")
	w.close("xs:sequence")
	w.close("xs:complexType")
	w.close("xs:element")
}

// required are the parts of META without which a message is malformed.
var required = []string{"SNDR", "SEQN", "TYPE", "STYP"}

func (w *xsdWriter) meta() {
	w.open(`xs:complexType name="META"`)
	w.open("xs:all")
	for i := range w.cat.Meta {
		f := &w.cat.Meta[i]
		least := 0
		if slices.Contains(required, f.Tag) {
			least = 1
		}
		w.open(fmt.Sprintf(`xs:element name=%q type=%q minOccurs="%d"`, f.Tag, w.simple(f), least))
		w.note(f.Meaning)
		w.close("xs:element")
	}
	w.close("xs:all")
	w.close("xs:complexType")
	w.open(`xs:complexType name="SCHD"`)
	w.open(`xs:choice minOccurs="0" maxOccurs="unbounded"`)
	w.element("RECS", w.simple(&catalogue.Field{Type: catalogue.Int}), "the declared number of records")
	w.element("FLTR", "flight", "one flight")
	w.close("xs:choice")
	w.close("xs:complexType")
}

// flight is the record of schedules, operations and deletions alike.
func (w *xsdWriter) flight() {
	w.open(`xs:complexType name="flight"`)
	w.open(`xs:choice minOccurs="0" maxOccurs="unbounded"`)
	for i := range w.cat.Flight.Scalars {
		f := &w.cat.Flight.Scalars[i]
		w.element(f.Tag, w.simple(f), f.Meaning)
	}
	for _, o := range w.cat.Flight.Objects {
		w.element(o.Tag, o.Tag, o.Meaning)
	}
	for _, l := range w.cat.Flight.Lists {
		w.element(l.Tag, l.Tag, l.Meaning)
	}
	w.element("FDEL", "nothing", "marks a deletion")
	w.close("xs:choice")
	w.close("xs:complexType")
}

func (w *xsdWriter) lists(lists []catalogue.List) {
	for _, l := range lists {
		w.complex(l.Tag, l.Meaning, l.Fields, l.Lists)
		w.lists(l.Lists)
	}
}

// complex writes the type of an object or list entry: text with attributes,
// or elements with attributes.
func (w *xsdWriter) complex(name, meaning string, fields []catalogue.Field, nested []catalogue.List) {
	w.open(fmt.Sprintf("xs:complexType name=%q", name))
	w.note(meaning)
	if text, ok := catalogue.PartOf(fields, catalogue.TextPart); ok && text.Source == catalogue.FromText {
		w.open("xs:simpleContent")
		w.open(fmt.Sprintf("xs:extension base=%q", w.simple(text)))
		w.attributes(fields)
		w.close("xs:extension")
		w.close("xs:simpleContent")
	} else {
		w.open(`xs:choice minOccurs="0" maxOccurs="unbounded"`)
		for i := range fields {
			if f := &fields[i]; f.Source == catalogue.FromElement {
				w.element(f.Tag, w.simple(f), f.Meaning)
			}
		}
		for _, l := range nested {
			w.element(l.Tag, l.Tag, l.Meaning)
		}
		w.close("xs:choice")
		w.attributes(fields)
	}
	w.close("xs:complexType")
}

func (w *xsdWriter) attributes(fields []catalogue.Field) {
	for i := range fields {
		if f := &fields[i]; f.Source == catalogue.FromAttribute {
			w.open(fmt.Sprintf("xs:attribute name=%q type=%q", f.Tag, w.simple(f)))
			w.note(f.Meaning)
			w.close("xs:attribute")
		}
	}
}

func (w *xsdWriter) requests() {
	for _, r := range w.cat.Requests {
		w.open(fmt.Sprintf("xs:complexType name=%q", r.Name))
		w.open("xs:all")
		for i := range r.Fields {
			w.element(r.Fields[i].Tag, w.simple(&r.Fields[i]), r.Fields[i].Meaning)
		}
		w.close("xs:all")
		w.close("xs:complexType")
	}
}

// simple names the simple type of a field and remembers to write it.
func (w *xsdWriter) simple(f *catalogue.Field) string {
	name := string(f.Type)
	switch f.Type {
	case catalogue.Code, catalogue.Text:
		name = fmt.Sprintf("%s-%d", f.Type, f.MaxLen)
	case catalogue.Flag:
		name = "flag-" + strings.Join(f.Flags, "-")
	}
	w.named[name] = f
	return name
}

// simpleTypes writes the types in use. All allow blanks only: that is the empty element.
func (w *xsdWriter) simpleTypes() {
	var names []string
	for name := range w.named {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := w.named[name]
		t, _ := w.cat.ValueType(f.Type)
		w.open(fmt.Sprintf("xs:simpleType name=%q", name))
		w.note(t.Wire)
		w.open(`xs:restriction base="xs:token"`)
		switch {
		case f.Type == catalogue.Flag:
			for _, v := range append([]string{""}, f.Flags...) {
				w.line(`<xs:enumeration value="%s"/>`, escaped(v))
			}
		case f.MaxLen > 0:
			w.line(`<xs:maxLength value="%d"/>`, f.MaxLen)
		default:
			w.line(`<xs:pattern value="(%s)|\s*"/>`, escaped(t.Pattern))
		}
		w.close("xs:restriction")
		w.close("xs:simpleType")
	}
}
