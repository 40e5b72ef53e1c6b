package golden

import (
	"fmt"
	"io/fs"

	"msgx/engine/comparison"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
)

// Sequences gives the selected cases as sequences that compare the rule set of
// the options with another. Each judge has a rule set of its own.
func Sequences(o Options, other fs.FS) ([]comparison.Sequence, error) {
	cases, err := Load(o)
	if err != nil {
		return nil, err
	}
	out := make([]comparison.Sequence, 0, len(cases))
	for _, c := range cases {
		s := comparison.Sequence{Name: c.Name, Before: c.before}
		if s.Decoder, err = c.decoder(o.Catalogue); err != nil {
			return nil, fmt.Errorf("golden: %s: %w", c.Name, err)
		}
		if s.Old, err = o.judge(c, o.Rules); err != nil {
			return nil, fmt.Errorf("golden: old rule set: %w", err)
		}
		if s.New, err = o.judge(c, other); err != nil {
			return nil, fmt.Errorf("golden: new rule set: %w", err)
		}
		for _, step := range c.steps {
			s.Messages = append(s.Messages, step.raw)
		}
		s.Traced = func() (old, newer *rulebook.Rulebook, err error) {
			if old, err = rulebook.LoadTraced(o.Rules, o.Catalogue, c.RuleSettings(), o.Limits); err == nil {
				newer, err = rulebook.LoadTraced(other, o.Catalogue, c.RuleSettings(), o.Limits)
			}
			return old, newer, err
		}
		out = append(out, s)
	}
	return out, nil
}

// judge loads a rule set anew and judges as the case's settings say.
func (o Options) judge(c *Case, rules fs.FS) (*verdict.Judge, error) {
	o.Rules = rules
	book, err := o.rules(c.RuleSettings())
	if err != nil {
		return nil, err
	}
	return c.judge(o.Catalogue, book), nil
}
