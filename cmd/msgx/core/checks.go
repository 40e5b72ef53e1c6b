package core

import (
	"context"
	"fmt"
	"io/fs"

	"msgx/cmd/msgx/config"
	"msgx/engine/catalogue"
	"msgx/engine/rulebook/lint"
	"msgx/golden"
)

// Checks are what a rule set has to pass before it goes live in place of another.
func Checks(c *config.Config, cat *catalogue.Catalogue) []Check {
	return []Check{
		{Name: "lint", Run: func(_ context.Context, rules fs.FS) ([]string, error) { return findings(cat, rules) }},
		{Name: "golden", Run: func(ctx context.Context, rules fs.FS) ([]string, error) { return failingCases(ctx, c, cat, rules) }},
	}
}

// findings reads the rules and tells what is wrong with them.
func findings(cat *catalogue.Catalogue, rules fs.FS) ([]string, error) {
	report, err := lint.Check(rules, cat)
	if err != nil {
		return nil, err
	}
	var told []string
	for _, f := range report.Findings {
		told = append(told, fmt.Sprintf("%s:%d:%d: %s [%s]", f.File, f.Line, f.Column, f.Message, f.Code))
	}
	return told, nil
}

// failingCases runs the corpus, that of the site where there is one, and tells the cases that do not come to what
// they should.
func failingCases(ctx context.Context, c *config.Config, cat *catalogue.Catalogue, rules fs.FS) ([]string, error) {
	report, err := golden.Run(ctx, golden.Options{Catalogue: cat, Rules: rules, Dir: c.Rules.Golden, Limits: Limits(c)})
	if err != nil {
		return nil, err
	}
	var failing []string
	for _, r := range report.Cases {
		if r.Verdict != golden.Pass {
			failing = append(failing, fmt.Sprintf("%s %s: %s", r.Verdict, r.Name, r.Text))
		}
	}
	return failing, nil
}
