package consume

import "msgx/engine/flight"

// Arrival is what a record of KAFKA:msg is to a reader.
type Arrival string

// The arrivals.
const (
	New    Arrival = "NEW"    // a version that comes next, or after some that are missing
	Repeat Arrival = "REPEAT" // a version that was there already
	Late   Arrival = "LATE"   // a version that was missing: from another partition, or sent again by an operator
)

// Feed tells the arrivals of KAFKA:msg apart. The zero value is ready.
//
// It remembers as many flights as Flights says, and of each its latest version and up to 100 that are missing below. With
// one flight more it forgets the one that has told nothing for longest, which then begins anew: a repeat
// of it is taken for new. A missing version that is forgotten arrives as a repeat.
type Feed struct {
	Flights int // 0 is DefaultFlights

	known recent[*progress]
}

// progress is how far a flight has come.
type progress struct {
	last    int64
	missing map[int64]bool
}

// DefaultFlights is how many flights are remembered unless told otherwise: about 20 MB, and months of a large airport.
const DefaultFlights = 100_000

// missingLimit is how many missing versions of a flight are remembered: what is older arrives as a repeat.
const missingLimit = 100

// Take tells what a record is, and how many versions of its flight are missing just before it.
func (f *Feed) Take(id flight.ID, version int64) (a Arrival, missing int64) {
	p, known := f.known.get(id)
	if !known { // whoever begins in the middle misses nothing
		f.known.put(id, &progress{last: version}, limit(f.Flights))
		return New, 0
	}
	switch {
	case version > p.last:
		missing = version - p.last - 1
		p.pass(version)
		return New, missing
	case p.missing[version]:
		delete(p.missing, version)
		return Late, 0
	}
	return Repeat, 0
}

// pass goes on to a version, and notes what is missing before it.
func (p *progress) pass(version int64) {
	for v := max(p.last+1, version-missingLimit); v < version; v++ {
		if p.missing == nil {
			p.missing = map[int64]bool{}
		}
		p.missing[v] = true
	}
	for v := range p.missing {
		if v < version-missingLimit {
			delete(p.missing, v)
		}
	}
	p.last = version
}

// Missing is how many versions of a flight, of those that are remembered, have not arrived.
func (f *Feed) Missing(id flight.ID) int {
	if p, known := f.known.get(id); known {
		return len(p.missing)
	}
	return 0
}

func limit(n int) int {
	if n <= 0 {
		return DefaultFlights
	}
	return n
}
