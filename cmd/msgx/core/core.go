// Package core puts together what decides about a message: catalogue, codec,
// rule set and judge, as the configuration wants them. Daemon, rehearsal and
// corpus get the same from here.
package core

import (
	"fmt"
	"io/fs"
	"os"

	"msgx"
	"msgx/cmd/msgx/config"
	"msgx/engine/catalogue"
	"msgx/engine/codec"
	"msgx/engine/message"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
	"msgx/schemas"
)

// Core is everything that decides about a message.
type Core struct {
	Catalogue *catalogue.Catalogue
	Codec     *codec.Codec
	Rules     *rulebook.Rulebook // nil after Prepare, and so is Judge
	Judge     *verdict.Judge
	Retry     message.Retry
}

// New builds a core. Its error names every fault of the part that failed.
func New(c *config.Config) (*Core, error) {
	core, err := Prepare(c)
	if err != nil {
		return nil, err
	}
	if core.Rules, err = LoadRules(c, core.Catalogue); err != nil {
		return nil, err
	}
	core.Judge = newJudge(c, core.Catalogue, core.Rules)
	return core, nil
}

// Prepare builds a core without a rule set, for whoever finds out later which one it is.
func Prepare(c *config.Config) (*Core, error) {
	cat, err := LoadCatalogue(c)
	if err != nil {
		return nil, err
	}
	decoder, err := codec.New(cat, codec.Options{
		Zone:        c.Airport.Location,
		MaxBytes:    int64(c.Codec.MaxBytes),
		MaxDepth:    c.Codec.MaxDepth,
		MaxElements: c.Codec.MaxElements,
		Ignore:      c.Pipeline.Ignore,
	})
	if err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	return &Core{
		Catalogue: cat, Codec: decoder,
		Retry: message.Retry{MaxAttempts: c.Pipeline.MaxAttempts, Tiers: c.Pipeline.Backoff},
	}, nil
}

// newJudge makes the judge of a rule set.
func newJudge(c *config.Config, cat *catalogue.Catalogue, rules *rulebook.Rulebook) *verdict.Judge {
	return verdict.New(cat, rules, VerdictOptions(c))
}

// LoadCatalogue reads the catalogue, with the overrides of the site.
func LoadCatalogue(c *config.Config) (*catalogue.Catalogue, error) {
	if c.Codec.SiteFile == "" {
		return schemas.Load()
	}
	site, err := os.ReadFile(c.Codec.SiteFile)
	if err != nil {
		return nil, fmt.Errorf("msgx.codec.site-file: %w", err)
	}
	return schemas.LoadSite(site)
}

// LoadRules loads the rule set of the configuration.
func LoadRules(c *config.Config, cat *catalogue.Catalogue) (*rulebook.Rulebook, error) {
	rules, err := rulebook.Load(RulesFS(c), cat, rulebook.Settings{AbsentOptional: c.Schd.AbsentOptional}, Limits(c))
	if err != nil {
		return nil, fmt.Errorf("rule set %s: %w", RulesFrom(c), err)
	}
	return rules, nil
}

// RulesFS is where the rule set comes from.
func RulesFS(c *config.Config) fs.FS {
	if c.Rules.Dir == "" {
		return msgx.Files
	}
	return os.DirFS(c.Rules.Dir)
}

// RulesFrom names where the rule set comes from, for people.
func RulesFrom(c *config.Config) string {
	if c.Rules.Dir == "" {
		return "in the binary"
	}
	return c.Rules.Dir
}
