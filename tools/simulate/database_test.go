package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/watermark"
)

// record is a message in our database.
type record struct {
	id       int64
	state    message.State
	class    message.ErrorClass
	attempts int
	next     time.Time
	identity string
	raw      bool
	confirm  bool   // the mark is confirmed
	givenUp  string // or not, and why
	tries    int    // to mark
	failed   time.Time
	nextMark time.Time
}

func (r *record) unfinished() bool { return r.state == message.Pending || r.state == message.Failed }

// doubt is a commit whose reply was lost before the server was done with it.
type doubt struct {
	until   time.Duration
	effect  func() error
	commits bool
}

// hold is an open transaction, which shares the lease epoch.
type hold struct {
	since  time.Duration
	ended  bool        // by the server
	closed atomic.Bool // by its owner, who may do so at any time
}

// database is our own database. Whatever happens to it happens while all stages wait.
type database struct {
	w       *world
	epoch   int64
	holder  int
	beat    time.Duration
	free    bool // released, or never held
	cursor  *watermark.Cursor
	ledger  []watermark.Hole
	late    map[int64]bool
	seed    int64 // the first watermark
	seeded  time.Duration
	records map[int64]*record
	order   []int64 // ids of records, ascending
	flights map[flight.ID]*flight.State
	table   outboxTable
	doubts  []doubt
	holds   []*hold
}

func newDatabase(w *world) *database {
	return &database{w: w, free: true, late: map[int64]bool{}, records: map[int64]*record{}, flights: map[flight.ID]*flight.State{}}
}

// settleDoubts ends the commits whose time has come.
func (d *database) settleDoubts(now time.Duration) {
	for i := 0; i < len(d.doubts); i++ {
		if q := d.doubts[i]; now >= q.until {
			d.doubts = slices.Delete(d.doubts, i, i+1)
			i--
			if q.commits {
				_ = q.effect() // nobody is there to be told
			}
		}
	}
}

// lock waits for whoever is still at it.
func (d *database) lock() { d.settleDoubts(1 << 62) }

// write is one transaction of one call: effect is called at most once, and its own error is a refusal.
func (c conn) write(ctx context.Context, k kind, name string, args any, effect func() error) error {
	d := c.world().db
	v, err := c.at(ctx, k, name, args)
	d2 := func() error {
		if d.epoch != c.epoch && c.world().mutant != noFence {
			return fault.ErrFenced
		}
		c.world().wrote(c, name)
		return effect()
	}
	switch v {
	case through, lost:
		d.lock()
		if refused := d2(); refused != nil {
			return fmt.Errorf("%s: %w", name, refused)
		}
	case pending:
		t := c.world().tape
		d.doubts = append(d.doubts, doubt{until: c.world().now() + one(t, time.Millisecond, time.Second, sessionBound), effect: d2, commits: t.draw(2) > 0})
	}
	return err
}

// Paused tells what an operator holds: nothing.
func (c conn) Paused(ctx context.Context) (map[string]bool, error) {
	if c.slot != slotInbox { // one reader is enough; the others would only make schedules longer
		return nil, nil
	}
	_, err := c.at(ctx, reads, "Paused", nil)
	return nil, err
}

// Cursor reads the reading progress as it is stored.
func (c conn) Cursor(ctx context.Context) (watermark.Cursor, bool, error) {
	if _, err := c.at(ctx, reads, "Cursor", nil); err != nil {
		return watermark.Cursor{}, false, err
	}
	d := c.world().db
	if d.cursor == nil {
		return watermark.Cursor{}, false, nil
	}
	cursor := *d.cursor
	cursor.HoleSince, cursor.HoleLast = cursor.HoleSince.Truncate(time.Microsecond), 0
	for _, h := range d.ledger {
		if h.Outcome == watermark.HoleOpen && h.First == cursor.Watermark+1 && !cursor.HoleSince.IsZero() {
			cursor.HoleLast = h.Last
		}
	}
	return cursor, true, nil
}

// AgedHoles are released holes.
func (c conn) AgedHoles(ctx context.Context, since time.Time) ([]watermark.Hole, error) {
	if _, err := c.at(ctx, reads, "AgedHoles", nil); err != nil {
		return nil, err
	}
	var found []watermark.Hole
	for _, h := range c.world().db.ledger {
		if h.Outcome == watermark.HoleAged && !h.At.Before(since) {
			found = append(found, h)
		}
	}
	return found, nil
}

// Seed sets the watermark once.
func (c conn) Seed(ctx context.Context, mark int64, _ string, missing []watermark.Hole, at time.Time) error {
	return c.write(ctx, writes, "Seed", mark, func() error {
		d := c.world().db
		if d.cursor != nil {
			return fault.ErrRefused
		}
		d.cursor = &watermark.Cursor{Watermark: mark, SeededAt: at}
		if c.world().mutant != seedAlone {
			d.ledger = append(d.ledger, missing...)
		}
		d.seed, d.seeded = mark, c.world().now()
		return nil
	})
}

// Advance stores a round of the inbox.
func (c conn) Advance(ctx context.Context, step watermark.Step, _ time.Time) (enqueued int, err error) {
	w := c.world()
	err = c.write(ctx, writes, "Advance", describe(step), func() error {
		d := w.db
		if d.cursor.Watermark > step.Cursor.Watermark {
			return fault.ErrMoved
		}
		for _, row := range step.Enqueue {
			if d.records[row.MsgID] == nil && w.mutant != cursorAlone {
				d.records[row.MsgID] = &record{id: row.MsgID, state: message.Pending}
				at, _ := slices.BinarySearch(d.order, row.MsgID)
				d.order = slices.Insert(d.order, at, row.MsgID)
				enqueued++
			}
		}
		cursor := step.Cursor
		d.cursor = &cursor
		for _, h := range step.Holes {
			d.ledger = slices.DeleteFunc(d.ledger, func(known watermark.Hole) bool {
				return known.First == h.First && known.Outcome == watermark.HoleOpen
			})
			d.ledger = append(d.ledger, h)
		}
		w.advanced()
		return nil
	})
	return enqueued, err
}

