package simulate_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/message"
)

// entry is a row of the outbox.
type entry struct {
	event.Event
	state event.State
	next  time.Time
}

// outboxTable holds events by id.
type outboxTable struct {
	entries []*entry
	last    int64
}

// add allocates an id. A row of KAFKA:schd replaces the one that is there.
func (o *outboxTable) add(e event.Event) {
	o.last++
	e.ID = o.last
	if e.Target == event.Schd {
		o.entries = slices.DeleteFunc(o.entries, func(old *entry) bool { return old.Target == event.Schd && old.Key == e.Key })
	}
	o.entries = append(o.entries, &entry{Event: e, state: event.Pending})
}

// find is the unsent row in the generation that was read.
func (o *outboxTable) find(e event.Event) *entry {
	for _, known := range o.entries {
		if known.ID == e.ID && known.Version == e.Version && known.state == event.Pending {
			return known
		}
	}
	return nil
}

// confirmed tells whether an event is on record as sent.
func (o *outboxTable) confirmed(id int64) bool {
	return slices.ContainsFunc(o.entries, func(e *entry) bool { return e.ID == id && e.state == event.Sent })
}

// A dispatcher reads and confirms while it sends.
func (c conn) reading() conn    { c.slot += slotMsgReading - slotMsg; return c }
func (c conn) confirming() conn { c.slot += slotMsgConfirming - slotMsg; return c }

// NextMsgEvents are the unsent events behind one, none while any backs off.
func (c conn) NextMsgEvents(ctx context.Context, after int64, limit int) ([]event.Event, error) {
	if _, err := c.reading().at(ctx, reads, "NextMsgEvents", nil); err != nil {
		return nil, err
	}
	var next []event.Event
	for _, e := range c.world().db.table.entries {
		switch {
		case e.Target != event.Msg || e.state != event.Pending:
		case !e.next.IsZero():
			return nil, nil
		case e.ID > after && len(next) < limit:
			next = append(next, e.Event)
		}
	}
	return next, nil
}

// DueMsgEvents are unsent events whose lanes are free.
func (c conn) DueMsgEvents(ctx context.Context, now time.Time, limit int) ([]event.Event, error) {
	if _, err := c.reading().at(ctx, reads, "DueMsgEvents", nil); err != nil {
		return nil, err
	}
	keys, flights := map[string]bool{}, map[string]bool{}
	var due []event.Event
	for _, e := range c.world().db.table.entries {
		if e.Target != event.Msg || e.state != event.Pending {
			continue
		}
		blocked := keys[e.Key] || flights[e.FLID.String()]
		switch {
		case e.next.After(now) || blocked && c.world().mutant != lanesIgnored:
			keys[e.Key], flights[e.FLID.String()] = true, true
		case len(due) < limit:
			due = append(due, e.Event)
		}
	}
	return due, nil
}

// DueSchdEvents are unsent rows.
func (c conn) DueSchdEvents(ctx context.Context, now time.Time, after int64, limit int) ([]event.Event, error) {
	if _, err := c.reading().at(ctx, reads, "DueSchdEvents", nil); err != nil {
		return nil, err
	}
	var due []event.Event
	for _, e := range c.world().db.table.entries {
		if e.Target == event.Schd && e.state == event.Pending && e.ID > after && !e.next.After(now) && len(due) < limit {
			due = append(due, e.Event)
		}
	}
	return due, nil
}

// ConfirmEvents notes what landed.
func (c conn) ConfirmEvents(ctx context.Context, sent []event.Delivery, _ time.Time) error {
	w := c.world()
	ids := []int64{}
	for _, d := range sent {
		ids = append(ids, d.Event.ID)
	}
	sent = slices.Clone(sent)
	err := c.confirming().write(ctx, writes, "ConfirmEvents", ids, func() error {
		for _, d := range sent {
			e := w.db.table.find(d.Event)
			if w.mutant == staleConfirm && e == nil {
				e = w.db.table.latest(d.Event)
			}
			if e != nil {
				e.state = event.Sent
			}
		}
		return nil
	})
	if w.mutant == forgottenBatch && err != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// latest is the row of a key whatever its generation.
func (o *outboxTable) latest(e event.Event) *entry {
	for _, known := range o.entries {
		if known.Target == event.Schd && e.Target == event.Schd && known.Key == e.Key {
			return known
		}
	}
	return nil
}

// DeferEvent puts an event off.
func (c conn) DeferEvent(ctx context.Context, e event.Event, attempts int, next time.Time, _ string) error {
	return c.onEvent(ctx, "DeferEvent", e, func(known *entry) { known.Attempts, known.next = attempts, next })
}

// BuryEvent gives one up.
func (c conn) BuryEvent(ctx context.Context, e event.Event, attempts int, _ string, _ time.Time) error {
	return c.onEvent(ctx, "BuryEvent", e, func(known *entry) { known.Attempts, known.state = attempts, event.Dead })
}

func (c conn) onEvent(ctx context.Context, name string, e event.Event, change func(*entry)) error {
	return c.write(ctx, writes, name, e.ID, func() error {
		known := c.world().db.table.find(e)
		if known == nil {
			return fault.ErrMoved
		}
		change(known)
		return nil
	})
}

// DueMarks are the marks that are owed, the least tried first.
func (c conn) DueMarks(ctx context.Context, now time.Time, _ time.Duration, limit int) ([]message.MarkDue, error) {
	if _, err := c.at(ctx, reads, "DueMarks", nil); err != nil {
		return nil, err
	}
	d := c.world().db
	var due []message.MarkDue
	for _, id := range d.order {
		if r := d.records[id]; d.owes(r) && !r.nextMark.After(now) {
			due = append(due, r.due())
		}
	}
	slices.SortStableFunc(due, func(a, b message.MarkDue) int { return a.Attempts - b.Attempts })
	return due[:min(limit, len(due))], nil
}

func (d *database) owes(r *record) bool {
	return (!r.unfinished() || d.w.mutant == looseMark) && !r.confirm && r.givenUp == ""
}

func (r *record) due() message.MarkDue {
	return message.MarkDue{MsgID: r.id, Attempts: r.tries, FirstFailedAt: r.failed}
}

// HoldMarks holds rows while their marks are written.
func (c conn) HoldMarks(ctx context.Context, ids []int64, mark func(context.Context, []message.MarkDue) ([]message.MarkOutcome, error)) error {
	d := c.world().db
	var held []message.MarkDue
	var outcomes []message.MarkOutcome
	begin := func() error {
		for _, id := range ids {
			if r := d.records[id]; d.owes(r) {
				held = append(held, r.due())
			}
		}
		return nil
	}
	within := func() (err error) {
		if len(held) > 0 {
			outcomes, err = mark(ctx, held)
		}
		return err
	}
	return c.transaction(ctx, "HoldMarks", fmt.Sprint(ids), begin, within, func() error {
		for _, o := range outcomes {
			r := d.records[o.MsgID]
			r.tries++
			r.confirm, r.givenUp, r.failed, r.nextMark = o.Confirmed, o.AbandonReason, o.FirstFailedAt, o.NextAt
		}
		return nil
	})
}
