package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// Heads lists what is unfinished.
func (c conn) Heads(ctx context.Context, limit int) (heads []message.Head, watermark, beyond int64, err error) {
	c.slot = slotAhead // the pump lists before it reads ahead, the reader while it does
	if _, err := c.at(ctx, reads, "Heads", nil); err != nil {
		return nil, 0, 0, err
	}
	w := c.world()
	if w.db.cursor == nil {
		return nil, 0, 0, nil
	}
	for _, id := range w.db.order {
		r := w.db.records[id]
		if !r.unfinished() || len(heads) == limit {
			continue
		}
		if w.mutant == failedIsPassed && r.state == message.Failed && r.next.After(time.Now()) {
			continue
		}
		heads = append(heads, r.head())
	}
	return heads, w.db.cursor.Watermark, 0, nil
}

// RawCopy is our copy of a body.
func (c conn) RawCopy(ctx context.Context, id int64) (message.Raw, bool, error) {
	c.slot = slotAhead
	if _, err := c.at(ctx, reads, "RawCopy", id); err != nil {
		return message.Raw{}, false, err
	}
	return message.Raw{MsgID: id, Body: []byte("<MSG/>")}, c.world().db.records[id].raw, nil
}

var errConstraint = errors.New("violates a constraint")

// Decide is the business transaction.
func (c conn) Decide(ctx context.Context, claim decision.Claim, judge func(decision.Claimed) (decision.Settlement, error)) error {
	w := c.world()
	d := w.db
	var found decision.Claimed
	var s decision.Settlement
	r := d.records[claim.MsgID]
	begin := func() error {
		if !r.unfinished() && w.mutant != blindRepeat || w.mutant != failedIsPassed && w.mutant != blindRepeat && d.first() != r {
			return fault.ErrMoved
		}
		found = decision.Claimed{Head: r.head(), View: d.view(claim.Flights)}
		for _, other := range d.records {
			if other != r && other.identity == claim.Identity && w.mutant != identityUnbound {
				found.Holder = &message.Binding{MsgID: other.id, State: other.state}
			}
		}
		return nil
	}
	within := func() (err error) {
		s, err = judge(found)
		return err
	}
	err := c.transaction(ctx, "Decide", claim.MsgID, begin, within, func() error {
		if s.Outcome.State == message.Succeeded && w.byID[r.id].at(r.attempts) == infra {
			return errConstraint
		}
		d.settle(s)
		return nil
	})
	return w.forgetDoubt(err)
}

// forgetDoubt is a mutant: the caller takes a commit in doubt for one that failed.
func (w *world) forgetDoubt(err error) error {
	if w.mutant == blindRepeat && errors.Is(err, fault.ErrCommitInDoubt) {
		return fault.ErrUnavailable
	}
	return err
}

// Settle stores an outcome without effects.
func (c conn) Settle(ctx context.Context, s decision.Settlement) error {
	w := c.world()
	r := w.db.records[s.MsgID]
	return w.forgetDoubt(c.write(ctx, writes, "Settle", fmt.Sprint(s.MsgID, " ", s.Outcome.State, " ", s.Outcome.Class), func() error {
		if !r.unfinished() || r.attempts != s.Before || w.mutant != failedIsPassed && w.db.first() != r {
			return fault.ErrMoved
		}
		if s.Outcome.State == message.Succeeded {
			w.violate("message %d: a success without its effects", s.MsgID)
		}
		w.db.settle(s)
		return nil
	}))
}

// Resolve tells what became of a message.
func (c conn) Resolve(ctx context.Context, id int64) (message.State, error) {
	d := c.world().db
	var state message.State
	err := c.write(ctx, reads, "Resolve", id, func() error {
		state = d.records[id].state
		return nil
	})
	return state, err
}

// settle commits a settlement: all of it.
func (d *database) settle(s decision.Settlement) {
	r := d.records[s.MsgID]
	d.w.settling(r, s)
	r.state, r.class, r.attempts, r.next = s.Outcome.State, s.Outcome.Class, s.Attempts, s.NextAt
	if d.w.mutant == countedTwice && r.state == message.Failed {
		r.attempts++
	}
	r.raw = r.raw || s.Raw != nil
	if r.identity == "" && s.Identity != "" && !d.bound(s.Identity) {
		r.identity = s.Identity
	}
	if d.w.mutant == halfCommit && r.id%3 == 0 {
		return
	}
	for _, a := range s.Effects.Advances {
		d.flights[a.After.ID] = a.After
		d.w.advancedFlight(a)
	}
	for _, e := range s.Effects.Events {
		d.table.add(e)
	}
}

func (d *database) bound(identity string) bool {
	for _, r := range d.records {
		if r.identity == identity {
			return true
		}
	}
	return false
}

// decider reads and judges as the world says.
type decider struct{ w *world }

type classed message.ErrorClass

func (c classed) Error() string { return string(c) }

// Decode reads a body.
func (d decider) Decode(raw message.Raw) (*message.Message, error) {
	r := d.w.byID[raw.MsgID]
	switch r.at(d.w.db.records[raw.MsgID].attempts) {
	case malformed:
		return nil, classed(message.Malformed)
	case codecError:
		return nil, classed(message.CodecError)
	}
	return r.decoded(), nil
}

// Claim names what has to be read.
func (d decider) Claim(msg *message.Message) decision.Claim {
	r := d.w.byID[msg.ID]
	return decision.Claim{MsgID: msg.ID, Identity: r.identity, Flights: r.flights}
}

// Broken settles what could not be decoded.
func (d decider) Broken(raw message.Raw, err error, at time.Time) decision.Settlement {
	state := message.Failed
	if err == classed(message.Malformed) { //nolint:errorlint // it is what Decode returned
		state = message.Dead
	}
	return decision.Settlement{MsgID: raw.MsgID, At: at, Outcome: message.Outcome{State: state, Class: message.ErrorClass(err.Error()), Reason: "broken"}}
}

// Judge settles what could be.
func (d decider) Judge(msg *message.Message, found decision.Claimed, at time.Time) decision.Settlement {
	r := d.w.byID[msg.ID]
	s := decision.Settlement{MsgID: msg.ID, Identity: r.identity, Kind: msg.Kind, At: at, Outcome: message.Outcome{State: message.Succeeded}}
	if found.Holder != nil {
		s.Outcome = message.Outcome{State: message.Skipped, Reason: "duplicate"}
		return s
	}
	switch r.at(found.Head.Attempts) {
	case skip:
		s.Outcome = message.Outcome{State: message.Skipped, Reason: "no match"}
	case protocol:
		s.Outcome = message.Outcome{State: message.Dead, Class: message.Protocol, Reason: "count"}
	case ruleError:
		s.Outcome = message.Outcome{State: message.Failed, Class: message.RuleError, Reason: "x.lua:1"}
	default:
		for _, id := range r.flights {
			d.move(&s, found.View.Flights[id], id)
		}
	}
	return s
}

// move takes a flight to its next version.
func (d decider) move(s *decision.Settlement, before *flight.State, id flight.ID) {
	after := &flight.State{ID: id, Status: flight.Active, LastMsgID: s.MsgID, Version: 1}
	if before != nil {
		after.Version = before.Version + 1
	}
	s.Effects.Advances = append(s.Effects.Advances, decision.Advance{Before: before, After: after})
	e := event.Event{Target: event.Msg, Key: keyOf(id), Type: event.Upsert, FLID: id, Version: after.Version, MsgID: s.MsgID}
	s.Effects.Events = append(s.Effects.Events, e)
	e.Target, e.Key = event.Schd, id.String()
	s.Effects.Events = append(s.Effects.Events, e)
}
