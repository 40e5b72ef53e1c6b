package golden

import (
	"context"
	"fmt"
	"slices"

	"msgx/engine/rulebook"
	"msgx/engine/rulebook/coverage"
)

// Cover runs the selected cases on traced rule sets and tells which lines and outcomes of
// the scripts they cover. The names of files select what is told, such as "flop-gtdt" or "merge"; all
// when none is given. A case that fails is counted and named in the report.
func Cover(ctx context.Context, o Options, files ...string) (*coverage.Report, error) {
	cases, err := Load(o)
	if err != nil {
		return nil, err
	}
	books := map[rulebook.Settings]*rulebook.Rulebook{} // tracing is slow to load, and rules keep nothing
	load := func(s rulebook.Settings) (*rulebook.Rulebook, error) {
		if books[s] == nil {
			book, err := rulebook.LoadTraced(o.Rules, o.Catalogue, s, o.Limits)
			if err != nil {
				return nil, err
			}
			books[s] = book
		}
		return books[s], nil
	}
	book, err := load(rulebook.Settings{AbsentOptional: rulebook.Keep})
	if err != nil {
		return nil, err
	}
	if files, err = scripts(book, files); err != nil {
		return nil, err
	}
	collector := coverage.New(book)
	var failing []string
	for _, c := range cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		collector.Case(c.Name)
		out, err := c.Replay(o.Catalogue, func(s rulebook.Settings) (*rulebook.Rulebook, error) {
			b, err := load(s)
			if err == nil {
				b.Watch(func(kind string, t *rulebook.Trace) { collector.Add(c.Name, b, kind, t) })
			}
			return b, err
		})
		if err != nil {
			return nil, fmt.Errorf("golden: %s: %w", c.Name, err)
		}
		if c.Mismatch(o.Catalogue, out) != "" {
			failing = append(failing, c.Name)
		}
	}
	report := collector.Report(files...)
	report.Again = o.again
	report.Failing = append(report.Failing, slices.Sorted(slices.Values(failing))...)
	return report, nil
}
