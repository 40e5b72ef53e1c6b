package simulate_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/event"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/watermark"
)

// expected is what a row alone in the world comes to.
type expected struct {
	state    message.State
	class    message.ErrorClass
	failures int
	binds    bool // its identity
}

// alone goes through the attempts of a row one by one. taken tells that somebody before it has its identity.
func (r *row) alone(taken bool) expected {
	var e expected
	for {
		f := r.at(e.failures)
		reads := f != malformed && f != codecError && f != unreadable
		if reads && taken {
			e.state = message.Skipped
			return e
		}
		e.binds = e.binds || reads
		switch f {
		case succeed:
			e.state = message.Succeeded
			return e
		case skip:
			e.state = message.Skipped
			return e
		case protocol, malformed:
			e.state, e.class = message.Dead, message.Protocol
			if f == malformed {
				e.class = message.Malformed
			}
			e.failures++
			return e
		}
		e.failures++
		if e.failures == maxAttempts {
			e.state, e.class = message.Dead, message.Exhausted
			return e
		}
	}
}

// unfinished says what is still to be done, "" when nothing is.
func (w *world) unfinished() string {
	d := w.db
	for _, r := range w.rows {
		if d.cursor != nil && r.id <= d.seed {
			if r.visible > d.seeded && !r.undone && r.vanishes == 0 && !d.late[r.id] {
				return fmt.Sprintf("row %d, below the seed %d, turned up later and is not on record", r.id, d.seed)
			}
			continue
		}
		if d.records[r.id] == nil && !r.undone && r.vanishes == 0 && (!r.late || !d.late[r.id]) {
			return fmt.Sprintf("row %d is not enqueued", r.id)
		}
	}
	for _, id := range d.order {
		switch r := d.records[id]; {
		case r.unfinished():
			return fmt.Sprintf("message %d is %s", id, outcomeOf(r))
		case d.owes(r):
			return fmt.Sprintf("message %d owes its mark", id)
		}
	}
	for _, e := range d.table.entries {
		if e.state == event.Pending {
			return fmt.Sprintf("event %d of %s is not sent", e.ID, e.Target)
		}
	}
	if len(w.broker.flying)+len(d.doubts) > 0 {
		return "something is on its way"
	}
	return ""
}

// atRest tells that nothing more will happen. A row that has vanished may never have been seen.
func (w *world) atRest() bool {
	last := w.rows[len(w.rows)-1]
	return w.now() > last.visible+time.Second && w.unfinished() == ""
}

// judge holds the end of a schedule against the model.
func (w *world) judge() {
	w.judgeMessages()
	w.judgeLedger()
	w.judgeTopics()
}

func (w *world) judgeMessages() {
	bound := map[string]bool{}
	versions := map[flight.ID][]int64{}
	for _, r := range w.rows {
		got := w.db.records[r.id]
		if got == nil {
			continue
		}
		want := r.alone(bound[r.identity])
		same := got.state == want.state && got.class == want.class && got.attempts == want.failures
		missing := r.vanishes > 0 && got.state == message.Dead && got.class == message.Malformed
		if !same && !missing {
			w.violate("message %d (%v, identity %s taken: %v) is %s, want %s %s after %d failures", r.id, r.fates, r.identity, bound[r.identity],
				outcomeOf(got), want.state, want.class, want.failures)
		}
		bound[r.identity] = bound[r.identity] || got.identity != ""
		if got.state == message.Succeeded {
			for _, id := range r.flights {
				versions[id] = append(versions[id], r.id)
			}
		}
		switch {
		case got.confirm && r.mark == 0:
			w.violate("the mark of message %d is confirmed and not there", r.id)
		case got.givenUp != "" && (got.givenUp != message.AbandonMissingRow || r.vanishes == 0 && r.purged == 0):
			w.violate("the mark of message %d is given up: %s", r.id, got.givenUp)
		}
	}
	if diff := cmp.Diff(versions, w.versions); diff != "" {
		w.violate("versions of flights, by the messages that made them (-want +got):\n%s", diff)
	}
}

// judgeLedger accounts for every id up to the watermark.
func (w *world) judgeLedger() {
	d := w.db
	if d.cursor == nil {
		w.violate("nothing was ever read")
		return
	}
	before := d.seed
	for id := d.seed + 1; id <= d.cursor.Watermark; id++ {
		if d.records[id] != nil {
			before = id
			continue
		}
		released := slices.ContainsFunc(d.ledger, func(h watermark.Hole) bool {
			return h.Outcome == watermark.HoleAged && h.First <= id && id <= h.Last
		})
		next, _ := slices.BinarySearch(d.order, id)
		within := next < len(d.order) && d.order[next]-before <= w.configured
		if !released && !within {
			w.violate("id %d is neither enqueued nor in a released hole: %v", id, d.ledger)
		}
	}
}

// judgeTopics reads both topics as a consumer would.
func (w *world) judgeTopics() {
	latest := map[string]int64{}
	for _, r := range w.broker.topics[1] {
		latest[r.flid] = max(latest[r.flid], r.version) // the guard by version
	}
	seen := map[int64]bool{}
	for _, r := range w.broker.topics[0] {
		seen[r.id] = true
	}
	changes := map[flight.ID]int{}
	for _, e := range w.db.table.entries {
		poison := w.byID[e.MsgID].poison
		if (e.state == event.Dead) != poison {
			w.violate("event %d of %s is %s, poison: %v", e.ID, e.Target, e.state, poison)
		}
		switch {
		case e.Target == event.Msg:
			changes[e.FLID]++
			if !poison && !seen[e.ID] {
				w.violate("event %d is %s and was never delivered", e.ID, e.state)
			}
		case e.Version != w.db.flights[e.FLID].Version:
			w.violate("flight %s is at version %d, its latest state says %d", e.FLID, w.db.flights[e.FLID].Version, e.Version)
		case !poison && latest[e.FLID.String()] != e.Version:
			w.violate("flight %s is at version %d, the topic of latest states at %d", e.FLID, e.Version, latest[e.FLID.String()])
		}
	}
	for id, messages := range w.versions {
		if changes[id] != len(messages) {
			w.violate("flight %s has %d versions and %d events", id, len(messages), changes[id])
		}
	}
}
