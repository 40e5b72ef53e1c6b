package rollout

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/ruleset"
)

// Judge says what becomes of messages, under one rule set.
type Judge interface {
	Claim(msg *message.Message) decision.Claim
	Judge(msg *message.Message, found decision.Claimed, at time.Time) decision.Settlement
	Broken(raw message.Raw, err error, at time.Time) decision.Settlement
}

// Candidate is a rule set that is loaded and ready to judge.
type Candidate struct {
	Set   ruleset.Set
	Judge Judge
}

// Bench is where the judge of the messages sits. Turn belongs to the goroutine that decides messages,
// everything else to that of the rollout.
type Bench struct {
	seat *seat
	next atomic.Pointer[change]
}

// seat is a judge and how many messages it was asked about.
type seat struct {
	judge  Judge
	judged atomic.Int64
}

// Claim counts the message: each is claimed once an attempt, or is broken.
func (s *seat) Claim(msg *message.Message) decision.Claim {
	s.judged.Add(1)
	return s.judge.Claim(msg)
}

// Judge judges a message that was claimed.
func (s *seat) Judge(msg *message.Message, found decision.Claimed, at time.Time) decision.Settlement {
	return s.judge.Judge(msg, found, at)
}

// Broken counts the message.
func (s *seat) Broken(raw message.Raw, err error, at time.Time) decision.Settlement {
	s.judged.Add(1)
	return s.judge.Broken(raw, err, at)
}

// change is a candidate that waits for the next gap between two messages.
type change struct {
	judge  Judge
	record func(ctx context.Context, judged int64) error
	done   chan error // takes one
}

// newBench seats the first judge.
func newBench(first Judge) *Bench { return &Bench{seat: &seat{judge: first}} }

// Turn returns who judges the messages that follow. When a candidate waits it is put on record and takes
// the seat; an error means that this is not settled yet, and that Turn has to be asked again before
// any message is judged. It is cheap when nothing waits.
func (b *Bench) Turn(ctx context.Context) (Judge, error) {
	c := b.next.Load()
	if c == nil {
		return b.seat, nil
	}
	err := c.record(ctx, b.seat.judged.Load())
	switch {
	case err == nil:
		b.seat = &seat{judge: c.judge}
	case ctx.Err() != nil, errors.Is(err, fault.ErrFenced), errors.Is(err, fault.ErrUnavailable), errors.Is(err, fault.ErrCommitInDoubt):
		return nil, err
	}
	b.next.Store(nil)
	c.done <- err
	return b.seat, nil
}

// offer has the judge take the seat at the next turn, and waits until it has. record puts that on record,
// given how many messages the judge before was asked about; it may be called again after an error.
func (b *Bench) offer(ctx context.Context, judge Judge, record func(ctx context.Context, judged int64) error) error {
	c := &change{judge: judge, record: record, done: make(chan error, 1)}
	b.next.Store(c)
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return ctx.Err() // the pump has stopped as well: they run under one context
	}
}
