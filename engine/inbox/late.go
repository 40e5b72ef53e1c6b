package inbox

import (
	"context"
	"log/slog"
	"time"

	"msgx/engine/watermark"
)

// holesPerRound bounds how long looking back keeps new rows waiting.
const holesPerRound = 100

// lateRows is the progress of looking again at released holes.
type lateRows struct {
	next  time.Time        // when a new look begins
	holes []watermark.Hole // what the running look has still to visit
	known map[int64]bool   // late rows that were reported already
}

// lookBack visits some of the released holes. A row that has turned up in one was
// passed by the watermark: it is recorded and alarmed, and left to the operator.
func (i *Inbox) lookBack(ctx context.Context) (rest, error) {
	l := &i.late
	now := i.n.Clock.Now()
	if len(l.holes) == 0 {
		if now.Before(l.next) {
			return rest{}, nil
		}
		holes, err := i.n.Store.AgedHoles(ctx, now.Add(-i.o.LateWindow))
		if err != nil {
			return i.storeFailed(ctx, err)
		}
		l.next, l.holes = now.Add(i.o.LateEvery), holes
		l.forget(holes)
	}
	for visits := 0; len(l.holes) > 0 && visits < holesPerRound; visits++ {
		h := l.holes[0]
		rows, err := i.n.Mailbox.Existing(ctx, h.First, h.Last, i.o.ClaimBatch)
		if err != nil {
			return i.mailboxFailed(ctx, err)
		}
		if fresh := l.fresh(rows); len(fresh) > 0 {
			if err := i.n.Writer.RecordLate(ctx, fresh, now); err != nil {
				return i.storeFailed(ctx, err)
			}
			i.reportLate(fresh)
		}
		if len(rows) == i.o.ClaimBatch && rows[len(rows)-1].MsgID < h.Last {
			l.holes[0].First = rows[len(rows)-1].MsgID + 1
			continue
		}
		l.holes = l.holes[1:]
	}
	return rest{}, nil
}

func (i *Inbox) reportLate(rows []watermark.Row) {
	i.metrics.late.Add(float64(len(rows)))
	for _, row := range rows {
		i.late.known[row.MsgID] = true
		i.n.Log.Error("a row turned up below the watermark, later than the promised commit delay: it is recorded and waits for a decision",
			slog.Int64("msg_id", row.MsgID))
	}
}

func (l *lateRows) fresh(rows []watermark.Row) []watermark.Row {
	var fresh []watermark.Row
	for _, row := range rows {
		if !l.known[row.MsgID] {
			fresh = append(fresh, row)
		}
	}
	return fresh
}

// forget drops reported rows of holes that are no longer looked at.
func (l *lateRows) forget(holes []watermark.Hole) {
	known := map[int64]bool{}
	for id := range l.known {
		for _, h := range holes {
			if h.First <= id && id <= h.Last {
				known[id] = true
			}
		}
	}
	l.known = known
}
