// Package demo runs a whole airport day on one machine before somebody's
// eyes: it makes databases and topics of its own, starts the daemon, feeds the
// mailbox, shows what happens, and at the end accounts for every message.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/event"
	"msgx/engine/store"
	"msgx/tools/feed"
)

// Options say where the demo runs and what day it makes.
type Options struct {
	Postgres  string   // URL of a PostgreSQL that databases may be created in
	MariaDB   string   // data source of a MariaDB that databases may be created in
	Kafka     []string // brokers; none brings one in this process
	Listen    string   // address of metrics and health
	Set       []string // parameters of the daemon, key=value; those that the demo gives itself win
	Once      bool     // end after the day
	Seed      uint64
	Flights   int
	PerSecond int // 0 for as fast as they can be written

	Operations int
	Out        io.Writer
	Build      string
	CheckEvent func(event.Target, []byte) error // unless nil, says what is wrong with the value of a record; for tests
}

// Run runs the day. The report says whether everything is accounted for; an
// error means that the day could not be run to its end.
func Run(ctx context.Context, o Options) (*Report, error) {
	p, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer p.cleanUp()
	c, err := p.configuration(o)
	if err != nil {
		return nil, err
	}
	from, to, err := store.Migrate(ctx, c.Postgres.URL)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Out, "PostgreSQL  database %s, migrated from version %d to %d\n", p.name, from, to)
	fmt.Fprintf(o.Out, "MariaDB     database %s with an empty mailbox\n", p.name)
	fmt.Fprintf(o.Out, "Kafka       %s, topics %s and %s\n", p.broker, c.Kafka.MsgTopic, c.Kafka.SchdTopic)

	// Warnings are part of the day (bad messages) and are counted in the
	// report; the terminal shows errors of the daemon itself.
	d, err := daemon.New(ctx, c, o.Build, slog.New(&trouble{out: o.Out}))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Out, "daemon      http://%s/metrics /healthz /readyz\n", d.Address())
	return p.live(ctx, o, c, d)
}

// live runs daemon and feed side by side until the day is accounted for.
func (p *place) live(ctx context.Context, o Options, c *config.Config, d *daemon.Daemon) (*Report, error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(running) }()

	report, err := p.day(ctx, o, c, ended)
	if err == nil && !o.Once {
		fmt.Fprintf(o.Out, "\nThe daemon stays up: http://%s/metrics. Ctrl-C ends it.\n%s", d.Address(), p.hints(c, report))
		select {
		case <-ctx.Done():
		case err = <-ended:
			ended <- err
		}
	}
	stop()
	if late := <-ended; late != nil && err == nil {
		err = fmt.Errorf("daemon: %w", late)
	}
	return report, err
}

func (p *place) day(ctx context.Context, o Options, c *config.Config, ended chan error) (*Report, error) {
	messages, err := feed.Generate(feed.Options{
		Seed: o.Seed, Date: time.Now().In(c.Airport.Location), Zone: c.Airport.Location, Flights: o.Flights, Operations: o.Operations,
		Holding: 1, // one message that holds the head through all its retries is enough to see it
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Out, "feed        seed %d: %d messages; one of them fails on purpose and holds the line through all its tries\n\n", o.Seed, len(messages))
	watch, err := p.watch(ctx, c, o.Out, len(messages))
	if err != nil {
		return nil, err
	}
	defer watch.close()
	fed, left := make(chan error, 1), make(chan struct{})
	feeding, stop := context.WithCancel(ctx)
	defer func() { // a writer in the middle of a transaction would hold up the removal of its database
		stop()
		<-left
	}()
	var inserted feed.Inserted
	go func() {
		defer close(left)
		var err error
		inserted, err = feed.Insert(feeding, p.Mailbox, messages, feed.Inserting{
			Seed: o.Seed, Writers: 4, OutOfOrder: true, RolledBack: 1, PerSecond: o.PerSecond, Done: watch.received,
		})
		fed <- err
	}()
	begun := time.Now()
	if err := watch.until(ctx, fed, ended); err != nil {
		return nil, err
	}
	report := &Report{Took: time.Since(begun), messages: messages, inserted: inserted}
	if err := p.account(ctx, c, report); err != nil {
		return nil, err
	}
	_, err = io.WriteString(o.Out, report.String())
	return report, err
}

// trouble is a log handler that shows what goes wrong with the daemon, but not
// the dead messages and the holes that are part of the day.
type trouble struct{ out io.Writer }

func (t *trouble) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (t *trouble) Handle(_ context.Context, r slog.Record) error {
	about := false
	r.Attrs(func(a slog.Attr) bool {
		about = about || a.Key == "msg_id" || a.Key == "first_id"
		return true
	})
	if about {
		return nil
	}
	line := fmt.Sprintf("\n%s  %s", r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf("  %s=%v", a.Key, a.Value)
		return true
	})
	_, err := fmt.Fprintln(t.out, line)
	return err
}

func (t *trouble) WithAttrs([]slog.Attr) slog.Handler { return t }
func (t *trouble) WithGroup(string) slog.Handler      { return t }

var errDaemonEnded = errors.New("the daemon ended before the day did")
