package catalogue

import (
	"errors"
	"fmt"
	"slices"

	"msgx/engine/message"
)

// New checks a catalogue whole and indexes it. Every fault found is in the
// error, each with where it stands, what was found and what was expected.
func New(c Catalogue) (*Catalogue, error) {
	out := &c
	out.index()
	v := checker{cat: out}
	v.types()
	v.flight()
	v.meta()
	v.kinds()
	v.references()
	v.requests()
	return out, errors.Join(v.faults...)
}

func (c *Catalogue) index() {
	c.types = make(map[Type]ValueType)
	for _, t := range c.Types {
		c.types[t.Name] = t
	}
	c.scalars, c.objects, c.lists = map[string]*Field{}, map[string]*Object{}, map[string]*List{}
	c.kinds, c.refs, c.order = map[string]*Kind{}, map[string]*Reference{}, map[string]int{}
	place := func(path string) {
		if _, seen := c.order[path]; !seen {
			c.order[path] = len(c.order)
		}
	}
	for i := range c.Flight.Scalars {
		f := &c.Flight.Scalars[i]
		c.scalars[f.Tag] = f
		place(f.Tag)
	}
	for i := range c.Flight.Objects {
		o := &c.Flight.Objects[i]
		c.objects[o.Tag] = o
		place(o.Tag)
		for _, p := range o.Parts {
			place(o.Tag + "." + p.Tag)
		}
	}
	for i := range c.Flight.Lists {
		c.lists[c.Flight.Lists[i].Tag] = &c.Flight.Lists[i]
		place(c.Flight.Lists[i].Tag)
	}
	for _, r := range c.References {
		k := Kind{Name: "REF-" + r.Type, Family: message.Reference, Record: r.Type, Meaning: r.Meaning}
		for _, sub := range RefSubtypes {
			k.Wire = append(k.Wire, Pair{r.Type, sub})
		}
		c.Kinds = append(c.Kinds, k)
	}
	c.wire = map[Pair]*Kind{}
	for i := range c.Kinds {
		k := &c.Kinds[i]
		c.kinds[k.Name] = k
		for _, p := range k.Wire {
			if _, taken := c.wire[p]; !taken {
				c.wire[p] = k
			}
		}
	}
	for i := range c.References {
		c.refs[c.References[i].Type] = &c.References[i]
	}
}

type checker struct {
	cat    *Catalogue
	faults []error
}

func (v *checker) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Errorf("catalogue: "+format, args...))
}

func (v *checker) types() {
	for _, t := range []Type{ID, Int, Decimal, Datetime, Date, Stamp, Duration, Code, Text, Flag} {
		if _, ok := v.cat.types[t]; !ok {
			v.fault("types: %q is not described", t)
		}
	}
	for _, t := range v.cat.Types {
		if t.Lua != "string" && t.Lua != "integer" {
			v.fault("types: %s: lua is %q, expected string or integer", t.Name, t.Lua)
		}
	}
}

func (v *checker) field(where string, f Field) {
	if f.Tag == "" {
		v.fault("%s: a field without a tag", where)
	}
	if _, ok := v.cat.types[f.Type]; !ok {
		v.fault("%s.%s: type %q, expected one of the types in types.yaml", where, f.Tag, f.Type)
	}
	if (f.Type == Flag) != (len(f.Flags) > 0) {
		v.fault("%s.%s: a flag, and only a flag, lists its values", where, f.Tag)
	}
	if (f.Type == Code || f.Type == Text) != (f.MaxLen > 0) {
		v.fault("%s.%s: a code or text, and only those, has a maximum length", where, f.Tag)
	}
	if f.OnBad != "" && f.OnBad != "absent" {
		v.fault("%s.%s: on-bad is %q, expected absent or nothing", where, f.Tag, f.OnBad)
	}
	if !slices.Contains([]Source{FromElement, FromAttribute, FromText}, f.Source) {
		v.fault("%s.%s: source %q, expected element, attribute or text", where, f.Tag, f.Source)
	}
	if f.Column == "" {
		v.fault("%s.%s: no column", where, f.Tag)
	}
}

