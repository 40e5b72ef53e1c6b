package core

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strings"

	"msgx/cmd/msgx/config"
	"msgx/engine/catalogue"
	"msgx/golden"
)

// Checks are what a rule set has to pass before it goes live in place of another. A further one, such as a linter, is a line here.
func Checks(c *config.Config, cat *catalogue.Catalogue) []Check {
	return []Check{
		{Name: "golden", Run: func(_ context.Context, rules fs.FS) ([]string, error) { return failingCases(c, cat, rules) }},
	}
}

// failingCases runs the corpus, that of the site where there is one, and tells the cases that do not come to what they should.
func failingCases(c *config.Config, cat *catalogue.Catalogue, rules fs.FS) ([]string, error) {
	var told bytes.Buffer
	report, err := golden.Run(golden.Options{Catalogue: cat, Rules: rules, Out: &told, Dir: c.Rules.Golden})
	if err != nil || report.OK() {
		return nil, err
	}
	// A case is a line and, indented below it, what differs.
	var cases []string
	for line := range strings.Lines(told.String()) {
		switch {
		case strings.HasPrefix(line, "FAIL"), strings.HasPrefix(line, "ERROR"):
			cases = append(cases, line)
		case strings.HasPrefix(line, " ") && len(cases) > 0:
			cases[len(cases)-1] += line
		}
	}
	return append([]string{fmt.Sprintf("%s; msgx golden run shows them", report)}, cases...), nil
}
