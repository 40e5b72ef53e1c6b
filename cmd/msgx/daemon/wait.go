package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"msgx/engine/api"
	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/mailbox"
)

const longestWait = 5 * time.Second

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

// await tries until the server is there or ctx ends. It logs once when the
// server is missed and once when it has come.
func (d *Daemon) await(ctx context.Context, name string, try func(context.Context) error) error {
	wait, missed := 250*time.Millisecond, false
	for {
		err := try(ctx)
		switch {
		case err == nil:
			if missed {
				d.log.Info("server is back", "server", name)
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, fault.ErrUnavailable):
			return fmt.Errorf("%s: %w", name, err)
		case !missed:
			missed = true
			d.log.Warn("server is away, waiting for it", "server", name, "error", err)
		}
		if err := clock.Sleep(ctx, d.clock, wait); err != nil {
			return err
		}
		wait = min(2*wait, longestWait)
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
			problems, err := d.servers.admin.Check(ctx, Topics(d.config))
			if err != nil {
				return err
			}
			for _, p := range problems {
				if p.Fatal {
					return errors.New(p.String())
				}
			}
			return nil
		}},
	}
}
