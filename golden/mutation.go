package golden

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook"
	"msgx/engine/rulebook/mutate"
)

// equivalentFile lists, in a golden directory, the mutants that no case can tell from the script.
const equivalentFile = "equivalent.yaml"

// Mutate breaks files of the rule set in every way that package mutate knows and tells which
// of them the selected cases do not notice. The names of files select what is broken, as for Cover; all scripts
// and libraries when none is given. The cases have to pass on the rules as they are.
func Mutate(ctx context.Context, o Options, run mutate.RunOptions, files ...string) (*mutate.Report, error) {
	whole, err := Cover(ctx, o)
	if err != nil {
		return nil, err
	}
	if len(whole.Failing) > 0 {
		return nil, fmt.Errorf("golden: on the rules as they are these cases fail, mend them first: %s\nfor one of them: %s", strings.Join(whole.Failing, ", "), o.again(whole.Failing[0]))
	}
	book, err := rulebook.Load(o.Rules, o.Catalogue, rulebook.Settings{}, o.Limits)
	if err != nil {
		return nil, err
	}
	if files, err = scripts(book, files); err != nil {
		return nil, err
	}
	// What the manifest says is either right or refused when it is loaded.
	files = slices.DeleteFunc(files, func(name string) bool { return name == rulebook.Manifest })
	var mutants []mutate.Mutant
	sources := book.Files()
	for _, name := range files {
		made, err := mutate.Mutants(name, string(sources[name]), mutate.Options{FirstElement: firstElement(o.Catalogue)})
		if err != nil {
			return nil, err
		}
		mutants = append(mutants, made...)
	}
	excuses, err := o.excuses()
	if err != nil {
		return nil, err
	}
	cases, err := Load(o)
	if err != nil {
		return nil, err
	}
	cache := &rulebook.Cache{}
	suite := mutate.Suite{Rules: o.Rules, Coverage: whole, Load: func(rules fs.FS) (mutate.Try, error) { return o.try(rules, cases, cache) }}
	results, err := mutate.Run(ctx, suite, mutants, run)
	if err != nil {
		return nil, err
	}
	stale, err := mutate.Excused(o.Rules, results, excuses, files)
	if err != nil {
		return nil, err
	}
	return mutate.NewReport(book.Hash(), results, stale), nil
}

// try makes a mutated rule set ready for the cases.
func (o Options) try(rules fs.FS, cases []*Case, cache *rulebook.Cache) (mutate.Try, error) {
	books := newLoaded(func(s rulebook.Settings) (*rulebook.Rulebook, error) {
		return cache.Load(rules, o.Catalogue, s, o.Limits)
	})
	if _, err := books.book(rulebook.Settings{AbsentOptional: rulebook.Keep}); err != nil {
		return nil, err
	}
	return func(name string) (passes, outOfBudget bool, err error) {
		c := cases[slices.IndexFunc(cases, func(c *Case) bool { return c.Name == name })]
		out, err := c.Replay(o.Catalogue, books.book)
		if err != nil {
			return false, false, err
		}
		if c.Mismatch(o.Catalogue, out) == "" {
			return true, false, nil
		}
		for _, r := range out.Results {
			outOfBudget = outOfBudget || rulebook.OutOfBudget(r.Settlement.Outcome.Reason)
		}
		return false, outOfBudget, nil
	}, nil
}

// excuses reads the list that belongs to the corpus; a directory without one has none.
func (o Options) excuses() ([]mutate.Excuse, error) {
	data, err := fs.ReadFile(o.corpus(), equivalentFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("golden: %w", err)
	}
	return mutate.ParseExcuses(data)
}

// firstElement tells the first element of the entries of a list.
func firstElement(cat *catalogue.Catalogue) func(tag string) (string, bool) {
	return func(tag string) (string, bool) {
		for _, l := range cat.Flight.Lists {
			if l.Tag == tag && len(l.Fields) > 0 {
				return l.Fields[0].Tag, true
			}
		}
		return "", false
	}
}
