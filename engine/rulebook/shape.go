package rulebook

import (
	"msgx/engine/catalogue"
)

// shapes is the catalogue as the conversion needs it: everything by tag.
type shapes struct {
	cat     *catalogue.Catalogue
	integer map[catalogue.Type]bool // types that are numbers in Lua
	objects map[string]*shape
	lists   map[string]*shape
}

// shape is what an object or an entry of a list consists of.
type shape struct {
	tag    string
	fields map[string]*catalogue.Field
	order  []string
	nested map[string]*shape
}

func newShapes(cat *catalogue.Catalogue) *shapes {
	s := &shapes{cat: cat, integer: map[catalogue.Type]bool{}, objects: map[string]*shape{}}
	for _, t := range cat.Types {
		s.integer[t.Name] = t.Lua == "integer"
	}
	for _, o := range cat.Flight.Objects {
		s.objects[o.Tag] = newShape(o.Tag, o.Parts)
	}
	s.lists = listShapes(cat.Flight.Lists)
	return s
}

func listShapes(lists []catalogue.List) map[string]*shape {
	out := make(map[string]*shape, len(lists))
	for _, l := range lists {
		out[l.Tag] = newShape(l.Tag, l.Fields)
		out[l.Tag].nested = listShapes(l.Lists)
	}
	return out
}

func newShape(tag string, fields []catalogue.Field) *shape {
	s := &shape{tag: tag, fields: make(map[string]*catalogue.Field, len(fields))}
	for i := range fields {
		s.fields[fields[i].Tag] = &fields[i]
		s.order = append(s.order, fields[i].Tag)
	}
	return s
}

// what names the place of a tag in a decision: scalar, object or list.
func (s *shapes) what(tag string) string {
	if _, ok := s.cat.Scalar(tag); ok {
		return "scalar"
	}
	if s.objects[tag] != nil {
		return "object"
	}
	if s.lists[tag] != nil {
		return "list"
	}
	return ""
}
