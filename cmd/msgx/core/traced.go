package core

import (
	"fmt"
	"io/fs"

	"msgx/cmd/msgx/config"
	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
)

// VerdictOptions are the settings of the airport that a verdict depends on.
func VerdictOptions(c *config.Config) verdict.Options {
	return verdict.Options{
		Options: decision.Options{
			Zone:         c.Airport.Location,
			DayCutover:   c.Airport.DayCutover,
			CodeShareKey: c.Outbox.CodeShare,
		},
		IdentityWithDay: c.Identity.IncludeDayBoundary,
	}
}

// Traced loads a rule set that tells how it decides, under the limits of the configuration. from names
// it for people.
func Traced(c *config.Config, cat *catalogue.Catalogue, rules fs.FS, from string, s rulebook.Settings) (*rulebook.Rulebook, error) {
	book, err := rulebook.LoadTraced(rules, cat, s, Limits(c))
	if err != nil {
		return nil, fmt.Errorf("rule set %s: %w", from, err)
	}
	return book, nil
}
