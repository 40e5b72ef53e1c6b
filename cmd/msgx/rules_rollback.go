package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/engine/fault"
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
	if !hashPrefix.MatchString(text) {
		return "", usagef("rule set %q: expected a hash, or its first 4 characters or more", text)
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

func rulesExportCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export HASH DIR",
		Short: "Write a rule set that was live into a directory",
		Long: `Write the text of a rule set that was live once, as it is on record, into a directory that
does not exist yet or is empty: to compare it (msgx rules diff), to run a past message through it
(msgx try --set rules.dir=DIR), or to begin a change from it.`,
		Example: "  msgx rules export 3fa2c1 ./before\n  msgx rules diff ./before ./candidate",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			db, err := g.onRecord(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			hash, err := db.named(cmd, args[0])
			if err != nil {
				return err
			}
			set, err := db.Ruleset(cmd.Context(), hash)
			if err != nil {
				return err
			}
			return writeRuleset(cmd.OutOrStdout(), args[1], set)
		},
	}
	return cmd
}

// writeRuleset writes the files of a rule set into an empty directory.
func writeRuleset(out io.Writer, dir string, set ruleset.Set) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return usageError{err}
	}
	if len(entries) > 0 {
		return usagef("%s is not empty: found %s and %d more, expected a directory to be made", dir, entries[0].Name(), len(entries)-1)
	}
	for _, name := range slices.Sorted(maps.Keys(set.Files)) {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if err := os.WriteFile(full, set.Files[name], 0o644); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	_, err = fmt.Fprintf(out, "wrote %d files of rule set %s to %s\n", len(set.Files), set.Hash, dir)
	return err
}
