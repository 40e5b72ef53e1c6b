package simulate_test

import (
	"fmt"
	"time"

	"msgx/engine/flight"
	"msgx/engine/message"
)

// What every schedule has in common. Times are short, so that few rounds are spent on waiting.
const (
	commitDelay  = 2 * time.Second // what the owner of the mailbox promises
	leaseTime    = 10 * time.Second
	sessionBound = 4 * time.Second // how long the database lets a session hold a transaction open
	brokerBound  = 5 * time.Second // the broker's request time-out
	maxAttempts  = 3
)

var tiers = []time.Duration{200 * time.Millisecond, 500 * time.Millisecond}

// fate is what one counted attempt at a message comes to.
type fate int

const (
	succeed fate = iota
	skip
	protocol
	malformed
	codecError
	ruleError
	infra      // the transaction fails on it
	unreadable // the mailbox answers, but not with its body
)

// row is one row of the mailbox, with its whole life in it.
type row struct {
	id       int64
	begun    time.Duration // its id is handed out
	visible  time.Duration // its transaction commits
	undone   bool          // or rolls back
	late     bool          // it breaks the promise
	purged   time.Duration // its owner removes it so long after the mark, 0 for never
	vanishes time.Duration // its owner removes it whatever its state, 0 for never

	fates    []fate // of its attempts; the last repeats
	flights  []flight.ID
	identity string
	poison   bool // no broker ever takes its events

	mark time.Duration // when it was marked, 0 while it is not
}

func (r *row) at(attempts int) fate { return r.fates[min(attempts, len(r.fates)-1)] }

func (r *row) seen(now time.Duration) bool {
	switch {
	case r.undone, now < r.visible:
		return false
	case r.vanishes > 0 && now >= r.vanishes, r.purged > 0 && r.mark > 0 && now >= r.mark+r.purged:
		return false
	}
	return true
}

// settings are what a schedule chooses of the configuration, and which troubles it has at all:
// schedules with few kinds of trouble get deeper into them.
type settings struct {
	instances  int
	stride     int64 // of the mailbox's ids
	configured int64 // what msgx is told, at most that
	cutover    string
	opening    time.Duration // when the instances start first
	claim      int
	ahead      int
	batch      int // of back-fill and outbox
	trouble    trouble
}

type trouble struct{ database, mailbox, broker, instances bool }

// world is the mailbox, our database and the broker, and what is known of them.
type world struct {
	settings
	tape   *tape
	mutant mutant
	start  time.Time
	rows   []*row
	byID   map[int64]*row
	db     *database
	broker *broker
	*witness
}

func newWorld(t *tape, m mutant) *world {
	w := &world{tape: t, mutant: m, start: time.Now(), byID: map[int64]*row{}}
	w.settings = settings{
		instances: one(t, 1, 1, 2), stride: one[int64](t, 1, 1, 1, 2, 3), claim: one(t, 8, 3, 2, 1), ahead: one(t, 4, 2, 1), batch: one(t, 8, 3, 1),
		trouble: trouble{t.draw(2) > 0, t.draw(2) > 0, t.draw(2) > 0, t.draw(2) > 0},
	}
	w.cutover, w.opening = one(t, "zero", "zero", "min", "max"), t.pause(0, 0, 1000, 4000)
	w.configured = 1 + int64(t.draw(int(w.stride)))
	w.witness = newWitness(w)
	w.db, w.broker = newDatabase(w), &broker{w: w}
	w.fill()
	return w
}

func (w *world) now() time.Duration { return time.Since(w.start) }

// fill draws the life of every row.
func (w *world) fill() {
	t := w.tape
	var id int64
	now := time.Millisecond
	for n := 1 + t.draw(12); n > 0; n-- {
		id += w.stride * one[int64](t, 1, 1, 1, 1, 1, 1, 2, 4)
		now += t.pause(0, 0, 10, 300, 1000, 4000)
		r := &row{id: id, begun: now, visible: now + t.pause(0, 0, 0, 100, 1000, 2000)}
		switch t.draw(14) {
		case 10:
			r.undone = true
		case 11:
			r.late, r.visible = true, now+commitDelay+t.pause(1, 5000, 20000)
		case 12:
			r.purged = t.pause(1000, 1, 5000)
		case 13:
			r.vanishes = r.visible + t.pause(1, 500, 3000)
		}
		w.draft(r)
		w.rows, w.byID[id] = append(w.rows, r), r
	}
}

// draft draws what a row says. Each attempt may have a fate of its own.
func (w *world) draft(r *row) {
	t := w.tape
	for {
		f := one(t, succeed, succeed, succeed, succeed, succeed, succeed, succeed, skip, protocol, malformed, codecError, ruleError, infra, unreadable)
		r.fates = append(r.fates, f)
		if f < codecError || len(r.fates) == maxAttempts {
			break
		}
	}
	if r.vanishes > 0 { // when it does, is a matter of chance: then at least what it says is none
		r.fates = []fate{succeed}
	}
	r.identity = fmt.Sprint("m", r.id)
	if before := len(w.rows); before > 0 && t.chance(8) {
		r.identity = w.rows[t.draw(before)].identity
	}
	r.flights = []flight.ID{flight.ID(1 + t.draw(3))}
	if second := flight.ID(1 + t.draw(3)); second > r.flights[0] {
		r.flights = append(r.flights, second)
	}
	r.poison = t.chance(4)
}

// keyOf is under which key a flight's changes go out: 3 goes with 1, as a code share does with its master.
func keyOf(id flight.ID) string {
	if id == 3 {
		return "1"
	}
	return id.String()
}

// decoded is a row as the decoder reads it.
func (r *row) decoded() *message.Message {
	return &message.Message{ID: r.id, Kind: "FLOP-STND", Family: message.Operation, SHA256: "sha"}
}
