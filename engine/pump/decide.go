package pump

import (
	"context"
	"errors"
	"fmt"
	"time"

	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/message"
)

// reasonLimit bounds the reasons that are stored, in characters.
const reasonLimit = 1000

// RawMissing is the reason of a message whose body is nowhere.
const RawMissing = "raw-missing"

// one decides one message.
func (p *Pump) one(ctx context.Context, it item) step {
	if ctx.Err() != nil {
		return step{leave: true}
	}
	if it.away != nil {
		return p.away(ctx, it.server, it.away)
	}
	p.mailbox.Over()
	if s := p.turn(ctx); s.leave {
		return s
	}
	if s := p.checkPause(ctx, false); s.leave {
		return s
	}
	if p.exhausted(it.head) || p.notDue(it.head) > 0 {
		return step{leave: true} // the next round sees to it
	}
	p.meters.head(it.head)
	started := p.Clock.Now()
	claim, s := p.prepare(it)
	if s != nil {
		return p.settle(ctx, p.complete(*s, it, it.head, started))
	}
	return p.decide(ctx, it, claim, started)
}

// prepare says what a message needs: a transaction for its claim, or, when it
// never comes that far, a settlement.
func (p *Pump) prepare(it item) (claim decision.Claim, settled *decision.Settlement) {
	outcome := func(state message.State, class message.ErrorClass, reason string) *decision.Settlement {
		return &decision.Settlement{Outcome: message.Outcome{State: state, Class: class, Reason: reason}}
	}
	switch {
	case it.absent:
		return claim, outcome(message.Dead, message.Malformed, RawMissing)
	case it.unreadable != nil:
		return claim, outcome(message.Failed, message.Infra, it.unreadable.Error())
	case it.panicked != "":
		return claim, outcome(message.Failed, message.CodecError, it.panicked)
	}
	defer func() {
		if cause := recover(); cause != nil {
			settled = outcome(message.Failed, message.RuleError, p.caught("judge", it.head.MsgID, cause))
		}
	}()
	if it.broken != nil {
		s := p.Judge.Broken(it.raw, it.broken, p.Clock.Now())
		return claim, &s
	}
	claim = p.Judge.Claim(it.msg)
	claim.MsgID = it.head.MsgID
	if p.opts.IdentityMemory > 0 {
		claim.IdentitySince = p.Clock.Now().Add(-p.opts.IdentityMemory)
	}
	return claim, nil
}

// decide runs the business transaction of one message.
func (p *Pump) decide(ctx context.Context, it item, claim decision.Claim, started time.Time) step {
	tx := begin(ctx, p.Clock, p.opts.Grace)
	defer tx.end()
	var said, settled decision.Settlement
	var on decision.Claimed
	head := it.head
	err := p.Writer.Decide(tx.ctx, claim, func(found decision.Claimed) (decision.Settlement, error) {
		head, on = found.Head, found
		said = p.judge(it, found, claim.Identity)
		settled = p.complete(said, it, head, started)
		p.meters.judged.Observe(p.Clock.Now().Sub(started).Seconds())
		return settled, tx.commit()
	})
	if err == nil {
		p.beside(it, claim, on, said)
		return p.conclude(settled)
	}
	if s, known := p.failed(ctx, settled, err); known {
		return s
	}
	// The transaction was rolled back, so nothing of the message is stored:
	// the statement that records the failure binds the identity too.
	failure := decision.Settlement{Identity: claim.Identity, Kind: it.msg.Kind, Ruleset: settled.Ruleset, Script: settled.Script,
		Outcome: message.Outcome{State: message.Failed, Class: message.Infra, Reason: err.Error()}}
	return p.settle(ctx, p.complete(failure, it, head, started))
}

// beside tells who looks on what was judged, once for each message.
func (p *Pump) beside(it item, claim decision.Claim, on decision.Claimed, said decision.Settlement) {
	if p.opts.Beside == nil || p.told == it.head.MsgID {
		return
	}
	p.told = it.head.MsgID
	p.opts.Beside(it.msg, claim, on, said)
}

// judge asks the judge; a panic of it is the message's failure.
func (p *Pump) judge(it item, found decision.Claimed, identity string) (s decision.Settlement) {
	defer func() {
		if cause := recover(); cause != nil {
			s = decision.Settlement{Identity: identity, Kind: it.msg.Kind, Outcome: message.Outcome{
				State: message.Failed, Class: message.RuleError, Reason: p.caught("judge", it.head.MsgID, cause)}}
		}
	}()
	return p.Judge.Judge(it.msg, found, p.Clock.Now())
}

