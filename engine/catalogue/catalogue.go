// Package catalogue is the machine form of the wire format: which messages
// there are, which fields, objects and lists a flight has, of which type, and
// where each is stored. It holds types and lookups only; the data are YAML files,
// read by package schemas. Codec, flight state, database columns, editor stubs
// and published schemas all follow it, and nothing else knows a field by name
// but for the few that carry meaning for the host (FLID, MAID, FLNO, SODT).
package catalogue

import (
	"slices"

	"msgx/engine/message"
)

// Type is a value type of the wire format.
type Type string

// The value types. See schemas/types.yaml for how each is written and stored.
const (
	ID       Type = "id"
	Int      Type = "int"
	Decimal  Type = "decimal"
	Datetime Type = "datetime"
	Date     Type = "date"
	Stamp    Type = "stamp"
	Duration Type = "duration"
	Code     Type = "code"
	Text     Type = "text"
	Flag     Type = "flag"
)

// ValueType documents a type and says how it is stored and published.
type ValueType struct {
	Name    Type   `yaml:"name"`
	Wire    string `yaml:"wire"`    // the text on the wire, in words
	Pattern string `yaml:"pattern"` // regular expression of the trimmed wire text, for the XSD
	// Canonical is the regular expression of the canonical text, for the JSON Schemas; "" for any text.
	Canonical string `yaml:"canonical"`
	Example   string `yaml:"example"`
	Value     string `yaml:"value"`  // the example in canonical text
	Column    string `yaml:"column"` // PostgreSQL type
	Lua       string `yaml:"lua"`    // string or integer
	JSON      string `yaml:"json"`   // string or integer
	Format    string `yaml:"format"` // JSON Schema format of the canonical text, if any
}

// Source says where the value of a part stands in its element.
type Source string

// The sources of a part: a child element, an attribute, or the element's own text.
const (
	FromElement   Source = "element"
	FromAttribute Source = "attribute"
	FromText      Source = "text"
)

// TextPart is the tag under which an element's own text is known.
const TextPart = "TEXT"

// Field is one scalar, or one part of an object or of a list entry.
type Field struct {
	Tag      string   `yaml:"tag"` // TextPart when Source is FromText
	Column   string   `yaml:"column"`
	Type     Type     `yaml:"type"`
	MaxLen   int      `yaml:"max"`    // characters, for code and text
	Flags    []string `yaml:"flags"`  // the listed set, for flag
	OnBad    string   `yaml:"on-bad"` // "" fails the message, "absent" drops and counts the value
	Source   Source   `yaml:"source"`
	Optional bool     `yaml:"optional"` // of a request: written empty when it is not given
	Meaning  string   `yaml:"meaning"`
}

// Object is a single element with parts, stored as prefixed columns.
type Object struct {
	Tag     string  `yaml:"tag"`
	Parts   []Field `yaml:"parts"`
	Meaning string  `yaml:"meaning"`
}

// List is a repeated element. Its document order is ORDINAL, from 1.
type List struct {
	Tag           string  `yaml:"tag"`
	Table         string  `yaml:"table"`
	Discriminator string  `yaml:"discriminator"` // value of route_kind where two lists share a table
	Seq           string  `yaml:"seq"`           // the attribute that is stored as source_seq, if any
	Fields        []Field `yaml:"fields"`        // attributes and text among them, Seq too
	Lists         []List  `yaml:"lists"`         // nested lists
	Meaning       string  `yaml:"meaning"`
}

// Flight is what a flight consists of, in catalogue order.
type Flight struct {
	Scalars []Field  `yaml:"scalars"`
	Objects []Object `yaml:"objects"`
	Lists   []List   `yaml:"lists"`
}

// Pair is a TYPE and STYP on the wire; a Subtype of "*" stands for any.
type Pair struct {
	Type    string `yaml:"type"`
	Subtype string `yaml:"subtype"`
}

// RefSubtypes are the subtypes of reference data.
var RefSubtypes = []string{"DNLD", "RESP", "ADD", "UPD", "DEL"}

