package inbox

import (
	"context"
	"log/slog"
	"time"

	"msgx/engine/watermark"
)

// granule is what our database may cut off a time that it stores: an age read
// back from there would otherwise be that much too old.
const granule = time.Microsecond

// round does one round and tells how long to rest before the next. Its error
// matters to Run only when it is final; any other has been logged and is waited for.
func (i *Inbox) round(ctx context.Context) (rest, error) {
	held, err := i.isPaused(ctx)
	if err != nil {
		return i.storeFailed(ctx, err)
	}
	if held {
		return rest{length: i.o.PollInterval}, nil
	}
	if i.cursor == nil {
		if again, err := i.begin(ctx); err != nil {
			return again, err
		}
	}
	if i.reused {
		return rest{length: i.o.PollInterval}, nil
	}
	next, err := i.read(ctx)
	if err != nil || i.reused {
		return next, err
	}
	// Only now is it known that ids are not in use again.
	if again, err := i.lookBack(ctx); err != nil {
		return again, err
	}
	return next, nil
}

func (i *Inbox) read(ctx context.Context) (rest, error) {
	idle := rest{length: i.o.PollInterval, early: true}
	before := i.n.Clock.Now()
	rows, err := i.n.Mailbox.After(ctx, i.cursor.Watermark, i.o.ClaimBatch)
	after := i.n.Clock.Now()
	if err != nil {
		return i.mailboxFailed(ctx, err)
	}
	if len(rows) == 0 { // a row above the watermark would prove that ids go on from there
		return i.checkIDs(ctx, idle)
	}
	i.mailbox.Over()
	i.metrics.seen(rows[len(rows)-1].MsgID)
	return i.advance(ctx, watermark.Round{Before: before, After: after, Rows: rows}, idle)
}

// advance stores what a read has proven.
func (i *Inbox) advance(ctx context.Context, round watermark.Round, idle rest) (rest, error) {
	from := *i.cursor
	step := watermark.Advance(from, round, watermark.Policy{MaxCommitDelay: i.o.MaxCommitDelay + granule, Stride: i.o.IDStride})
	if step.Cursor != from || len(step.Holes) > 0 {
		enqueued, err := i.n.Writer.Advance(ctx, step, round.After)
		if err != nil {
			return i.storeFailed(ctx, err)
		}
		*i.cursor = step.Cursor
		i.metrics.enqueued.Add(float64(enqueued))
		i.report(step)
		if enqueued > 0 || len(step.Enqueue) > 0 { // what an entry of its own has enqueued waited for the watermark
			i.o.WakePump()
		}
	}
	i.metrics.at(*i.cursor, round.After)
	moved := step.Cursor.Watermark > from.Watermark
	released := moved && len(step.Enqueue) == 0
	if moved && (released || len(round.Rows) == i.o.ClaimBatch) {
		return rest{}, nil
	}
	return idle, nil
}

func (i *Inbox) report(step watermark.Step) {
	for _, h := range step.Holes {
		attrs := []any{slog.Int64("first_id", h.First), slog.Int64("last_id", h.Last), slog.Time("since", h.Since)}
		switch h.Outcome {
		case watermark.HoleAged:
			i.metrics.permanent.Inc()
			i.n.Log.Warn("ids that never turned up were released as a permanent hole", attrs...)
		case watermark.HoleFilled:
			i.n.Log.Debug("missing ids turned up", attrs...)
		default:
			i.n.Log.Debug("ids are missing, rows behind them wait", attrs...)
		}
	}
}

// checkIDs looks, when there is nothing to read, whether the table is about to
// hand out ids again that are at or below the watermark.
func (i *Inbox) checkIDs(ctx context.Context, idle rest) (rest, error) {
	_, highest, next, err := i.n.Mailbox.Bounds(ctx)
	if err != nil {
		return i.mailboxFailed(ctx, err)
	}
	i.mailbox.Over()
	i.metrics.seen(highest)
	i.metrics.at(*i.cursor, i.n.Clock.Now())
	if next != 0 && next <= i.cursor.Watermark {
		i.reused = true
		i.metrics.reused.Set(1)
		i.n.Log.Error("the mailbox hands out ids again that were read before: the inbox has stopped; have its AUTO_INCREMENT raised above the watermark, then pause and resume the inbox",
			slog.Int64("next_id", next), slog.Int64("watermark", i.cursor.Watermark))
	}
	return idle, nil
}

func (i *Inbox) isPaused(ctx context.Context) (bool, error) {
	stages, err := i.n.Store.Paused(ctx)
	if err != nil {
		return false, err
	}
	if held := stages[Stage]; held != i.paused {
		i.paused = held
		i.metrics.paused.Set(0)
		if held {
			i.metrics.paused.Set(1)
			i.n.Log.Info("inbox paused")
			return true, nil
		}
		i.n.Log.Info("inbox resumed")
		// The operator may have changed anything meanwhile.
		i.cursor, i.reused = nil, false
		i.metrics.reused.Set(0)
	}
	return i.paused, nil
}

func (i *Inbox) storeFailed(ctx context.Context, err error) (rest, error) {
	i.cursor = nil
	if final(err) || ctx.Err() != nil { // what ctx broke off is no outage
		return rest{}, err
	}
	return rest{length: i.store.Failed(err)}, err
}

func (i *Inbox) mailboxFailed(ctx context.Context, err error) (rest, error) {
	if ctx.Err() != nil {
		return rest{}, err
	}
	i.metrics.mailboxUp.Set(0)
	return rest{length: i.mailbox.Failed(err)}, err
}
