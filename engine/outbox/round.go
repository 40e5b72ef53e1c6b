package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/message"
)

// reasonLimit bounds what is stored of a broker's words.
const reasonLimit = 300

// measureEvery is how often the backlog is counted.
const measureEvery = 5 * time.Second

// round reads what is due, sends it, and says what to wait for next. Its errors
// are the store's and the lease's.
func (d *Dispatcher) round(ctx context.Context) (pause, error) {
	idle := pause{length: d.o.Every, early: true}
	if err := d.confirm(ctx, nil); err != nil {
		return idle, err
	}
	d.measure(ctx)
	events, entire, err := d.look(ctx, d.n.Clock.Now(), 0)
	if err != nil {
		return idle, err
	}
	s, err := d.stream(ctx, events, entire)
	if err != nil {
		return idle, err
	}
	d.store.Over() // not before: a database may read well and refuse to write
	switch {
	case s.unreachable && s.landed == 0:
		return pause{length: step(d.o.Waits, d.broker.count)}, nil
	case s.full && s.landed+s.buried > 0:
		return pause{}, nil
	}
	return idle, nil
}

// look reads the events behind one, or from the first unsent one on (0); nothing while an operator holds the target.
// entire tells that nothing before and among them was left out, so that what follows them may follow.
func (d *Dispatcher) look(ctx context.Context, now time.Time, after int64) (events []event.Event, entire bool, err error) {
	paused, err := d.isPaused(ctx)
	switch {
	case err != nil || paused:
		return nil, false, err
	case d.o.Target == event.Schd: // one row a flight: there is no order among them
		events, err = d.n.Store.DueSchdEvents(ctx, now, after, d.o.Limit)
		return events, true, err
	}
	events, err = d.n.Store.NextMsgEvents(ctx, after, d.o.Limit)
	if err != nil || len(events) > 0 || after > 0 {
		return events, true, err
	}
	events, err = d.n.Store.DueMsgEvents(ctx, now, d.o.Limit)
	return events, false, err
}

// stream sends a set of events and, as long as sets are full, entire and land whole, what
// follows them: while one is on its way, the one behind it is read and the one
// before it confirmed. Anything else ends it, and what was read ahead is forgotten:
// the next round looks at everything again. So does the end of a period, for the
// sake of rows of KAFKA:schd that come due meanwhile. It returns how the last set fared.
func (d *Dispatcher) stream(ctx context.Context, events []event.Event, entire bool) (*sending, error) {
	until := d.n.Clock.Now().Add(d.o.Every)
	for {
		now := d.n.Clock.Now()
		s := &sending{d: d, blocked: d.holds.active(now), pending: events, full: len(events) == d.o.Limit}
		var ahead chan reading
		if s.full && entire && now.Before(until) {
			ahead = d.readAhead(ctx, now, events[len(events)-1].ID)
		}
		err := s.run(ctx)
		whole := s.landed == len(events)
		var next reading
		if ahead != nil {
			next = <-ahead
		}
		if err = errors.Join(err, next.err); err == nil && whole && len(next.events) > 0 && ctx.Err() == nil {
			events = next.events
			continue
		}
		if err != nil {
			_ = d.settle() // what it did not confirm is kept, and the error at hand came first
			return s, err
		}
		return s, d.confirm(ctx, nil)
	}
}

// reading is a set of events that was read while another was sent.
type reading struct {
	events []event.Event
	err    error
}

func (d *Dispatcher) readAhead(ctx context.Context, now time.Time, after int64) chan reading {
	ahead := make(chan reading, 1)
	d.beside(func() {
		var r reading
		r.events, _, r.err = d.look(ctx, now, after)
		ahead <- r
	})
	return ahead
}

// unconfirmedAhead is how many full readings may have landed while an earlier one is being confirmed.
const unconfirmedAhead = 4

// confirming is a confirmation on its way.
type confirming struct {
	sent []event.Delivery
	done chan error
}

// confirm records what landed, this time or before the database went away.
func (d *Dispatcher) confirm(ctx context.Context, landed []event.Delivery) error {
	d.unconfirmed = append(d.unconfirmed, landed...)
	if err := d.settle(); err != nil || len(d.unconfirmed) == 0 {
		return err
	}
	d.begin(ctx)
	return d.settle()
}

