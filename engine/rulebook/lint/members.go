package lint

import (
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/message"
)

var (
	identifier = &catalogue.Field{Tag: "FLID", Type: catalogue.ID}
	flightCode = &catalogue.Field{Tag: "FLNO", Type: catalogue.Code, MaxLen: 12}
	status     = &catalogue.Field{Tag: "state", Type: catalogue.Flag, Flags: []string{"ACTIVE", "DELETED"}}
	absent     = &catalogue.Field{Tag: "absent_optional", Type: catalogue.Flag, Flags: []string{"keep", "clear"}}
	day        = &catalogue.Field{Tag: "operation_day", Type: catalogue.Date}
)

// member is what a field of a table of the host is; unknown when there is no such field.
func (f *file) member(t typ, name string) typ {
	switch t.what {
	case aView:
		return map[string]typ{"flights": {what: theFlights}, "settings": {what: theSettings}, "refs": {what: theRefs}}[name]
	case theSettings:
		return map[string]typ{"absent_optional": {what: aScalar, field: absent}}[name]
	case theRefs:
		return typ{what: refsOfType, tag: name}
	case aMessage:
		return map[string]typ{"kind": {what: aText}, "meta": {what: aMeta}, "recs": {what: aNumber}, "records": {what: theRecords}}[name]
	case aMeta:
		if slices.Contains(f.names(t), name) {
			return typ{what: aText}
		}
	case aMember:
		return map[string]typ{"FLID": {what: aScalar, field: identifier}, "FLNO": {what: aScalar, field: flightCode}}[name]
	case aFlight:
		known := map[string]typ{"flid": {what: aScalar, field: identifier}, "state": {what: aScalar, field: status}, "version": {what: aNumber},
			"operation_day": {what: aScalar, field: day}, "MAFL": {what: theMembers}}
		if m, ok := known[name]; ok {
			return m
		}
		return f.element(name, false)
	case aRecord:
		known := map[string]typ{"flid": {what: aScalar, field: identifier}, "ffid": {what: aText}, "key": {what: aText}, "value": {what: aReference}}
		if m, ok := known[name]; ok && slices.Contains(f.names(t), name) {
			return m
		}
		return f.element(name, true)
	case anObject, anEntry:
		if part, ok := catalogue.PartOf(f.parts(t.tag), name); ok {
			return typ{what: aScalar, field: part}
		}
		if strings.Contains(" "+strings.Join(f.nested(t.tag), " ")+" ", " "+name+" ") {
			return typ{what: aList, tag: name}
		}
	}
	return typ{}
}

// element is a tag of a flight.
func (f *file) element(tag string, fromRecord bool) typ {
	if field, ok := f.cat.Scalar(tag); ok {
		return typ{what: aScalar, field: field, clear: fromRecord}
	}
	if _, ok := f.cat.Object(tag); ok {
		return typ{what: anObject, tag: tag, clear: fromRecord}
	}
	if _, ok := f.cat.List(tag); ok {
		return typ{what: aList, tag: tag, clear: fromRecord}
	}
	return typ{}
}

// parts are the values of an object or of an entry of a list.
func (f *file) parts(tag string) []catalogue.Field {
	if o, ok := f.cat.Object(tag); ok {
		return o.Parts
	}
	if l := listNamed(f.cat.Flight.Lists, tag); l != nil {
		return l.Fields
	}
	return nil
}

func (f *file) nested(tag string) []string {
	var out []string
	if l := listNamed(f.cat.Flight.Lists, tag); l != nil {
		for _, n := range l.Lists {
			out = append(out, n.Tag)
		}
	}
	return out
}

func listNamed(lists []catalogue.List, tag string) *catalogue.List {
	for i := range lists {
		if lists[i].Tag == tag {
			return &lists[i]
		}
		if l := listNamed(lists[i].Lists, tag); l != nil {
			return l
		}
	}
	return nil
}

// names lists the fields of a table of the host; nil when any name may be there.
func (f *file) names(t typ) []string {
	switch t.what {
	case aView:
		return []string{"flights", "refs", "settings"}
	case theSettings:
		return []string{"absent_optional"}
	case aMessage:
		return []string{"kind", "meta", "recs", "records"}
	case aMeta:
		var out []string
		for _, m := range f.cat.Meta {
			out = append(out, strings.ToLower(m.Tag))
		}
		return out
	case aMember:
		return []string{"FLID", "FLNO"}
	case aFlight:
		return append([]string{"flid", "state", "version", "operation_day", "MAFL"}, f.cat.Tags()...)
	case aRecord:
		return f.recordNames()
	case anObject, anEntry:
		var out []string
		for _, p := range f.parts(t.tag) {
			out = append(out, p.Tag)
		}
		return append(out, f.nested(t.tag)...)
	}
	return nil
}

// recordNames are the fields of a record: of a flight, or of reference data, or of both where
// the kind is not known.
func (f *file) recordNames() []string {
	flights, references := f.families()
	var out []string
	if flights {
		out = append(append(out, "flid", "ffid"), f.cat.Tags()...)
		for _, k := range f.cat.Kinds {
			out = append(out, k.Elements...)
		}
	}
	if references {
		out = append(out, "key", "value")
	}
	return out
}

// families tells which records the file may see.
func (f *file) families() (flights, references bool) {
	kinds := f.served()
	if len(kinds) == 0 {
		return true, true
	}
	for _, k := range kinds {
		flights = flights || k.Family != message.Reference
		references = references || k.Family == message.Reference
	}
	return flights, references
}
