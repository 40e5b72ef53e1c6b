package outbox

import (
	"time"

	"msgx/engine/event"
	"msgx/engine/flight"
)

// lanes is a set of lanes: keys and flights.
type lanes struct {
	keys    map[string]bool
	flights map[flight.ID]bool
}

func newLanes() lanes {
	return lanes{keys: map[string]bool{}, flights: map[flight.ID]bool{}}
}

func (l lanes) block(e event.Event) { l.keys[e.Key], l.flights[e.FLID] = true, true }

func (l lanes) blocked(e event.Event) bool { return l.keys[e.Key] || l.flights[e.FLID] }

// plan splits events, in ascending order, into those that may be sent together
// now and those that have to wait for them. Events in blocked lanes are in
// neither: they wait for a later round, and so does what follows them, which is why
// plan adds the lanes of each to blocked.
func plan(events []event.Event, blocked lanes) (wave, later []event.Event) {
	behind := newLanes()                // lanes of events that wait for this wave
	announced := map[flight.ID]string{} // flights of the wave, and under which key
	for _, e := range events {
		if blocked.blocked(e) {
			blocked.block(e)
			continue
		}
		key, before := announced[e.FLID]
		if behind.blocked(e) || (before && key != e.Key) {
			behind.block(e)
			later = append(later, e)
			continue
		}
		announced[e.FLID] = e.Key
		wave = append(wave, e)
	}
	return wave, later
}

// holds keeps lanes from being sent in before their time: after a send whose
// outcome is unknown, and while their partition has trouble.
type holds struct {
	keys     map[string]time.Time
	flights  map[flight.ID]time.Time
	failures map[string]int // passing failures in a row, by key
}

func newHolds() holds {
	return holds{keys: map[string]time.Time{}, flights: map[flight.ID]time.Time{}, failures: map[string]int{}}
}

// fail counts a passing failure of the event's key and returns how many there were in a row.
func (h holds) fail(e event.Event) int {
	h.failures[e.Key]++
	return h.failures[e.Key]
}

func (h holds) until(e event.Event, at time.Time) {
	if h.keys[e.Key].Before(at) {
		h.keys[e.Key] = at
	}
	if h.flights[e.FLID].Before(at) {
		h.flights[e.FLID] = at
	}
}

func (h holds) landed(e event.Event) { delete(h.failures, e.Key) }

// none tells whether no lane is held; then no failure is remembered either.
func (h holds) none() bool {
	if len(h.keys)+len(h.flights) > 0 {
		return false
	}
	clear(h.failures)
	return true
}

// active returns the lanes that are held now and forgets the others.
func (h holds) active(now time.Time) lanes {
	l := newLanes()
	for key, until := range h.keys {
		if until.After(now) {
			l.keys[key] = true
		} else {
			delete(h.keys, key)
		}
	}
	for id, until := range h.flights {
		if until.After(now) {
			l.flights[id] = true
		} else {
			delete(h.flights, id)
		}
	}
	return l
}
