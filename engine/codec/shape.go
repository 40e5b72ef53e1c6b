package codec

import (
	"slices"

	"msgx/engine/catalogue"
	"msgx/engine/message"
)

// shape says what a record of one kind may carry.
type shape struct {
	kind  *catalogue.Kind
	slots map[string]slot
}

// slot is what stands under a tag: exactly one of the three, or none for a tag
// that is known and says nothing by its content, as FDEL does.
type slot struct {
	scalar *catalogue.Field
	object *form
	list   *form
}

// form is the parts of an object or of an entry of a list, by where they stand.
type form struct {
	tag   string
	attrs map[string]*catalogue.Field
	elems map[string]*catalogue.Field
	text  *catalogue.Field
	lists map[string]*form
}

func formOf(tag string, fields []catalogue.Field, lists []catalogue.List) *form {
	f := &form{tag: tag, attrs: map[string]*catalogue.Field{}, elems: map[string]*catalogue.Field{}, lists: map[string]*form{}}
	for i := range fields {
		switch field := &fields[i]; field.Source {
		case catalogue.FromAttribute:
			f.attrs[field.Tag] = field
		case catalogue.FromText:
			f.text = field
		default:
			f.elems[field.Tag] = field
		}
	}
	for i := range lists {
		f.lists[lists[i].Tag] = formOf(lists[i].Tag, lists[i].Fields, lists[i].Lists)
	}
	return f
}

func shapesOf(cat *catalogue.Catalogue) map[string]*shape {
	all := map[string]slot{}
	for i := range cat.Flight.Scalars {
		f := &cat.Flight.Scalars[i]
		all[f.Tag] = slot{scalar: f}
	}
	for _, o := range cat.Flight.Objects {
		all[o.Tag] = slot{object: formOf(o.Tag, o.Parts, nil)}
	}
	for _, l := range cat.Flight.Lists {
		all[l.Tag] = slot{list: formOf(l.Tag, l.Fields, l.Lists)}
	}
	shapes := make(map[string]*shape, len(cat.Kinds))
	for i := range cat.Kinds {
		k := &cat.Kinds[i]
		if k.Family == message.Reference {
			continue
		}
		s := &shape{kind: k, slots: all}
		if !slices.Contains(k.Elements, "*") {
			s.slots = map[string]slot{tagFLID: all[tagFLID], tagFFID: all[tagFFID]}
			for _, tag := range k.Elements {
				s.slots[tag] = all[tag]
			}
		}
		shapes[k.Name] = s
	}
	return shapes
}
