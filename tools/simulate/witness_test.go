package simulate_test

import (
	"fmt"
	"sync"

	"msgx/engine/decision"
	"msgx/engine/flight"
)

// witness looks at every write and remembers the first that breaks a promise.
type witness struct {
	w         *world
	s         *scheduler
	processes int
	versions  map[flight.ID][]int64 // the messages that made them
	finished  int64                 // the highest id that has finished
	delivered map[[2]int64]bool     // slot and event id, landed before
	lanes     [2]map[string]lane    // of both targets
	refused   map[int64]bool        // events that the broker refused once

	mu        sync.Mutex // a stage may end while another works
	violation string
}

// lane is what the topic has taken of a key or a flight.
type lane struct {
	highest int64 // event
	known   int64 // highest event whose landing its sender knows of
	by      int64 // lease epoch of that sender
}

func newWitness(w *world) *witness {
	return &witness{w: w, versions: map[flight.ID][]int64{}, delivered: map[[2]int64]bool{}, lanes: [2]map[string]lane{{}, {}}, refused: map[int64]bool{}}
}

func (x *witness) violate(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.violation == "" {
		x.violation = fmt.Sprintf(format, args...)
		x.s.note("VIOLATION: %s", x.violation)
	}
}

func (x *witness) guilty() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.violation != ""
}

// wrote sees each commit of each process.
func (x *witness) wrote(c conn, name string) {
	if c.epoch != x.w.db.epoch {
		x.violate("%s by process %d under epoch %d, when epoch %d holds the lease", name, c.in.number, c.epoch, x.w.db.epoch)
	}
}

// advanced sees the watermark.
func (x *witness) advanced() {
	d, now := x.w.db, x.w.now()
	for _, r := range x.w.rows {
		switch {
		case r.id > d.cursor.Watermark || r.id <= d.seed || d.records[r.id] != nil, r.undone, r.late:
		case r.vanishes > 0 && now >= r.vanishes:
		case r.vanishes > 0: // it may have gone between the read and the write; the model asks no more of it
		default:
			x.violate("the watermark %d has passed row %d, which is visible from %s", d.cursor.Watermark, r.id, r.visible)
		}
	}
}

// settling sees each outcome before it is stored.
func (x *witness) settling(r *record, s decision.Settlement) {
	d := x.w.db
	if !r.unfinished() {
		x.violate("message %d is %s and becomes %s", r.id, r.state, s.Outcome.State)
	}
	if r.id > d.cursor.Watermark {
		x.violate("message %d is decided above the watermark %d", r.id, d.cursor.Watermark)
	}
	if !s.Outcome.State.Terminal() {
		return
	}
	if r.id <= x.finished {
		x.violate("message %d finishes after message %d", r.id, x.finished)
	}
	x.finished = r.id
	for _, id := range d.order {
		if other := d.records[id]; other.unfinished() && id < r.id {
			x.violate("message %d finishes before message %d", r.id, id)
		}
	}
}

// advancedFlight sees each version.
func (x *witness) advancedFlight(a decision.Advance) {
	id := a.After.ID
	x.versions[id] = append(x.versions[id], a.After.LastMsgID)
	if want := int64(len(x.versions[id])); a.After.Version != want {
		x.violate("flight %s goes to version %d by message %d, want %d", id, a.After.Version, a.After.LastMsgID, want)
	}
}

// marking sees each mark.
func (x *witness) marking(c conn, id int64) {
	if r := x.w.db.records[id]; r == nil || r.unfinished() {
		x.violate("process %d marks message %d, which is not finished", c.in.number, id)
	}
}

// publishing sees who begins to send.
func (x *witness) publishing(c conn) {
	if c.epoch != x.w.db.epoch && !c.in.dead.Load() {
		x.violate("process %d sends under epoch %d, when epoch %d holds the lease", c.in.number, c.epoch, x.w.db.epoch)
	}
}

// landed sees each record that a topic takes; acknowledged tells that its sender knows. First landings of KAFKA:msg are in
// order. No landing that a leader causes comes after a later event of the lane that it knows
// to have landed, or that an earlier one has put on record; an old request of an earlier leader may arrive late, which readers tell by its version.
func (x *witness) landed(r sent, acknowledged bool) {
	key := [2]int64{int64(r.target), r.id}
	first := !x.delivered[key] && r.target == slotMsg
	x.delivered[key] = true
	for _, lane := range [2]string{r.key + " key", r.flid} {
		l := x.lanes[r.target-slotMsg][lane]
		if first && r.id < l.highest {
			x.violate("event %d lands for the first time after event %d (%s)", r.id, l.highest, lane)
		}
		if r.id < l.known && (r.by == l.by || r.by > l.by && x.w.db.table.confirmed(l.known)) {
			x.violate("event %d lands after event %d, which the sender of epoch %d knows to have landed (%s)", r.id, l.known, l.by, lane)
		}
		l.highest = max(l.highest, r.id)
		if acknowledged && r.id >= l.known {
			l.known, l.by = r.id, r.by
		}
		x.lanes[r.target-slotMsg][lane] = l
	}
}

// outcomeOf is what became of a message, in few words.
func outcomeOf(r *record) string {
	return fmt.Sprintf("%s %s after %d failures", r.state, r.class, r.attempts)
}
