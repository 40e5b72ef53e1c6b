package feed

import (
	"maps"
	"slices"

	"msgx/engine/message"
)

// model knows as much of every flight as decides about outcomes.
type model struct {
	flights map[int64]*known
	deleted []int64 // in the order of their deletion, revived ones among them
}

type known struct {
	active bool
	master int64 // MAID, 0 when empty
	plan   *flight
}

func newModel() *model { return &model{flights: map[int64]*known{}} }

// verb is what a record of a message does to a flight.
type verb string

const (
	scheduled verb = "scheduled" // DNLD: creates, updates or revives
	added     verb = "added"     // ADFT: likewise, without clearing anything
	operated  verb = "operated"  // FLOP: changes an active flight
	dropped   verb = "dropped"   // FDEL
)

// touch is one record as the model sees it.
type touch struct {
	verb   verb
	flid   int64
	master int64
	leaves bool // MAID is there and empty
	plan   *flight
}

var succeeded = Expect{State: message.Succeeded}

// apply takes a message's records and says what becomes of the message.
func (m *model) apply(touches []touch) Expect {
	left, reason := 0, ""
	for _, t := range touches {
		k := m.flights[t.flid]
		switch t.verb {
		case scheduled, added:
			m.schedule(t, k)
		case dropped:
			m.drop(t.flid, k)
		case operated:
			why := ""
			switch {
			case k == nil:
				why = "flight-unknown"
			case !k.active:
				why = "flight-deleted"
			}
			if why != "" {
				left++
				if reason == "" {
					reason = why
				} else if reason != why {
					reason = "flight-"
				}
			}
		}
	}
	if left > 0 && left == len(touches) {
		return Expect{State: message.Skipped, Reason: reason}
	}
	return succeeded
}

func (m *model) schedule(t touch, k *known) {
	switch {
	case k == nil:
		m.flights[t.flid] = &known{active: true, master: t.master, plan: t.plan}
	case !k.active: // starts blank
		k.active, k.master = true, t.master
	case t.master != 0 || t.leaves:
		k.master = t.master
	}
}

// drop deletes a flight, and with a master its active children.
func (m *model) drop(flid int64, k *known) {
	if k == nil || !k.active {
		return
	}
	k.active = false
	m.deleted = append(m.deleted, flid)
	if k.master != 0 {
		return
	}
	for _, child := range slices.Sorted(maps.Keys(m.flights)) {
		if c := m.flights[child]; c.active && c.master == flid {
			c.active = false
			m.deleted = append(m.deleted, child)
		}
	}
}

// dead lists the flights that are deleted now.
func (m *model) dead() []*flight {
	var out []*flight
	seen := map[int64]bool{}
	for _, flid := range m.deleted {
		if k := m.flights[flid]; !k.active && !seen[flid] {
			seen[flid] = true
			out = append(out, k.plan)
		}
	}
	return out
}
