package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/engine/ruleset"
)

func rulesActivateCommand(g *globals) *cobra.Command {
	var (
		a      asking
		dryRun bool
	)
	cmd := &cobra.Command{
		Use:   "activate",
		Short: "Have the daemon take the rule set that lies in its directory",
		Long: `Have the daemon that leads take the rule set that lies in its msgx.rules.dir: load it beside
the live one, prove it, and let it decide from the next message on. One that does not pass is
refused with the reasons, and the live one stays. It ends the pin of a rollback, and tries again
what was refused before.

The request goes through our own database, so it can be given on any machine. The command waits
for the answer and exits with 1 when the rule set is refused or nobody answers.

--dry-run asks nothing: it loads and proves the rule set of msgx.rules.dir on this machine.`,
		Example: "  msgx rules activate --reason 'gates by key, ticket 4711'\n  msgx rules activate --dry-run --set rules.dir=./candidate",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dryRun {
				return proveHere(cmd.Context(), cmd.OutOrStdout(), g)
			}
			if err := a.check(); err != nil {
				return err
			}
			db, err := g.onRecord(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			return a.ask(cmd.Context(), cmd.OutOrStdout(), db, ruleset.ByActivate, "")
		},
	}
	a.flags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "prove the rule set of msgx.rules.dir here and change nothing")
	return cmd
}

// proveHere does what the daemon does before a rule set goes live.
func proveHere(ctx context.Context, out io.Writer, g *globals) error {
	c, err := g.config()
	if err != nil {
		return err
	}
	cat, err := core.LoadCatalogue(c)
	if err != nil {
		return err
	}
	source := core.RulesSource(c)
	files, err := source.Read()
	if err != nil {
		return usageError{err}
	}
	workshop := core.NewWorkshop(c, cat, build(), core.Checks(c, cat)...)
	candidate, err := workshop.Load(files)
	if err != nil {
		fmt.Fprintf(out, "would be refused\n%s", listed([]string{err.Error()}))
		return errNotWell
	}
	reasons, err := workshop.Prove(ctx, files)
	if err != nil {
		return err
	}
	if len(reasons) > 0 {
		fmt.Fprintf(out, "rule set %s would be refused\n%s", candidate.Set.Hash, listed(reasons))
		return errNotWell
	}
	cases := "in the binary; msgx.rules.golden names others"
	if c.Rules.Golden != "" {
		cases = "of " + c.Rules.Golden
	}
	_, err = fmt.Fprintf(out, "rule set %s would go live\nproved on the golden cases %s\n", candidate.Set.Hash, cases)
	return err
}