func (v *checker) unique(where string, fields []Field) {
	tags, columns := map[string]bool{}, map[string]bool{}
	for _, f := range fields {
		v.field(where, f)
		if tags[f.Tag] {
			v.fault("%s: %s stands twice", where, f.Tag)
		}
		if columns[f.Column] {
			v.fault("%s: column %s stands twice", where, f.Column)
		}
		tags[f.Tag], columns[f.Column] = true, true
	}
}

func (v *checker) flight() {
	all := slices.Clone(v.cat.Flight.Scalars)
	for _, o := range v.cat.Flight.Objects {
		v.unique("flight.objects."+o.Tag, o.Parts)
	}
	v.unique("flight.scalars", all)
	seen := map[string]bool{}
	for _, tag := range v.cat.Tags() {
		if seen[tag] {
			v.fault("flight: %s stands twice among scalars, objects and lists", tag)
		}
		seen[tag] = true
	}
	for _, tag := range []string{"FLID", "FFID", "FLNO", "SODT", "MAID"} {
		if _, ok := v.cat.scalars[tag]; !ok {
			v.fault("flight.scalars: %s is missing, the host depends on it", tag)
		}
	}
	v.lists("flight.lists", v.cat.Flight.Lists)
}

func (v *checker) lists(where string, lists []List) {
	tables := map[string]bool{}
	for _, l := range lists {
		at := where + "." + l.Tag
		v.unique(at, l.Fields)
		if l.Table == "" || tables[l.Table+"/"+l.Discriminator] {
			v.fault("%s: table %q with discriminator %q is empty or taken", at, l.Table, l.Discriminator)
		}
		tables[l.Table+"/"+l.Discriminator] = true
		if l.Seq != "" {
			if f, ok := PartOf(l.Fields, l.Seq); !ok || f.Source != FromAttribute {
				v.fault("%s: seq %q is not an attribute among its fields", at, l.Seq)
			}
		}
		v.lists(at, l.Lists)
	}
}

func (v *checker) kinds() {
	seen, pairs := map[string]bool{}, map[Pair]string{}
	for _, k := range v.cat.Kinds {
		for _, p := range k.Wire {
			if other, taken := pairs[p]; taken {
				v.fault("messages.%s: TYPE %s STYP %s is already %s", k.Name, p.Type, p.Subtype, other)
			}
			pairs[p] = k.Name
		}
		if seen[k.Name] {
			v.fault("messages: kind %s stands twice", k.Name)
		}
		seen[k.Name] = true
		switch k.Family {
		case message.Schedule, message.Operation, message.Deletion, message.Reference:
		default:
			v.fault("messages.%s: family %q, expected schedule, operation, deletion or reference", k.Name, k.Family)
		}
		for _, tag := range slices.Concat(k.Elements, k.Required) {
			if tag != "*" && tag != "FDEL" && v.cat.Order(tag) == len(v.cat.order) {
				v.fault("messages.%s: element %q is not a tag of a flight", k.Name, tag)
			}
		}
	}
}

func (v *checker) references() {
	seen := map[string]bool{}
	for _, r := range v.cat.References {
		if r.Type == "" || r.Key == "" || seen[r.Type] {
			v.fault("references: %q with key %q is incomplete or stands twice", r.Type, r.Key)
		}
		seen[r.Type] = true
	}
}

func (v *checker) meta() {
	v.unique("meta", v.cat.Meta)
	for _, tag := range []string{"SNDR", "SEQN", "DTTM", "TYPE", "STYP"} {
		if _, ok := PartOf(v.cat.Meta, tag); !ok {
			v.fault("meta: %s is missing, the host depends on it", tag)
		}
	}
}

func (v *checker) requests() {
	seen := map[string]bool{}
	for _, r := range v.cat.Requests {
		if r.Name == "" || r.Type == "" || seen[r.Name] {
			v.fault("requests: %s stands twice or is incomplete", r.Name)
		}
		seen[r.Name] = true
		v.unique("requests."+r.Name, r.Fields)
	}
}
