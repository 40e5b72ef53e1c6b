package daemon

import (
	"context"
	"errors"
	"time"

	"msgx/engine/api"
	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/mailbox"
	"msgx/engine/outage"
)

// awaitServers waits for our own database and for the mailbox. The broker is
// not waited for: events are kept until it is there.
func (d *Daemon) awaitServers(ctx context.Context) error {
	if err := d.await(ctx, "postgres", d.checkDatabase); err != nil {
		return err
	}
	return d.await(ctx, "mailbox", func(ctx context.Context) error {
		m, err := mailbox.Open(ctx, MailboxConfig(d.config))
		if err == nil {
			d.servers.mailbox.Store(m)
		}
		return err
	})
}

// checkDatabase asks for the schema of this binary, and the bounds of its catalogue.
func (d *Daemon) checkDatabase(ctx context.Context) error {
	if err := d.store.Check(ctx); err != nil {
		return err
	}
	return d.store.CheckBounds(ctx, d.core.Catalogue)
}

// waits is the back-off while a server is away at the start.
var waits = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second}

// await tries until the server is there or ctx ends. What is tried may be done twice.
func (d *Daemon) await(ctx context.Context, name string, try func(context.Context) error) error {
	server := outage.Outage{Log: d.log, Stage: "start", Server: name, Waits: waits}
	for {
		err := try(ctx)
		switch {
		case err == nil:
			server.Over()
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, fault.ErrUnavailable) && !errors.Is(err, fault.ErrCommitInDoubt):
			return err // which says what it is of
		}
		if err := clock.Sleep(ctx, d.clock, server.Failed(err)); err != nil {
			return err
		}
	}
}

// checks are what /readyz asks.
func (d *Daemon) checks() []api.Check {
	return []api.Check{
		{Name: "postgres", Probe: d.store.Check},
		{Name: "mailbox", Probe: func(ctx context.Context) error {
			m := d.servers.mailbox.Load()
			if m == nil {
				return errors.New("not reached yet")
			}
			return m.Check(ctx)
		}},
		{Name: "kafka", Probe: func(ctx context.Context) error {
			problems, err := d.lookAtTopics(ctx)
			if err == nil && len(problems) > 0 {
				err = errors.New(lines(problems))
			}
			return err
		}},
	}
}
