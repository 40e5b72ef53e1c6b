package core

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"msgx/cmd/msgx/config"
	"msgx/engine/catalogue"
	"msgx/golden"
)

// Checks are what a rule set has to pass before it goes live in place of another. A further one, such as a linter, is a line here.
func Checks(c *config.Config, cat *catalogue.Catalogue) []Check {
	return []Check{
		{Name: "golden", Run: func(ctx context.Context, rules fs.FS) ([]string, error) { return failingCases(ctx, c, cat, rules) }},
	}
}

// failingCases runs the corpus, that of the site where there is one, and tells the cases that do not come to what
// they should. They are run one by one, so that a stop does not wait for all of them.
func failingCases(ctx context.Context, c *config.Config, cat *catalogue.Catalogue, rules fs.FS) ([]string, error) {
	var corpus fs.FS = golden.Corpus
	if c.Rules.Golden != "" {
		corpus = os.DirFS(c.Rules.Golden)
	}
	names, err := golden.Names(corpus)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s holds no case", c.Rules.Golden)
	}
	var failing []string
	for _, name := range names {
		if ctx.Err() != nil {
			return failing, fmt.Errorf("the proof was given up: %w", ctx.Err())
		}
		var told bytes.Buffer
		report, err := golden.Run(golden.Options{Catalogue: cat, Rules: rules, Out: &told, Dir: c.Rules.Golden, Pattern: "^" + regexp.QuoteMeta(name) + "$"})
		switch {
		case err != nil:
			failing = append(failing, err.Error())
		case !report.OK():
			text, _, _ := strings.Cut(told.String(), "      again:")
			failing = append(failing, strings.TrimSpace(text))
		}
	}
	return failing, nil
}
