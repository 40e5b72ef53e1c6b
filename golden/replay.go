package golden

import (
	"errors"
	"fmt"

	"msgx/engine/catalogue"
	"msgx/engine/codec"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
)

// Outcome is what became of a case that was run once.
type Outcome struct {
	Results []rehearse.Result // one for each message, in order
	After   rehearse.World
}

// Load reads the selected cases. All faults are told; an empty selection is one.
func Load(o Options) ([]*Case, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	var cases []*Case
	var faults []error
	for _, name := range names {
		c, err := o.read(name)
		if err != nil {
			faults = append(faults, fmt.Errorf("golden: %s: %w", name, err))
		}
		cases = append(cases, c)
	}
	return cases, errors.Join(faults...)
}

// Replay runs the case once; load makes the rule set for the rule settings of the case.
func (c *Case) Replay(cat *catalogue.Catalogue, load func(rulebook.Settings) (*rulebook.Rulebook, error)) (*Outcome, error) {
	decoder, err := codec.New(cat, codec.Options{Zone: c.Settings.Zone, Ignore: c.Settings.Ignore})
	if err != nil {
		return nil, err
	}
	book, err := load(rulebook.Settings{AbsentOptional: c.Settings.AbsentOptional})
	if err != nil {
		return nil, err
	}
	r := rehearse.New(decoder, verdict.New(cat, book, c.verdictOptions()), now, c.before)
	out := &Outcome{}
	for _, s := range c.steps {
		out.Results = append(out.Results, r.Run(s.raw))
	}
	out.After = r.World()
	return out, nil
}

// Mismatch shows how an outcome differs from what the case expects; "" when it does not.
func (c *Case) Mismatch(cat *catalogue.Catalogue, got *Outcome) string {
	text := c.tell(&Options{Catalogue: cat}, outcome{results: got.Results, after: got.After}, c.Settings.Payloads)
	if text == c.expect {
		return ""
	}
	return difference(c.expect, text)
}