// confirmBeside records what landed while the caller goes on. Its error may be that of an earlier one.
func (d *Dispatcher) confirmBeside(ctx context.Context, landed []event.Delivery) error {
	d.unconfirmed = append(d.unconfirmed, landed...)
	if d.confirming != nil && len(d.confirming.done) == 0 && len(d.unconfirmed) < unconfirmedAhead*d.o.Limit {
		return nil
	}
	if err := d.settle(); err != nil {
		return err
	}
	d.begin(ctx)
	return nil
}

func (d *Dispatcher) begin(ctx context.Context) {
	c := &confirming{sent: d.unconfirmed, done: make(chan error, 1)}
	d.confirming, d.unconfirmed = c, nil
	at := d.n.Clock.Now()
	d.beside(func() {
		c.done <- d.call(ctx, func(ctx context.Context) error { return d.n.Store.ConfirmEvents(ctx, c.sent, at) })
	})
}

// settle waits for the confirmation on its way, if there is one; what it did not
// confirm is unconfirmed again.
func (d *Dispatcher) settle() error {
	c := d.confirming
	if c == nil {
		return nil
	}
	d.confirming = nil
	if err := <-c.done; err != nil {
		d.unconfirmed = append(c.sent, d.unconfirmed...)
		return fmt.Errorf("confirm %d events: %w", len(c.sent), err)
	}
	return nil
}

// call runs a write of the store that the end of ctx must not break off. A row
// that has moved on meanwhile, such as a KAFKA:schd row with a newer version, is nobody's error.
func (d *Dispatcher) call(ctx context.Context, write func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.o.Patience)
	defer cancel()
	if err := write(bounded); err != nil && !errors.Is(err, fault.ErrMoved) {
		return err
	}
	return nil
}

func (d *Dispatcher) measure(ctx context.Context) {
	now := d.n.Clock.Now()
	if d.n.Backlog == nil || now.Sub(d.measured) < measureEvery {
		return
	}
	unsent, oldest, err := d.n.Backlog(ctx)
	if err != nil {
		return // reading what is due meets the same trouble and reports it
	}
	d.measured = now
	d.metrics.unsent.Set(float64(unsent))
	age := 0.0
	if !oldest.IsZero() {
		age = now.Sub(oldest).Seconds()
	}
	d.metrics.oldest.Set(age)
}

// sending is one frozen set of events on its way.
type sending struct {
	d        *Dispatcher
	blocked  lanes
	pending  []event.Event // ascending
	suspects []event.Event // to be sent one by one, ascending

	full           bool // there may be more
	landed, buried int
	unreachable    bool
	troubled       bool
}

// run sends wave after wave until nothing is left that may go.
func (s *sending) run(ctx context.Context) error {
	for ctx.Err() == nil {
		wave := s.next()
		if len(wave) == 0 {
			break
		}
		if err := s.d.n.Held(); err != nil {
			return err
		}
		moved, err := s.send(ctx, wave)
		if err != nil {
			return err
		}
		if !moved || (s.unreachable && s.landed == 0) {
			break
		}
	}
	if !s.troubled && s.landed > 0 && s.d.holds.none() {
		s.d.broker.over()
		s.d.metrics.brokerUp.Set(1)
	}
	return nil
}

// next takes the next wave: a suspect alone, or all that may go together.
func (s *sending) next() []event.Event {
	for len(s.suspects) > 0 {
		e := s.suspects[0]
		s.suspects = s.suspects[1:]
		if !s.blocked.blocked(e) {
			return []event.Event{e}
		}
		s.blocked.block(e)
	}
	wave, later := plan(s.pending, s.blocked)
	s.pending = later
	return wave
}

