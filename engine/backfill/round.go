package backfill

import (
	"context"
	"errors"
	"log/slog"

	"msgx/engine/fault"
	"msgx/engine/message"
)

// round scans once and pays what it finds. Its errors are our own database's.
func (b *Backfill) round(ctx context.Context) (rest, error) {
	idle := rest{length: b.o.Interval, early: true}
	if held, err := b.isPaused(ctx); err != nil || held {
		return rest{length: b.o.Interval}, err
	}
	due, err := b.n.Store.DueMarks(ctx, b.n.Clock.Now(), b.o.Policy.R, b.o.Batch)
	if err != nil {
		return rest{}, err
	}
	b.metrics.due.Set(float64(len(due)))
	if len(due) == 0 {
		return idle, nil
	}
	ids := make([]int64, len(due))
	for n, d := range due {
		ids[n] = d.MsgID
	}
	var paid payment
	err = b.n.Writer.HoldMarks(ctx, ids, func(ctx context.Context, held []message.MarkDue) ([]message.MarkOutcome, error) {
		var err error
		paid, err = b.pay(ctx, held)
		return paid.outcomes, err
	})
	if err != nil {
		return rest{}, err
	}
	settled := b.report(paid)
	if paid.away != nil {
		b.metrics.mailboxUp.Set(0)
		return rest{length: b.mailbox.Failed(paid.away)}, nil //nolint:nilerr // what it means for the rows is stored; here it is waited for
	}
	if len(paid.outcomes) > 0 {
		b.metrics.mailboxUp.Set(1)
		b.mailbox.Over()
	}
	if len(due) == b.o.Batch && settled > 0 {
		return rest{}, nil
	}
	return idle, nil
}

// payment is what one round made of the rows that it held.
type payment struct {
	held     map[int64]message.MarkDue
	outcomes []message.MarkOutcome
	away     error // the mailbox takes no marks at all
}

// pay tries all rows in one call and, if that fails because of some of them,
// one by one. It returns an error only when ctx ended: then nothing is to be stored.
func (b *Backfill) pay(ctx context.Context, held []message.MarkDue) (payment, error) {
	p := payment{held: map[int64]message.MarkDue{}}
	if len(held) == 0 {
		return p, nil
	}
	ids := make([]int64, len(held))
	for n, due := range held {
		ids[n] = due.MsgID
		p.held[due.MsgID] = due
	}
	call, cancel := context.WithTimeout(ctx, b.o.HoldLimit)
	defer cancel()
	results, err := b.n.Mailbox.MarkAll(call, ids, b.n.Clock.Now())
	switch {
	case ctx.Err() != nil:
		return p, context.Cause(ctx)
	case err == nil:
		for _, due := range held {
			b.settle(&p, due, results, nil)
		}
		return p, nil
	case call.Err() != nil || errors.Is(err, fault.ErrUnavailable):
		b.allFailed(&p, held, err)
		return p, nil
	case len(held) == 1:
		b.settle(&p, held[0], nil, err)
		return p, nil
	}
	err = b.payEach(ctx, call, &p, held)
	return p, err
}

// payEach tries rows singly as long as the hold, which call is bounded by, allows. The first
// has its turn in any case, so that its attempt counts and the next round begins with others.
func (b *Backfill) payEach(ctx, call context.Context, p *payment, held []message.MarkDue) error {
	failures := 0
	var last error
	for n, due := range held {
		results, err := b.n.Mailbox.MarkAll(call, []int64{due.MsgID}, b.n.Clock.Now())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && errors.Is(err, fault.ErrUnavailable) && call.Err() == nil {
			b.allFailed(p, held[n:], err)
			return nil
		}
		if err != nil && call.Err() != nil && n > 0 {
			break // time ran out in the middle of it, which is not this row's fault
		}
		if err != nil {
			failures++
			last = err
		}
		b.settle(p, due, results, err)
	}
	if failures == len(held) { // then it is not about the rows
		p.away = last
	}
	return nil
}

func (b *Backfill) allFailed(p *payment, held []message.MarkDue, err error) {
	p.away = err
	for _, due := range held {
		b.settle(p, due, nil, err)
	}
}

func (b *Backfill) settle(p *payment, due message.MarkDue, results map[int64]message.MarkResult, err error) {
	result, answered := results[due.MsgID]
	text := "somebody emptied the mark again"
	switch {
	case err != nil:
		text = err.Error()
	case !answered:
		text = "the mailbox did not say what became of it"
	}
	if err != nil || !answered {
		result = message.MarkFailed
	}
	p.outcomes = append(p.outcomes, b.o.Policy.Outcome(due, result, text, b.n.Clock.Now()))
}

// report counts and logs what has been stored, and tells how many rows it is done with.
func (b *Backfill) report(p payment) (settled int) {
	for _, o := range p.outcomes {
		due := p.held[o.MsgID]
		b.metrics.marks.WithLabelValues(string(o.Result)).Inc()
		id := slog.Int64("msg_id", o.MsgID)
		if o.Confirmed || o.AbandonReason != "" {
			settled++
		}
		switch {
		case o.Confirmed:
		case o.AbandonReason != "":
			b.metrics.abandoned.WithLabelValues(o.AbandonReason).Inc()
			b.n.Log.Error("a mark is given up and waits for a decision", id, slog.String("reason", o.AbandonReason), slog.String("error", o.Error))
		case p.away == nil && due.FirstFailedAt.IsZero(): // an outage is logged once, not for each row
			b.n.Log.Warn("a mark could not be written and is tried again", id, slog.String("error", o.Error), slog.Time("next_at", o.NextAt))
		}
		if o.Result == message.MarkFailed && due.Attempts+1 == b.o.AlarmAttempts {
			b.metrics.alarms.Inc()
			b.n.Log.Error("a mark has failed many times", id, slog.Int("attempts", due.Attempts+1), slog.String("error", o.Error))
		}
	}
	return settled
}

func (b *Backfill) isPaused(ctx context.Context) (bool, error) {
	stages, err := b.n.Store.Paused(ctx)
	if err != nil {
		return false, err
	}
	if held := stages[Stage]; held != b.paused {
		b.paused = held
		b.metrics.paused.Set(0)
		text := "backfill resumed"
		if held {
			b.metrics.paused.Set(1)
			text = "backfill paused"
		}
		b.n.Log.Info(text)
	}
	return b.paused, nil
}
