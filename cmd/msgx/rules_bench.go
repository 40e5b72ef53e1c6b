package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/engine/rulebook"
	"msgx/golden"
)

func rulesBenchCommand(g *globals) *cobra.Command {
	var (
		pattern string
		during  time.Duration
	)
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure decisions per second and Lua instructions by kind",
		Long: `Measure how long the scripts of the rule set take to decide, by message kind, over the messages
of the golden corpus (that of msgx.rules.golden, or where that is empty the one in the binary): time, memory
and Lua instructions of one decision. Instructions are exact
and the same on every machine; times are this machine's. The output is that of Go benchmarks, so
that benchstat reads and compares it. Decisions on which a rule fails are left out, and named on standard error.`,
		Example: "  msgx rules bench > old.txt\n  msgx rules bench --set rules.dir=./candidate > new.txt\n  benchstat old.txt new.txt",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := regexp.Compile(pattern)
			if err != nil {
				return usagef("--kind: %w", err)
			}
			if during <= 0 {
				return usagef("--time is %s, expected more than 0s", during)
			}
			c, err := g.config()
			if err != nil {
				return err
			}
			cat, err := core.LoadCatalogue(c)
			if err != nil {
				return err
			}
			book, err := core.LoadRules(c, cat)
			if err != nil {
				return err
			}
			dir, err := casesIn("", c)
			if err != nil {
				return err
			}
			calls, err := golden.Calls(golden.Options{Catalogue: cat, Rules: core.RulesFS(c), Limits: core.Limits(c), Dir: dir})
			if err != nil {
				return err
			}
			byKind := map[string][]golden.Call{}
			for _, call := range calls {
				if wanted.MatchString(call.Message.Kind) {
					byKind[call.Message.Kind] = append(byKind[call.Message.Kind], call)
				}
			}
			if len(byKind) == 0 {
				return usagef("--kind %q matches no kind of the corpus", pattern)
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "goos: %s\ngoarch: %s\npkg: msgx/rules\n", runtime.GOOS, runtime.GOARCH)
			for _, kind := range sorted(byKind) {
				calls := decided(book, byKind[kind], cmd.ErrOrStderr())
				if len(calls) == 0 {
					continue
				}
				m, err := measure(cmd.Context(), book, calls, during)
				if err != nil {
					return fmt.Errorf("%s: %w", kind, err)
				}
				if _, err := fmt.Fprintf(out, "BenchmarkDecide/%s-%d\t%8d\t%12.0f ns/op\t%8d B/op\t%6d allocs/op\t%8d instr/op\n",
					kind, runtime.GOMAXPROCS(0), m.n, m.ns, m.bytes, m.allocs, m.instructions); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&pattern, "kind", "", "regular expression on kinds")
	cmd.Flags().DurationVar(&during, "time", 100*time.Millisecond, "how long to measure each kind")
	return cmd
}

func sorted(byKind map[string][]golden.Call) []string {
	var kinds []string
	for kind := range byKind {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// measurement is what one decision costs on average over the cases of a kind.
type measurement struct {
	n             int
	ns            float64
	bytes, allocs uint64
	instructions  int64
}

// decided asks once before the clock starts, for what is made on first use, and leaves out what the
// rule fails on, as a case may expect.
func decided(book *rulebook.Rulebook, calls []golden.Call, told io.Writer) []golden.Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c golden.Call) bool {
		_, err := book.Decide(c.Message, c.View)
		if err != nil {
			fmt.Fprintf(told, "left out: case %s: %v\n", c.Case, err)
		}
		return err != nil
	})
}

func measure(ctx context.Context, book *rulebook.Rulebook, calls []golden.Call, during time.Duration) (m measurement, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	var instructions int64
	for time.Since(begun) < during {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		for _, c := range calls {
			if _, err := book.Decide(c.Message, c.View); err != nil {
				return m, fmt.Errorf("case %s: %w", c.Case, err)
			}
			instructions += book.Instructions()
			m.n++
		}
	}
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	n := uint64(m.n) //nolint:gosec // a count
	m.ns = float64(took.Nanoseconds()) / float64(m.n)
	m.bytes, m.allocs = (after.TotalAlloc-before.TotalAlloc)/n, (after.Mallocs-before.Mallocs)/n
	m.instructions = instructions / int64(m.n)
	return m, nil
}
