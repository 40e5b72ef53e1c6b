package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/clock"
	"msgx/engine/inbox"
	"msgx/engine/mailbox"
	"msgx/engine/message"
	"msgx/engine/pump"
	"msgx/engine/store"
	"msgx/tools/feed"
	"msgx/tools/scratch"
)

const (
	stepBound = 5 * time.Minute
	lookEvery = 20 * time.Millisecond
)

// trial is the place of the throughput measurement: a mailbox with a morning
// that every round begins after, and the day that it measures.
type trial struct {
	*scratch.Place
	o        options
	name     string
	base     string // database in which the morning has been decided
	morning  int
	measured int
}

// throughput measures rounds of daemon and floor in turn and returns the ratio of
// the medians.
func throughput(ctx context.Context, o options) (float64, error) {
	t, err := newTrial(ctx, o)
	if err != nil {
		return 0, err
	}
	defer t.Remove()
	fmt.Printf("mailbox to terminal state: %d messages a round after a morning of %d, PostgreSQL with %s\n\n", t.measured, t.morning, durability(ctx, o))
	var ours, floors []float64
	for round := 1; round <= o.rounds; round++ {
		r := newRecorder()
		took, err := t.round(ctx, round, r)
		if err != nil {
			return 0, err
		}
		base, err := t.floorOf(ctx, round, r)
		if err != nil {
			return 0, err
		}
		ours = append(ours, float64(t.measured)/took.Seconds())
		floors = append(floors, float64(len(r.units))/base.Seconds())
		fmt.Printf("round %d   msgx %6.0f messages/s   floor %6.0f messages/s   ratio %.2f\n", round, ours[round-1], floors[round-1], ours[round-1]/floors[round-1])
	}
	ratio := median(ours) / median(floors)
	fmt.Printf("median    msgx %6.0f messages/s   floor %6.0f messages/s   ratio %.2f\n\n", median(ours), median(floors), ratio)
	return ratio, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// durability reads back what the figures depend on, and is part of them.
func durability(ctx context.Context, o options) string {
	conn, err := pgx.Connect(ctx, o.postgres)
	if err != nil {
		return err.Error()
	}
	defer conn.Close(ctx) //nolint:errcheck // only reads
	var fsync, commit string
	if err := conn.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit')`).Scan(&fsync, &commit); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("fsync %s, synchronous_commit %s", fsync, commit)
}

// day makes the messages of a day without any that hold the line on purpose.
func day(o options, c *config.Config, date time.Time, operations int) ([]feed.Message, error) {
	return feed.Generate(feed.Options{Seed: 1, Date: date, Zone: c.Airport.Location, Operations: operations, Holding: -1})
}

func newTrial(ctx context.Context, o options) (*trial, error) {
	t := &trial{o: o, name: fmt.Sprintf("msgx_bench_%d", time.Now().UnixMilli())}
	var err error
	if t.Place, err = scratch.New(ctx, o.postgres, o.mariadb, t.name); err != nil {
		return nil, err
	}
	if err := t.prepare(ctx); err != nil {
		t.Remove()
		return nil, err
	}
	return t, nil
}

// prepare decides the morning (reference data, the schedule and the first
// operations) once, then fills the mailbox with what is measured.
func (t *trial) prepare(ctx context.Context) error {
	t.base = t.name + "_base"
	url, err := t.Database(ctx, t.base, "")
	if err != nil {
		return err
	}
	if _, _, err := store.Migrate(ctx, url); err != nil {
		return err
	}
	c, err := t.configuration(url)
	if err != nil {
		return err
	}
	messages, err := day(t.o, c, time.Now(), t.o.messages+1000)
	if err != nil {
		return err
	}
	t.measured = t.o.messages
	t.morning = len(messages) - t.measured
	if _, err := feed.Insert(ctx, t.Mailbox, messages[:t.morning], feed.Inserting{Writers: 4}); err != nil {
		return err
	}
	if _, err := t.decide(ctx, url, t.morning, nil); err != nil {
		return fmt.Errorf("morning: %w", err)
	}
	_, err = feed.Insert(ctx, t.Mailbox, messages[t.morning:], feed.Inserting{Writers: 4})
	return err
}

func (t *trial) configuration(url string) (*config.Config, error) {
	return config.Load(config.Sources{Set: []string{
		"postgres.url=" + url, "mailbox.dsn=" + t.MailboxDSN, "kafka.brokers=" + t.o.kafka,
		"pipeline.max-commit-delay=1s", "pipeline.cutover-watermark=zero",
	}})
}

// round measures inbox and pump from the first unread row to the last terminal state.
func (t *trial) round(ctx context.Context, round int, r *recorder) (time.Duration, error) {
	name := fmt.Sprintf("%s_round_%d", t.name, round)
	url, err := t.Database(ctx, name, t.base)
	if err != nil {
		return 0, err
	}
	took, err := t.decide(ctx, url, t.morning+t.measured, r)
	return took, errors.Join(err, t.Drop(ctx, name))
}

// floorOf enqueues the same messages in another copy and issues what was recorded.
func (t *trial) floorOf(ctx context.Context, round int, r *recorder) (time.Duration, error) {
	name := fmt.Sprintf("%s_floor_%d", t.name, round)
	url, err := t.Database(ctx, name, t.base)
	if err != nil {
		return 0, err
	}
	if err := enqueue(ctx, url, int64(t.morning), int64(t.morning+t.measured)); err != nil {
		return 0, err
	}
	took, err := floor(ctx, url, r)
	return took, errors.Join(err, t.Drop(ctx, name))
}

// enqueue does what the inbox does, before the floor's clock starts.
func enqueue(ctx context.Context, url string, after, last int64) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `INSERT INTO proc_state (msg_id, enqueued_at, updated_at) SELECT id, now(), now() FROM generate_series($1::bigint, $2::bigint) AS id`, after+1, last)
	if err == nil {
		_, err = conn.Exec(ctx, `UPDATE inbox_cursor SET watermark = $1`, last)
	}
	return errors.Join(err, conn.Close(ctx))
}

