package consume

import (
	"encoding/json"

	"msgx/engine/flight"
)

// Latest keeps the latest state of each flight, from KAFKA:schd. The zero value is ready.
//
// Besides the flights that are there it remembers the versions at which as many as Gone says were deleted, so that a late repeat
// brings none of them back; with one more it forgets the one that was deleted longest ago.
type Latest struct {
	Gone int // 0 is DefaultFlights

	there map[flight.ID]state
	gone  recent[int64]
}

type state struct {
	version int64
	whole   json.RawMessage
}

// Take brings the table up to date with a record and tells whether it changed anything. A version that
// is not above the known one is a repeat.
func (l *Latest) Take(e Event) bool {
	if l.there == nil {
		l.there = map[flight.ID]state{}
	}
	switch {
	case e.Version <= l.Version(e.FLID):
		return false
	case e.Whole == nil:
		delete(l.there, e.FLID)
		l.gone.put(e.FLID, e.Version, limit(l.Gone))
	default: // revived, if it was gone
		l.gone.remove(e.FLID)
		l.there[e.FLID] = state{e.Version, e.Whole}
	}
	return true
}

// State is the latest state of a flight; false when there is none, or it is deleted.
func (l *Latest) State(id flight.ID) (json.RawMessage, bool) {
	s, ok := l.there[id]
	return s.whole, ok
}

// Version is the latest version that was seen of a flight, 0 for none.
func (l *Latest) Version(id flight.ID) int64 {
	if s, ok := l.there[id]; ok {
		return s.version
	}
	version, _ := l.gone.get(id)
	return version
}

// Len is how many flights there are.
func (l *Latest) Len() int { return len(l.there) }
