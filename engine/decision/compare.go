package decision

import (
	"slices"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
)

// The paths of changes that are no tag of the catalogue.
const (
	PathState        = "STATE"
	PathOperationDay = "OPERATION_DAY"
	PathMembers      = "MAFL"
)

var nothing = &flight.State{}

// compare fills in what differs between the two states of an advance.
func (a *application) compare(adv *Advance, was []flight.Member) {
	before, after := adv.Before, adv.After
	if before == nil {
		before = nothing
	}
	run := &jsonRun{}
	if before.Status != after.Status {
		adv.add(PathState, run.text(string(before.Status)), run.text(string(after.Status)))
	}
	if before.OperationDay != after.OperationDay {
		adv.add(PathOperationDay, run.text(before.OperationDay), run.text(after.OperationDay))
	}
	compareFields(run, adv, a.catalogue.Flight.Scalars, "", before, after)
	for i := range a.catalogue.Flight.Objects {
		o := &a.catalogue.Flight.Objects[i]
		compareFields(run, adv, o.Parts, o.Tag+".", before, after)
	}
	for i := range a.catalogue.Flight.Lists {
		l := &a.catalogue.Flight.Lists[i]
		old, now := before.Lists[l.Tag], after.Lists[l.Tag]
		if !flight.EqualRecords(old, now) {
			adv.add(l.Tag, run.records(l, old), run.records(l, now))
			adv.Lists = append(adv.Lists, l.Tag)
		}
	}
	if !slices.Equal(was, after.Members) {
		adv.add(PathMembers, run.members(was), run.members(after.Members))
	}
}

func compareFields(run *jsonRun, adv *Advance, fields []catalogue.Field, prefix string, before, after *flight.State) {
	for i := range fields {
		path := fields[i].Tag
		if path == "FLID" && prefix == "" {
			continue
		}
		if prefix != "" {
			path = prefix + path
		}
		old, had := before.Fields[path]
		if now, has := after.Fields[path]; had != has || old != now {
			adv.add(path, run.value(fields[i].Type, before.Fields, path), run.value(fields[i].Type, after.Fields, path))
		}
	}
}

func (adv *Advance) add(path string, before, after []byte) {
	adv.Changed = append(adv.Changed, FieldChange{Path: path, Before: before, After: after})
}