// Kind is one message kind that the product knows. The kinds of reference data,
// REF-<TYPE>, are derived from the reference types.
type Kind struct {
	Name     string         `yaml:"kind"`
	Wire     []Pair         `yaml:"wire"`
	Family   message.Family `yaml:"family"`
	Payload  []string       `yaml:"payload"`   // names of the payload element
	Record   string         `yaml:"record"`    // name of the record inside the payload, "" when the payload is the record
	Elements []string       `yaml:"elements"`  // tags a record may carry besides FLID and FFID; ["*"] for all
	Required []string       `yaml:"required"`  // at least one of these must be there, else payload-missing
	NeedsDay bool           `yaml:"needs-day"` // SODT is mandatory
	Meaning  string         `yaml:"meaning"`
}

// Reference is one type of reference data.
type Reference struct {
	Type    string `yaml:"type"`
	Key     string `yaml:"key"`
	Meaning string `yaml:"meaning"`
}

// Request is one outbound request.
type Request struct {
	Name     string  `yaml:"request"`
	Type     string  `yaml:"type"`
	Subtype  string  `yaml:"subtype"` // "" when it depends on the request's fields
	Fields   []Field `yaml:"fields"`
	Answered string  `yaml:"answered"` // kind of the answer, "" for none
	Meaning  string  `yaml:"meaning"`
}

// Catalogue is the whole, checked and indexed. It is immutable after New.
type Catalogue struct {
	Types      []ValueType
	Flight     Flight
	Kinds      []Kind
	References []Reference
	Requests   []Request
	Meta       []Field // SNDR, SEQN, DTTM, TYPE, STYP with their bounds

	types   map[Type]ValueType
	scalars map[string]*Field
	objects map[string]*Object
	lists   map[string]*List
	kinds   map[string]*Kind
	wire    map[Pair]*Kind
	refs    map[string]*Reference
	order   map[string]int
}

// Scalar finds a scalar by its tag.
func (c *Catalogue) Scalar(tag string) (*Field, bool) { f, ok := c.scalars[tag]; return f, ok }

// Object finds a single object by its tag.
func (c *Catalogue) Object(tag string) (*Object, bool) { o, ok := c.objects[tag]; return o, ok }

// List finds a top-level list by its tag.
func (c *Catalogue) List(tag string) (*List, bool) { l, ok := c.lists[tag]; return l, ok }

// ValueType finds the description of a type.
func (c *Catalogue) ValueType(t Type) (ValueType, bool) { v, ok := c.types[t]; return v, ok }

// KindNamed finds a kind by its name.
func (c *Catalogue) KindNamed(name string) (*Kind, bool) { k, ok := c.kinds[name]; return k, ok }

// Reference finds a reference type.
func (c *Catalogue) Reference(typ string) (*Reference, bool) { r, ok := c.refs[typ]; return r, ok }

// Request finds an outbound request by its name.
func (c *Catalogue) Request(name string) (*Request, bool) {
	i := slices.IndexFunc(c.Requests, func(r Request) bool { return r.Name == name })
	if i < 0 {
		return nil, false
	}
	return &c.Requests[i], true
}

// Order is the place of a path ("STND", "FDIV.DDES", "GTDT") in catalogue
// order; unknown paths come last.
func (c *Catalogue) Order(path string) int {
	if n, ok := c.order[path]; ok {
		return n
	}
	return len(c.order)
}

// Tags lists every tag a flight has: scalars, objects, lists, in catalogue order.
func (c *Catalogue) Tags() []string {
	var tags []string
	for _, f := range c.Flight.Scalars {
		tags = append(tags, f.Tag)
	}
	for _, o := range c.Flight.Objects {
		tags = append(tags, o.Tag)
	}
	for _, l := range c.Flight.Lists {
		tags = append(tags, l.Tag)
	}
	return tags
}

// KindOf finds the kind of a TYPE and STYP: an exact pair first, then a type
// with any subtype. It reports false when the product does not know the pair.
func (c *Catalogue) KindOf(typ, subtype string) (*Kind, bool) {
	if k, ok := c.wire[Pair{typ, subtype}]; ok {
		return k, true
	}
	k, ok := c.wire[Pair{typ, "*"}]
	return k, ok
}

// PartOf finds a part of an object or list entry by its tag.
func PartOf(fields []Field, tag string) (*Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Tag == tag })
	if i < 0 {
		return nil, false
	}
	return &fields[i], true
}
