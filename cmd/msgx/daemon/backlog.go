package daemon

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/backlog"
	"msgx/engine/clock"
	"msgx/engine/mailbox"
	"msgx/engine/message"
	"msgx/engine/store"
)

// Backlog looks at what is left to do.
func Backlog(ctx context.Context, s *store.Store, box *mailbox.Mailbox, c clock.Clock) (r backlog.Reading, err error) {
	lowest, highest, _, err := box.Bounds(ctx)
	if err != nil {
		return r, err
	}
	counts, err := s.Counts(ctx)
	if err != nil {
		return r, err
	}
	r.At = c.Now()
	r.Unread = max(0, highest-max(counts.Watermark, lowest-1))
	r.Unfinished, r.Oldest = counts.Messages[message.Pending]+counts.Messages[message.Failed], counts.OldestUnfinished
	if r.Unread == 0 {
		return r, nil
	}
	next, err := box.After(ctx, counts.Watermark, 1)
	if err != nil {
		return r, err
	}
	if len(next) > 0 && !next[0].ReceivedAt.IsZero() && (r.Oldest.IsZero() || next[0].ReceivedAt.Before(r.Oldest)) {
		r.Oldest = next[0].ReceivedAt
	}
	return r, nil
}

func (d *Daemon) newBacklog(registry *prometheus.Registry) (*backlog.Gauge, error) {
	return backlog.New(func(ctx context.Context) (backlog.Reading, error) {
		return Backlog(ctx, d.store, d.servers.mailbox.Load(), d.clock)
	}, d.clock, d.log, registry)
}
