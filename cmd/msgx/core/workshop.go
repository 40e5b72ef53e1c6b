package core

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/tools/txtar"

	"msgx"
	"msgx/cmd/msgx/config"
	"msgx/engine/catalogue"
	"msgx/engine/fault"
	"msgx/engine/rollout"
	"msgx/engine/rulebook"
	"msgx/engine/ruleset"
	"msgx/engine/shadow"
)

// Workshop makes rule sets ready to judge, and proves that one may go live.
type Workshop struct {
	config    *config.Config
	catalogue *catalogue.Catalogue
	build     string
	checks    []Check
}

// Check is one proof of a rule set that can be loaded.
type Check struct {
	Name string
	// Run returns why the rule set must not go live, nothing when it may. An error means that this could not be found out.
	Run func(ctx context.Context, rules fs.FS) (reasons []string, err error)
}

// proofBound is how long all checks together may take.
const proofBound = 5 * time.Minute

// NewWorkshop makes a workshop for a build of the host. Checks are run in their order, all of them.
func NewWorkshop(c *config.Config, cat *catalogue.Catalogue, build string, checks ...Check) *Workshop {
	return &Workshop{config: c, catalogue: cat, build: build, checks: checks}
}

// Load makes a rule set ready to judge; its error names every fault.
func (w *Workshop) Load(files map[string][]byte) (*rollout.Candidate, error) {
	book, judge, err := w.load(files, nil)
	if err != nil {
		return nil, err
	}
	c := w.config
	return &rollout.Candidate{Judge: judge, Set: ruleset.Set{
		Hash: book.Hash(), Files: book.Files(), Build: w.build,
		Settings: map[string]string{
			"absent-optional": c.Schd.AbsentOptional,
			"code-share":      c.Outbox.CodeShare,
			"zone":            c.Airport.Zone,
			"day-cutover":     c.Airport.DayCutover.String(),
		},
	}}, nil
}

// Recall makes a rule set of the record ready to decide again, under the settings it was live with that are its own.
// fault.ErrNotFound when its files make another one under the catalogue of today.
func (w *Workshop) Recall(set ruleset.Set) (*rulebook.Rulebook, rollout.Judge, error) {
	rules, err := inMemory(set.Files)
	if err != nil {
		return nil, nil, err
	}
	settings := rulebook.Settings{AbsentOptional: cmp.Or(set.Settings["absent-optional"], w.config.Schd.AbsentOptional)}
	book, err := rulebook.Load(rules, w.catalogue, settings, Limits(w.config))
	if err != nil {
		return nil, nil, fmt.Errorf("rule set %.12s on record: %w", set.Hash, err)
	}
	if book.Hash() != set.Hash {
		return nil, nil, fmt.Errorf("rule set %.12s on record is %.12s under the catalogue of today: %w", set.Hash, book.Hash(), fault.ErrNotFound)
	}
	return book, newJudge(w.config, w.catalogue, book), nil
}

// LoadShadow makes a rule set ready to decide beside the live one, with the budgets of a shadow.
func (w *Workshop) LoadShadow(files map[string][]byte, late func() bool) (shadow.Judge, string, error) {
	book, judge, err := w.load(files, func(l *rulebook.Limits) {
		l.Instructions, l.Late = int64(w.config.Rules.ShadowInstructions), late
	})
	if err != nil {
		return nil, "", err
	}
	return judge, book.Hash(), nil
}

func (w *Workshop) load(files map[string][]byte, adjust func(*rulebook.Limits)) (*rulebook.Rulebook, rollout.Judge, error) {
	rules, err := inMemory(files)
	if err != nil {
		return nil, nil, err
	}
	limits := Limits(w.config)
	if adjust != nil {
		adjust(&limits)
	}
	book, err := rulebook.Load(rules, w.catalogue, rulebook.Settings{AbsentOptional: w.config.Schd.AbsentOptional}, limits)
	if err != nil {
		return nil, nil, err
	}
	return book, newJudge(w.config, w.catalogue, book), nil
}

// Prove runs every check over a rule set that can be loaded and returns why it must not go live.
func (w *Workshop) Prove(ctx context.Context, files map[string][]byte) ([]string, error) {
	rules, err := inMemory(files)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, proofBound)
	defer cancel()
	var all []string
	for _, check := range w.checks {
		reasons, err := check.Run(bounded, rules)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			reasons = append(reasons, err.Error())
		}
		for _, reason := range reasons {
			all = append(all, check.Name+": "+reason)
		}
	}
	return all, nil
}

// inMemory gives files as a file system.
func inMemory(files map[string][]byte) (fs.FS, error) {
	a := &txtar.Archive{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: files[name]})
	}
	fsys, err := txtar.FS(a)
	if err != nil {
		return nil, fmt.Errorf("rule set: %w", err)
	}
	return fsys, nil
}

// inTheBinary is the origin of the rule set that the binary carries, on any machine.
const inTheBinary = "binary"

// RulesSource is where the configuration has the rule set that an instance leads with.
func RulesSource(c *config.Config) rollout.Source {
	if c.Rules.Dir == "" {
		return rollout.Source{Origin: inTheBinary, Proved: true,
			Read: func() (map[string][]byte, error) { return ruleset.Read(msgx.Files) }}
	}
	return DirSource(c.Rules.Dir)
}

// DirSource is a directory of this machine as a source.
func DirSource(dir string) rollout.Source {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return rollout.Source{Origin: host + ":" + dir,
		Read: func() (map[string][]byte, error) { return ruleset.Read(os.DirFS(dir)) }}
}