func describe(step watermark.Step) string {
	ids := []int64{}
	for _, row := range step.Enqueue {
		ids = append(ids, row.MsgID)
	}
	text := fmt.Sprintf("%v to %d", ids, step.Cursor.Watermark)
	for _, h := range step.Holes {
		text += fmt.Sprintf(" hole %d-%d %s", h.First, h.Last, h.Outcome)
	}
	return text
}

// RecordLate notes late rows.
func (c conn) RecordLate(ctx context.Context, rows []watermark.Row, _ time.Time) error {
	return c.write(ctx, writes, "RecordLate", len(rows), func() error {
		for _, row := range rows {
			c.world().db.late[row.MsgID] = true
		}
		return nil
	})
}

// transaction is one of several calls: begin, what is done within, commit.
func (c conn) transaction(ctx context.Context, name string, args any, begin func() error, within func() error, commit func() error) error {
	d := c.world().db
	if _, err := c.at(ctx, begins, name, args); err != nil {
		return err
	}
	d.lock()
	if d.epoch != c.epoch && c.world().mutant != noFence {
		return fault.ErrFenced
	}
	h := &hold{since: c.world().now()}
	d.holds = append(d.holds, h)
	defer h.closed.Store(true)
	if err := begin(); err != nil {
		return err
	}
	if err := within(); err != nil {
		return err
	}
	return c.commit(ctx, name, h, commit)
}

var errIdle = errors.New("terminating connection due to idle-in-transaction timeout")

func (c conn) commit(ctx context.Context, name string, h *hold, effect func() error) error {
	w := c.world()
	v, err := c.at(ctx, commits, name+" commits", "")
	all := func() error {
		w.wrote(c, name)
		return effect()
	}
	switch {
	case h.ended && v <= pending: // whatever else would have happened to it
		return fmt.Errorf("%s: %w", name, errIdle)
	case v == through || v == lost:
		if refused := all(); refused != nil {
			return fmt.Errorf("%s: %w", name, refused)
		}
	case v == pending:
		w.db.doubts = append(w.db.doubts, doubt{until: w.now() + one(w.tape, time.Millisecond, time.Second, sessionBound), effect: all, commits: w.tape.draw(2) > 0})
	}
	return err
}

// ClaimLease takes the lease over when its holder has been silent.
func (c conn) ClaimLease(ctx context.Context, _ string, _ time.Duration) (int64, bool, error) {
	v, err := c.at(ctx, elects, "ClaimLease", "")
	d := c.world().db
	if (err != nil && v != lost) || !d.stale() || !d.endHolds() {
		return 0, false, err
	}
	epoch := d.takeOver(c.in.number)
	return epoch, err == nil, err
}

func (d *database) stale() bool { return d.free || d.w.now()-d.beat > leaseTime }

// endHolds waits for open transactions, which the server ends when they last too long.
func (d *database) endHolds() bool {
	d.holds = slices.DeleteFunc(d.holds, func(h *hold) bool { return h.closed.Load() })
	for _, h := range d.holds {
		if d.w.now()-h.since < sessionBound && d.w.mutant != impatientClaim {
			return false
		}
		h.ended = d.w.mutant != impatientClaim
	}
	return true
}

func (d *database) takeOver(holder int) int64 {
	d.lock()
	d.epoch++
	d.holder, d.beat, d.free = holder, d.w.now(), false
	d.w.s.note("%d holds the lease, epoch %d", holder, d.epoch)
	return d.epoch
}

// BeatLease keeps the lease.
func (c conn) BeatLease(ctx context.Context, epoch int64, _ string) error {
	return c.beat(ctx, "BeatLease", epoch, func(d *database) {})
}

// ReleaseLease gives it up.
func (c conn) ReleaseLease(ctx context.Context, epoch int64, _ string) error {
	return c.beat(ctx, "ReleaseLease", epoch, func(d *database) { d.free = true })
}

func (c conn) beat(ctx context.Context, name string, epoch int64, then func(*database)) error {
	v, err := c.at(ctx, elects, name, epoch)
	if err != nil && v != lost {
		return err
	}
	d := c.world().db
	if d.epoch != epoch || d.free {
		return fault.ErrFenced
	}
	d.beat = d.w.now()
	then(d)
	return err
}

// head is a record as the pump sees it.
func (r *record) head() message.Head {
	h := message.Head{MsgID: r.id, State: r.state, Attempts: r.attempts, Identity: r.identity, Class: r.class}
	if r.state == message.Failed {
		h.NextAttemptAt = r.next
	}
	return h
}

// first is the smallest unfinished record.
func (d *database) first() *record {
	for _, id := range d.order {
		if r := d.records[id]; r.unfinished() {
			return r
		}
	}
	return nil
}

// view is what the judge sees of flights.
func (d *database) view(ids []flight.ID) decision.View {
	v := decision.View{Flights: map[flight.ID]*flight.State{}}
	for _, id := range ids {
		if f := d.flights[id]; f != nil {
			v.Flights[id] = f.Clone()
		}
	}
	return v
}