// send publishes one wave and records the answers. moved tells whether
// anything was settled, so that going on makes sense.
func (s *sending) send(ctx context.Context, wave []event.Event) (moved bool, err error) {
	records := make([]event.Record, len(wave))
	now := s.d.n.Clock.Now()
	for i, e := range wave {
		records[i] = Record(e, now)
	}
	// Without the stage's cancellation: breaking a send off would make its outcome unknown.
	receipts := s.d.n.Publisher.Publish(context.WithoutCancel(ctx), records)
	if len(receipts) != len(records) {
		panic(fmt.Sprintf("publisher gave %d receipts for %d records", len(receipts), len(records)))
	}
	var landed []event.Delivery
	var untried []event.Event
	for i, r := range receipts {
		switch r.Fate {
		case event.Landed:
			s.d.holds.landed(wave[i])
			landed = append(landed, event.Delivery{Event: wave[i], Landing: r.Landing})
		case event.Unknown:
			// Before anything that can fail: no trouble of the database may shorten it.
			s.d.holds.until(wave[i], s.d.n.Clock.Now().Add(s.d.o.Quarantine))
		case event.Untried:
			untried = append(untried, wave[i])
		case event.Suspect:
			if len(wave) == 1 { // it is the culprit
				receipts[i].Fate = event.Refused
			} else {
				s.suspects = append(s.suspects, wave[i])
			}
		}
	}
	s.landed += len(landed)
	s.d.metrics.sent.Add(float64(len(landed)))
	// What was not tried goes first in the next wave; what follows in its lanes is in pending, behind it.
	s.pending = append(untried, s.pending...)
	if len(landed) == len(wave) {
		return true, s.d.confirmBeside(ctx, landed)
	}
	if err := s.d.confirm(ctx, landed); err != nil {
		return false, err
	}
	for i, r := range receipts {
		if err := s.failure(ctx, wave[i], r); err != nil {
			return false, err
		}
	}
	return len(untried) < len(wave), nil
}

// failure settles a record that did not land.
func (s *sending) failure(ctx context.Context, e event.Event, r event.Receipt) error {
	switch r.Fate {
	case event.Refused, event.RefusedForGood:
		s.d.metrics.failed.Inc()
		return s.refused(ctx, e, r)
	case event.NotStored, event.Unknown:
		s.d.metrics.failed.Inc()
		return s.passing(ctx, e, r)
	}
	return nil
}

// refused uses up an attempt, or gives the event up, which frees its lanes.
func (s *sending) refused(ctx context.Context, e event.Event, r event.Receipt) error {
	d, attempts := s.d, e.Attempts+1
	wait, exhausted := d.o.Retry.After(attempts)
	reason, now := describe(r), d.n.Clock.Now()
	if r.Fate == event.Refused && !exhausted {
		s.blocked.block(e)
		d.log.Warn("broker refuses an event; it is tried again", "event_id", e.ID, "flid", e.FLID, "attempts", attempts, "reason", reason)
		return d.call(ctx, func(ctx context.Context) error {
			return d.n.Store.DeferEvent(ctx, e, attempts, now.Add(wait), reason)
		})
	}
	s.buried++
	d.metrics.dead.Inc()
	d.log.Error("event is dead: the broker refuses it", "event_id", e.ID, "flid", e.FLID, "msg_id", e.MsgID, "kind", e.Kind, "reason", reason)
	return d.call(ctx, func(ctx context.Context) error {
		return d.n.Store.BuryEvent(ctx, e, attempts, reason, now)
	})
}

// passing puts the event's lanes off without using up an attempt.
func (s *sending) passing(ctx context.Context, e event.Event, r event.Receipt) error {
	d, now := s.d, s.d.n.Clock.Now()
	first := !s.blocked.keys[e.Key]
	s.blocked.block(e)
	if !s.troubled {
		d.broker.count++
	}
	s.troubled = true
	d.metrics.brokerUp.Set(0)
	d.broker.note(r.Reason, r.Err)
	unreachable := errors.Is(r.Err, fault.ErrUnavailable)
	s.unreachable = s.unreachable || unreachable
	if !first || (unreachable && s.landed == 0) {
		return nil
	}
	// Others get through, or the broker answers: the wait is stored with the head of
	// the lane, so that waiting lanes do not fill the next reading.
	next := now.Add(step(d.o.Waits, d.holds.fail(e)))
	if r.Fate == event.Unknown && next.Before(now.Add(d.o.Quarantine)) {
		next = now.Add(d.o.Quarantine)
	}
	d.holds.until(e, next)
	return d.call(ctx, func(ctx context.Context) error {
		return d.n.Store.DeferEvent(ctx, e, e.Attempts, next, describe(r))
	})
}

func describe(r event.Receipt) string {
	if r.Err == nil {
		return r.Reason
	}
	return message.SafeText(r.Reason+": "+r.Err.Error(), reasonLimit)
}
