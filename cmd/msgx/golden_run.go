package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"msgx/golden"
)

// reportFormats are how the report of a run can be written.
var reportFormats = map[string]func(*golden.Report, io.Writer, bool) error{
	"text":  (*golden.Report).WriteText,
	"json":  func(r *golden.Report, w io.Writer, _ bool) error { return r.WriteJSON(w) },
	"junit": func(r *golden.Report, w io.Writer, _ bool) error { return r.WriteJUnit(w) },
}

func goldenRunCommand(g *globals) *cobra.Command {
	return runCasesCommand(g, "golden", "run", "Run golden cases against the rule set")
}

func rulesTestCommand(g *globals) *cobra.Command {
	return runCasesCommand(g, "rules", "test", "Prove the rule set on the golden cases (the same as golden run)")
}

// runCasesCommand is one command under two names: whoever thinks of cases finds it, and
// whoever thinks of rules.
func runCasesCommand(g *globals, noun, verb, short string) *cobra.Command {
	var (
		s       corpus
		verbose bool
		format  string
	)
	cmd := &cobra.Command{
		Use:   verb + " [CASE...]",
		Short: short,
		Long: `Run golden cases: each says what was there before, which messages come, and what has to come of
them. Without --dir the corpus of msgx.rules.golden is run, which a rule set has to pass to go live, or where that
is empty the corpus in the binary; against the rule set in the binary or that of
msgx.rules.dir, in the sandbox and with the budgets of production.

A case PASSes, FAILs, or is an ERROR: it cannot be read, or its runs disagree. Each case is run twice,
once more with all cases in reverse order, and once on a rule set loaded for it alone; what comes
out has to be the same to the byte. A failure shows what differs, the lines of Lua that ran for
the message that differs, which way each branch went and why, and the command that runs the
case alone.

--format json and junit are for programs; golden/README.md says what stands where.

Exits with 0 when all pass, with 1 when one does not and when nothing is selected.`,
		Example: fmt.Sprintf(`  msgx %[1]s
  msgx %[1]s flop-gtdt fdel -v
  msgx %[1]s -r code-share --set rules.dir=./candidate
  msgx %[1]s --dir ./golden --format junit > report.xml`, noun+" "+verb),
		RunE: func(cmd *cobra.Command, args []string) error {
			write := reportFormats[format]
			if write == nil {
				return usagef("--format %q: expected text, json or junit", format)
			}
			o, err := s.options(cmd, g, args)
			if err != nil {
				return err
			}
			report, err := golden.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := write(report, cmd.OutOrStdout(), verbose); err != nil {
				return err
			}
			if !report.OK() {
				return errNotWell
			}
			return nil
		},
	}
	s.flags(cmd)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list the cases that pass, too")
	cmd.Flags().StringVar(&format, "format", "text", "text, json or junit")
	return cmd
}
