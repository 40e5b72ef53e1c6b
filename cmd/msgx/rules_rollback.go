package main

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/engine/fault"
	"msgx/engine/nearest"
	"msgx/engine/ruleset"
)

func rulesRollbackCommand(g *globals) *cobra.Command {
	var (
		a      asking
		dryRun bool
	)
	cmd := &cobra.Command{
		Use:   "rollback HASH",
		Short: "Have the daemon go back to a rule set that was live",
		Long: `Have the daemon that leads go back to a rule set that was live once, by its hash or the first
characters of it (msgx rules history). Its text comes from the record in our own database, so the
directory may be gone. It has to load; its golden cases are not run again, since they may have
moved on with the rules.

The rule set is pinned: what lies in msgx.rules.dir is not taken, also after a restart, until it
changes or msgx rules activate asks for it.

--dry-run asks nothing: it loads the rule set from the record on this machine.`,
		Example: "  msgx rules rollback 3fa2c1 --reason 'stands are lost, ticket 4712'\n  msgx rules rollback 3fa2c1 --dry-run",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.check(); err != nil && !dryRun {
				return err
			}
			db, err := g.onRecord(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			hash, err := db.named(cmd, args[0])
			if err != nil {
				return err
			}
			if dryRun {
				return db.loadsHere(cmd, hash)
			}
			return a.ask(cmd.Context(), cmd.OutOrStdout(), db, ruleset.ByRollback, hash)
		},
	}
	a.flags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "see whether the rule set loads here and change nothing")
	return cmd
}

var hashPrefix = regexp.MustCompile(`^[0-9a-f]{4,64}$`)

// named completes the beginning of a hash.
func (db *onRecord) named(cmd *cobra.Command, text string) (string, error) {
	if err := isHash(text); err != nil {
		return "", err
	}
	hash, err := db.RulesetNamed(cmd.Context(), text)
	switch {
	case errors.Is(err, fault.ErrNotFound):
		return "", usagef("rule set %s: none that was live begins so; msgx rules history lists them", text)
	case errors.Is(err, fault.ErrRefused):
		return "", usageError{err}
	}
	return hash, err
}

// isHash refuses what cannot name a rule set on record.
func isHash(text string) error {
	if !hashPrefix.MatchString(text) {
		return usagef("rule set %q: expected a hash, or its first 4 characters or more%s", text, nearest.Hint(text, []string{shipped}))
	}
	return nil
}

// loadsHere loads a rule set of the record without asking for it.
func (db *onRecord) loadsHere(cmd *cobra.Command, hash string) error {
	set, err := db.Ruleset(cmd.Context(), hash)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	candidate, err := core.NewWorkshop(db.config, db.mind.Catalogue, build()).Load(set.Files)
	if err != nil {
		fmt.Fprintf(out, "rule set %s would be refused\n%s", hash, listed([]string{err.Error()}))
		return errNotWell
	}
	fmt.Fprintf(out, "rule set %s would go live, %d files of build %s\n", candidate.Set.Hash, len(set.Files), set.Build)
	if candidate.Set.Hash != hash {
		fmt.Fprintf(out, "its hash is another than %s: catalogue or settings have changed since\n", hash)
	}
	return nil
}
