package decision

import (
	"cmp"
	"slices"

	"msgx/engine/flight"
)

// deriveMembers gives every master that the message touched its MAFL, and
// drafts those that advance for no other reason. Which masters those are follows from the
// drafts: each is itself, its master before, and its master after.
func (a *application) deriveMembers() {
	if len(a.drafts) == 0 {
		return
	}
	touched := make(map[flight.ID]bool, len(a.drafts))
	for id, d := range a.drafts {
		touched[id] = true
		for _, s := range []*flight.State{d.before, d.after} {
			if s == nil {
				continue
			}
			if master, child := s.Master(); child {
				touched[master] = true
			}
		}
	}
	before, after := a.children(touched)
	for id := range touched {
		old := a.view.Flights[id]
		var was, is []flight.Member
		if old.IsMaster() {
			was = before[id]
		}
		if d, drafted := a.drafts[id]; drafted {
			d.was = was
			if d.after.IsMaster() {
				d.after.Members = after[id]
			}
			continue
		}
		if old.IsMaster() {
			is = after[id]
		}
		if !slices.Equal(was, is) {
			next := start(&Change{FLID: id, Op: Update}, old)
			next.Members = is
			a.drafts[id] = &draft{op: Update, before: old, after: next, was: was}
		}
	}
}

// children lists the active children of the touched flights, by FLID, as
// they stand before the message and after it.
func (a *application) children(touched map[flight.ID]bool) (before, after map[flight.ID][]flight.Member) {
	before, after = make(map[flight.ID][]flight.Member), make(map[flight.ID][]flight.Member)
	add := func(to map[flight.ID][]flight.Member, s *flight.State) {
		if s == nil || s.Status != flight.Active {
			return
		}
		if master, child := s.Master(); child && touched[master] && master != s.ID {
			to[master] = append(to[master], flight.Member{FLID: s.ID, FLNO: s.Fields["FLNO"]})
		}
	}
	for id, s := range a.view.Flights {
		add(before, s)
		if _, drafted := a.drafts[id]; !drafted {
			add(after, s)
		}
	}
	for _, d := range a.drafts {
		add(after, d.after)
	}
	for _, lists := range []map[flight.ID][]flight.Member{before, after} {
		for _, members := range lists {
			slices.SortFunc(members, func(x, y flight.Member) int { return cmp.Compare(x.FLID, y.FLID) })
		}
	}
	return before, after
}

// now is the state of a flight after the message.
func (a *application) now(id flight.ID) *flight.State {
	if d, drafted := a.drafts[id]; drafted {
		return d.after
	}
	return a.view.Flights[id]
}
