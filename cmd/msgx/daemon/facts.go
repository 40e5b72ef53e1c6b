package daemon

import (
	"context"
	"fmt"
	"strconv"

	"msgx/cmd/msgx/config"
	"msgx/engine/store"
)

// identityFact is the setting that bound identities depend on.
const identityFact = "identity.include-day-boundary"

// CheckFacts refuses a configuration that contradicts what the data of this
// database were made with. Before the mailbox was read for the first time anything goes.
func CheckFacts(ctx context.Context, s *store.Store, c *config.Config) error {
	made, found, err := s.Fact(ctx, identityFact)
	if err != nil || !found {
		return err
	}
	_, begun, err := s.Cursor(ctx)
	if err != nil || !begun {
		return err
	}
	if want := strconv.FormatBool(c.Identity.IncludeDayBoundary); want != made {
		return fmt.Errorf("msgx.%s is %s, expected %s: this database holds identities that were bound so, and a change would let duplicates through", identityFact, want, made)
	}
	return nil
}

// keepFacts puts the settings that data depend on on record.
func (d *Daemon) keepFacts(ctx context.Context, writer *store.Writer) error {
	if err := CheckFacts(ctx, d.store, d.config); err != nil {
		return err
	}
	return writer.SetFact(ctx, identityFact, strconv.FormatBool(d.config.Identity.IncludeDayBoundary), d.clock.Now())
}