// decide runs inbox and pump as the daemon does until so many messages are terminal.
func (t *trial) decide(ctx context.Context, url string, until int, r *recorder) (time.Duration, error) {
	c, err := t.configuration(url)
	if err != nil {
		return 0, err
	}
	mind, err := core.New(c)
	if err != nil {
		return 0, err
	}
	settings := store.Config{URL: url}
	if r != nil {
		settings.Tracer = r
	}
	s, err := store.Open(ctx, settings, mind.Catalogue, c.Airport.Location)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	m, err := mailbox.Open(ctx, daemon.MailboxConfig(c))
	if err != nil {
		return 0, err
	}
	defer m.Close() //nolint:errcheck // the measurement is over
	epoch, ok, err := s.ClaimLease(ctx, "bench", time.Second)
	if err != nil || !ok {
		return 0, fmt.Errorf("claim the lease: %v, %w", ok, err)
	}
	begun := time.Now()
	err = t.stages(ctx, c, mind, s, m, s.Writer(epoch), until)
	took := time.Since(begun)
	return took, errors.Join(err, s.ReleaseLease(ctx, epoch, "bench"))
}

func (t *trial) stages(ctx context.Context, c *config.Config, mind *core.Core, s *store.Store, m *mailbox.Mailbox, w *store.Writer, until int) error {
	ctx, cancel := context.WithTimeout(ctx, stepBound)
	defer cancel()
	quiet := slog.New(slog.DiscardHandler)
	decide := pump.New(pump.Parts{
		Line: s, Writer: w, Mailbox: m, Decoder: mind.Codec, Judge: mind.Judge, Clock: clock.System{}, Log: quiet,
	}, pump.Options{Retry: mind.Retry, Poll: lookEvery, KeepRaw: c.Replay.KeepRaw, IdentityMemory: c.Identity.Memory})
	read, err := inbox.New(inbox.Needs{Mailbox: m, Store: s, Writer: w, Clock: clock.System{}, Log: quiet}, inbox.Options{
		PollInterval: lookEvery, ClaimBatch: c.Pipeline.ClaimBatch, MaxCommitDelay: c.Pipeline.MaxCommitDelay, Cutover: c.Pipeline.CutoverWatermark,
	})
	if err != nil {
		return err
	}
	stop, halt := context.WithCancel(ctx)
	defer halt()
	group, running := errgroup.WithContext(stop)
	group.Go(func() error { return read.Run(running) })
	group.Go(func() error { return decide.Run(running) })
	group.Go(func() error {
		defer halt()
		return await(running, s, until)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}

// await returns when the last message is terminal: messages end in order.
func await(ctx context.Context, s *store.Store, last int) error {
	for {
		heads, watermark, _, err := s.Heads(ctx, 1)
		if err != nil {
			return err
		}
		if len(heads) == 0 && watermark >= int64(last) {
			return nil
		}
		if len(heads) == 1 && heads[0].State == message.Failed {
			return fmt.Errorf("message %d failed: %s", heads[0].MsgID, heads[0].LastError)
		}
		if err := clock.Sleep(ctx, clock.System{}, lookEvery); err != nil {
			return err
		}
	}
}
