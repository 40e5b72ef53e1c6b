package golden

import (
	"errors"
	"fmt"
	"io/fs"

	"msgx/engine/codec"
	"msgx/engine/comparison"
	"msgx/engine/decision"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
)

// Sequences gives the selected cases as sequences that compare the rule set of
// the options with another.
func Sequences(o Options, other fs.FS) ([]comparison.Sequence, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	out := make([]comparison.Sequence, 0, len(names))
	for _, name := range names {
		c, err := o.read(name)
		if err != nil {
			return nil, fmt.Errorf("golden: %s: %w", name, err)
		}
		s := comparison.Sequence{Name: name, Before: c.before}
		if s.Decoder, err = c.decoder(&o); err != nil {
			return nil, fmt.Errorf("golden: %s: %w", name, err)
		}
		if s.Old, err = c.judge(&o, o.Rules); err != nil {
			return nil, fmt.Errorf("golden: old rule set: %w", err)
		}
		if s.New, err = c.judge(&o, other); err != nil {
			return nil, fmt.Errorf("golden: new rule set: %w", err)
		}
		for _, step := range c.steps {
			s.Messages = append(s.Messages, step.raw)
		}
		out = append(out, s)
	}
	return out, nil
}

// decoder reads messages as the case's settings say.
func (c *Case) decoder(o *Options) (*codec.Codec, error) {
	return codec.New(o.Catalogue, codec.Options{Zone: c.Settings.Zone, Ignore: c.Settings.Ignore})
}

// judge loads a rule set anew and judges as the case's settings say.
func (c *Case) judge(o *Options, rules fs.FS) (*verdict.Judge, error) {
	book, err := c.book(o, rules)
	if err != nil {
		return nil, err
	}
	return verdict.New(o.Catalogue, book, c.verdictOptions()), nil
}

func (c *Case) book(o *Options, rules fs.FS) (*rulebook.Rulebook, error) {
	if rules == nil {
		return nil, errors.New("golden: no rule set is given")
	}
	return rulebook.Load(rules, o.Catalogue, rulebook.Settings{AbsentOptional: c.Settings.AbsentOptional}, rulebook.Limits{})
}

func (c *Case) verdictOptions() verdict.Options {
	return verdict.Options{
		Options:         decision.Options{Zone: c.Settings.Zone, DayCutover: c.Settings.DayCutover, CodeShareKey: c.Settings.CodeShare},
		IdentityWithDay: c.Settings.IdentityWithDay,
	}
}
