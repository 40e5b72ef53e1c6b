package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"msgx/engine/rulebook/coverage"
	"msgx/golden"
)

// coverageFormats print a report.
var coverageFormats = map[string]func(*coverage.Report, io.Writer) error{
	"text": (*coverage.Report).Text,
	"html": (*coverage.Report).HTML,
	"json": func(r *coverage.Report, w io.Writer) error { return printJSON(w, r) },
}

const coverageLong = `Run golden cases on rules that are traced, and show what never ran: each line, and each outcome
of a place that can go two ways. A condition holds or does not; a "for" has a round; the left side
of "and" and "or" decides or does not, and so does the right side within a condition; a function is called.

Without SCRIPT all files that handlers.lua uses are shown; with it those named, such as
flop-gtdt, flop-gtdt@1, merge or rules/lib/merge.lua.

--format text lists what is missing, then each file. --format html is one page without anything
from elsewhere: the source in colours, how often each line ran, and in which cases. --format json:

  ruleset            hash of the rule set
  cases, failing     names of the cases run; of those that do not come out as expected
  lines, outcomes    {covered, total}
  files[]            file, lines, outcomes, and
    missing[]        line, column (of an outcome), what, source
    hits[]           line, count, cases: each line that can run, the cases that ran it most first
    points[]         line, column, kind, text, true, false, true_cases, false_cases

Exits with 1 when lines or outcomes are covered to less than --threshold percent, when a
case does not come out as expected, and when no case matches.`

func goldenCoverageCommand(g *globals) *cobra.Command {
	var (
		cases     corpus
		format    string
		threshold float64
	)
	cmd := &cobra.Command{
		Use:   "coverage [SCRIPT...]",
		Short: "Show which lines and outcomes of the rules the golden cases cover",
		Long:  coverageLong,
		Example: "  msgx golden coverage\n  msgx golden coverage merge --format html > coverage.html\n" +
			"  msgx golden coverage --dir golden --set rules.dir=./candidate --threshold 100",
		RunE: func(cmd *cobra.Command, args []string) error {
			show, ok := coverageFormats[format]
			if !ok {
				return usagef("--format is %q, expected text, json or html", format)
			}
			if threshold < 0 || threshold > 100 {
				return usagef("--threshold is %g, expected 0 to 100", threshold)
			}
			o, err := cases.options(cmd, g, nil)
			if err != nil {
				return err
			}
			report, err := golden.Cover(cmd.Context(), o, args...)
			if errors.Is(err, golden.ErrNoSuchScript) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			if err := show(report, cmd.OutOrStdout()); err != nil {
				return err
			}
			if !report.Reaches(threshold) || len(report.Failing) > 0 {
				return errNotWell
			}
			return nil
		},
	}
	cases.flags(cmd)
	cmd.Flags().StringVar(&format, "format", "text", "text, json or html")
	cmd.Flags().Float64Var(&threshold, "threshold", 0, "exit with 1 below so many percent, of lines or of outcomes")
	return cmd
}
