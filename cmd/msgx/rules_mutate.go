package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"msgx/engine/rulebook/mutate"
	"msgx/golden"
)

func rulesMutateCommand(g *globals) *cobra.Command {
	var (
		cases     corpus
		format    string
		threshold float64
		workers   int
	)
	cmd := &cobra.Command{
		Use:   "mutate [SCRIPT...]",
		Short: "Break the rules in small ways and show what no golden case notices",
		Long:  mutateLong(),
		Example: "  msgx rules mutate\n  msgx rules mutate merge --threshold 95\n" +
			"  msgx rules mutate flop-gtdt --set rules.dir=./candidate --dir ./golden",
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usagef("--format is %q, expected text or json", format)
			}
			if threshold < 0 || threshold > 100 {
				return usagef("--threshold is %g, expected 0 to 100", threshold)
			}
			if workers < 1 {
				return usagef("--parallel is %d, expected at least 1", workers)
			}
			o, err := cases.options(cmd, g, nil)
			if err != nil {
				return err
			}
			report, err := golden.Mutate(cmd.Context(), o, mutate.RunOptions{Workers: workers, Progress: progress(cmd.ErrOrStderr())}, args...)
			if errors.Is(err, golden.ErrNoSuchScript) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			if format == "json" {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = report.Text(cmd.OutOrStdout())
			}
			if err != nil {
				return err
			}
			if report.Score < threshold || len(report.Stale) > 0 {
				return errNotWell
			}
			return nil
		},
	}
	cases.flags(cmd)
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().Float64Var(&threshold, "threshold", 0, "exit with 1 when the score is less, in percent")
	cmd.Flags().IntVar(&workers, "parallel", runtime.NumCPU(), "how many mutants are tried at a time")
	return cmd
}

func mutateLong() string {
	text := `Change one small thing of a script at a time, and run the golden cases that run its line: a
case has to fail. A mutant that none notices survives, and is shown as a difference with the case that is most
about its line: what that case does not say yet is what the corpus lacks.

What is changed:
`
	for _, o := range mutate.Operators {
		text += fmt.Sprintf("  %-11s %s\n", o.Name, o.What)
	}
	return text + `
A mutant whose loop does not end is stopped by the instruction budget (timeout). One that the host refuses to
load could not be brought into use (invalid). One that no case can tell from the script (equivalent) stands in
golden/equivalent.yaml with the reason; an entry that fits no surviving mutant is a fault. The score is what
is killed or stopped, of that and what survives.

Without SCRIPT all scripts and libraries that handlers.lua uses are broken in turn, a few seconds' work; with it those
named, such as flop-gtdt, merge or rules/lib/merge.lua.

--format json: ruleset, score, all and operators[] with their counts, stale[], and mutants[]: file, line, column,
operator, from, to, status, by (the case that killed it), cases (tried), nearest, why, diff.

Exits with 1 when the score is below --threshold, when golden/equivalent.yaml is stale, and when a case fails
on the rules as they are.`
}

// progress counts on a terminal; elsewhere it says nothing.
func progress(w io.Writer) func(done, total int) {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return func(done, total int) {
		end := ""
		if done == total {
			end = "\r\033[K"
		}
		fmt.Fprintf(f, "\r%d of %d mutants%s", done, total, end)
	}
}