// complete adds what the judge does not know: the count of failures and what
// follows from it, the times, and what is kept of the body.
func (p *Pump) complete(s decision.Settlement, it item, head message.Head, started time.Time) decision.Settlement {
	s.MsgID = head.MsgID
	s.StartedAt = started
	if s.At.IsZero() {
		s.At = p.Clock.Now()
	}
	s.Outcome.Reason = message.SafeText(s.Outcome.Reason, reasonLimit)
	var wait time.Duration
	s.Before = head.Attempts
	s.Outcome, s.Attempts, wait = p.opts.Retry.Settle(s.Outcome, head.Attempts)
	if s.Outcome.State == message.Failed {
		s.NextAt = s.At.Add(wait)
	}
	if s.Outcome.State != message.Succeeded {
		s.Effects = decision.Effects{}
	}
	s.OwesMark = !p.opts.Shadow
	if it.absent || it.unreadable != nil {
		return s
	}
	if s.SHA256 == "" {
		s.SHA256 = it.raw.SHA256()
	}
	if p.opts.KeepRaw {
		s.Raw = &it.raw
	}
	return s
}

// settle stores an outcome that needs no business transaction.
func (p *Pump) settle(ctx context.Context, s decision.Settlement) step {
	tx := begin(ctx, p.Clock, p.opts.Grace)
	defer tx.end()
	err := tx.commit()
	if err == nil {
		err = p.Writer.Settle(tx.ctx, s)
	}
	if err == nil {
		return p.conclude(s)
	}
	if next, known := p.failed(ctx, s, err); known {
		return next
	}
	// A failure that cannot even be recorded is not this message's.
	return p.away(ctx, p.store, fmt.Errorf("settle message %d: %w", s.MsgID, err))
}

// failed says what follows from an error of the store that is not the
// message's own fault; known is false for every other error.
func (p *Pump) failed(ctx context.Context, s decision.Settlement, err error) (next step, known bool) {
	switch {
	case errors.Is(err, fault.ErrFenced):
		return step{leave: true, err: err}, true
	case ctx.Err() != nil:
		return step{leave: true}, true // rolled back, or looked up by the next instance
	case errors.Is(err, fault.ErrMoved):
		return p.again(), true
	case errors.Is(err, fault.ErrCommitInDoubt):
		return p.resolve(ctx, s, err), true
	case errors.Is(err, fault.ErrUnavailable):
		return p.away(ctx, p.store, err), true
	}
	return step{}, false
}

// again reads the line again, at once the first time. Should the store keep
// refusing what it has just named as the head, it is not asked in a tight loop.
func (p *Pump) again() step {
	p.moved++
	if p.moved == 1 {
		return step{leave: true}
	}
	return step{leave: true, wait: min(waits[0], p.opts.Poll)}
}

// resolve finds out whether a transaction has committed, however long it takes.
func (p *Pump) resolve(ctx context.Context, s decision.Settlement, doubt error) step {
	p.Log.Warn("commit in doubt, looking it up", "msg_id", s.MsgID, "error", doubt)
	for {
		state, err := p.Writer.Resolve(ctx, s.MsgID)
		if err == nil {
			p.Log.Info("commit in doubt resolved", "msg_id", s.MsgID, "state", state)
			if state.Terminal() {
				return p.conclude(s)
			}
			return step{leave: true}
		}
		next := p.away(ctx, p.store, fmt.Errorf("resolve message %d: %w", s.MsgID, err))
		if next.wait == 0 {
			return next
		}
		if clock.Sleep(ctx, p.Clock, next.wait) != nil {
			return step{leave: true}
		}
	}
}

// conclude is what follows from a commit.
func (p *Pump) conclude(s decision.Settlement) step {
	p.store.Over()
	p.moved = 0
	p.report(s)
	if s.Outcome.State.Terminal() && s.OwesMark {
		p.opts.WakeBackfill()
	}
	if len(s.Effects.Events) > 0 {
		p.opts.WakeOutbox()
	}
	// A FAILED message holds the line; it is read again when it is due.
	return step{leave: s.Outcome.State == message.Failed}
}
