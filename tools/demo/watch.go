package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"msgx/cmd/msgx/config"
	"msgx/tools/feed"
)

const (
	lookEvery = 500 * time.Millisecond
	// patience is how long nothing at all may change before the demo gives up.
	patience = 90 * time.Second
)

// watch looks at our database from outside, as an operator would, and shows
// how far the day is.
type watch struct {
	pool     *pgxpool.Pool
	total    int
	tries    int // after which a message is dead
	arrived  atomic.Int64
	out      io.Writer
	terminal bool
	last     progress
	shown    time.Time
	changed  time.Time
}

// progress is one look.
type progress struct {
	watermark, enqueued                       int64
	succeeded, skipped, dead, failed, pending int64
	marked, sent, unsent                      int64
	retried, failures                         int64         // the message that holds the line, how often it failed
	lag                                       time.Duration // age of the oldest unfinished message
}

func (p progress) decided() int64 { return p.succeeded + p.skipped + p.dead }

func (p *place) watch(ctx context.Context, c *config.Config, out io.Writer, total int) (*watch, error) {
	pool, err := pgxpool.New(ctx, c.Postgres.URL)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	w := &watch{pool: pool, total: total, tries: c.Pipeline.MaxAttempts, out: out, changed: time.Now()}
	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			w.terminal = info.Mode()&os.ModeCharDevice != 0
		}
	}
	return w, nil
}

func (w *watch) close() { w.pool.Close() }

func (w *watch) received(feed.Message, int64) { w.arrived.Add(1) }

const sqlProgress = `
SELECT coalesce((SELECT watermark FROM inbox_cursor), 0), p.*,
       (SELECT count(*) FROM msg_event WHERE state = 'SENT'), (SELECT count(*) FROM msg_event WHERE state = 'PENDING')
FROM (SELECT count(*), count(*) FILTER (WHERE state = 'SUCCEEDED'), count(*) FILTER (WHERE state = 'SKIPPED'),
             count(*) FILTER (WHERE state = 'DEAD'), count(*) FILTER (WHERE state = 'FAILED'), count(*) FILTER (WHERE state = 'PENDING'),
             count(backfill_at), coalesce(min(msg_id) FILTER (WHERE state = 'FAILED'), 0), coalesce(max(attempts) FILTER (WHERE state = 'FAILED'), 0),
             coalesce(extract(epoch FROM now() - min(enqueued_at) FILTER (WHERE state IN ('PENDING', 'FAILED'))), 0)::float8
      FROM proc_state) p`

func (w *watch) look(ctx context.Context) (p progress, err error) {
	var lag float64
	err = w.pool.QueryRow(ctx, sqlProgress).Scan(&p.watermark, &p.enqueued, &p.succeeded, &p.skipped, &p.dead, &p.failed, &p.pending,
		&p.marked, &p.retried, &p.failures, &lag, &p.sent, &p.unsent)
	p.lag = time.Duration(lag * float64(time.Second))
	return p, err
}

// until shows progress until the feed is through and everything it brought is
// decided, marked and delivered.
func (w *watch) until(ctx context.Context, fed <-chan error, ended chan error) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	through := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			ended <- err
			if err == nil {
				err = errDaemonEnded
			}
			return fmt.Errorf("daemon: %w", err)
		case err := <-fed:
			if err != nil {
				return err
			}
			through = true
		case <-tick.C:
		}
		p, err := w.look(ctx)
		if err != nil {
			return fmt.Errorf("demo: look at progress: %w", err)
		}
		done := through && p.decided() == int64(w.total) && p.marked == p.decided() && p.unsent == 0
		w.show(p, done)
		if done {
			return nil
		}
		if p != w.last {
			w.last, w.changed = p, time.Now()
			w.last.lag = p.lag
		}
		if time.Since(w.changed) > patience {
			return fmt.Errorf("nothing has changed for %s: %s", patience, p.line(w))
		}
	}
}

func (w *watch) show(p progress, last bool) {
	if w.terminal {
		fmt.Fprintf(w.out, "\r\x1b[K%s", p.line(w))
		if last {
			fmt.Fprintln(w.out)
		}
		return
	}
	if last || time.Since(w.shown) >= 2*time.Second {
		w.shown = time.Now()
		fmt.Fprintln(w.out, p.line(w))
	}
}

func (p progress) line(w *watch) string {
	parts := []string{
		fmt.Sprintf("received %d/%d", w.arrived.Load(), w.total),
		fmt.Sprintf("decided %d (succeeded %d, skipped %d, dead %d)", p.decided(), p.succeeded, p.skipped, p.dead),
		fmt.Sprintf("marked %d", p.marked),
		fmt.Sprintf("delivered %d/%d", p.sent, p.sent+p.unsent),
		fmt.Sprintf("lag %.1fs", p.lag.Seconds()),
	}
	if p.failed > 0 {
		parts = append(parts, fmt.Sprintf("message %d holds the line: failed %d of %d times", p.retried, p.failures, w.tries))
	}
	return strings.Join(parts, "  ")
}
