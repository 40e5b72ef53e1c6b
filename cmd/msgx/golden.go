package main

import (
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/golden"
)

func goldenCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "golden",
		Short: "Run the corpus of recorded decisions",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(goldenRunCommand(g))
	return cmd
}

func goldenRunCommand(g *globals) *cobra.Command {
	var (
		pattern, dir string
		verbose      bool
	)
	cmd := &cobra.Command{
		Use:   "run [CASE...]",
		Short: "Run golden cases against the rule set",
		Long: `Run golden cases: each says what was there before, which messages come, what becomes of each,
and what is there afterwards. Without --dir the corpus in the binary is run, against the rule
set in the binary or that of msgx.rules.dir.

Exits with 1 when a case fails, and when no case matches.`,
		Example: "  msgx golden run\n  msgx golden run -r 'code-share' --set rules.dir=./candidate",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := regexp.Compile(pattern); err != nil {
				return usagef("--run: %w", err)
			}
			if dir != "" {
				if _, err := os.ReadDir(dir); err != nil {
					return usagef("--dir: %w", err)
				}
			}
			c, err := g.config()
			if err != nil {
				return err
			}
			cat, err := core.LoadCatalogue(c)
			if err != nil {
				return err
			}
			report, err := golden.Run(cmd.Context(), golden.Options{Catalogue: cat, Rules: core.RulesFS(c), Pattern: pattern, Dir: dir, Names: args})
			if err != nil {
				return err
			}
			if err := report.WriteText(cmd.OutOrStdout(), verbose); err != nil {
				return err
			}
			if !report.OK() {
				return errNotWell
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&pattern, "run", "r", "", "regular expression on the names of cases")
	cmd.Flags().StringVar(&dir, "dir", "", "golden directory to read cases from")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list the cases that pass, too")
	return cmd
}
