package golden

import (
	"cmp"
	"strings"
	"time"

	"msgx/engine/catalogue"
	"msgx/engine/codec"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
)

// moment is when everything in a case happens.
var moment = time.Date(2021, 1, 23, 4, 0, 0, 0, time.UTC)

func now() time.Time { return moment }

// Outcome is what came of running a case once.
type Outcome struct {
	Results []rehearse.Result // one for each message
	After   rehearse.World
}

// Messages are the case's messages as they would stand in the mailbox, in order.
func (c *Case) Messages() []NamedRaw {
	out := make([]NamedRaw, len(c.steps))
	for i, s := range c.steps {
		out[i] = NamedRaw{Name: s.name, Raw: s.raw}
	}
	return out
}

// Before is what is there before the first message. It is for reading.
func (c *Case) Before() rehearse.World { return c.before }

// RuleSettings are the settings of the rule set that the case is written for.
func (c *Case) RuleSettings() rulebook.Settings {
	return rulebook.Settings{
		AbsentOptional: cmp.Or(c.Settings.AbsentOptional, rulebook.Keep),
		Bound:          strings.Join(c.Settings.Rules, " "),
	}
}

// Replay runs the case once; load makes the rule set for the case's rule settings. A
// rule set is for one caller at a time, so whoever replays cases side by side has one for
// each goroutine. An error means that the case could not be run.
func (c *Case) Replay(cat *catalogue.Catalogue, load func(rulebook.Settings) (*rulebook.Rulebook, error)) (*Outcome, error) {
	book, err := load(c.RuleSettings())
	if err != nil {
		return nil, err
	}
	return c.replay(cat, book, nil)
}

// replay runs the case once. Between two messages it calls after, if there is one.
func (c *Case) replay(cat *catalogue.Catalogue, rules verdict.Rules, after func(step int)) (*Outcome, error) {
	decoder, err := c.decoder(cat)
	if err != nil {
		return nil, err
	}
	r := rehearse.New(decoder, c.judge(cat, rules), now, c.before)
	out := &Outcome{Results: make([]rehearse.Result, len(c.steps))}
	for i, s := range c.steps {
		out.Results[i] = r.Run(s.raw)
		if after != nil {
			after(i)
		}
	}
	out.After = r.World()
	return out, nil
}

// decoder reads messages as the case's settings say.
func (c *Case) decoder(cat *catalogue.Catalogue) (*codec.Codec, error) {
	return codec.New(cat, codec.Options{Zone: c.Settings.Zone, Ignore: c.Settings.Ignore})
}

// judge judges as the case's settings say.
func (c *Case) judge(cat *catalogue.Catalogue, rules verdict.Rules) *verdict.Judge {
	return verdict.New(cat, rules, verdict.Options{
		Options:         decision.Options{Zone: c.Settings.Zone, DayCutover: c.Settings.DayCutover, CodeShareKey: c.Settings.CodeShare},
		IdentityWithDay: c.Settings.IdentityWithDay,
	})
}

// Mismatch tells how an outcome differs from what the case expects, in print; "" when it
// does not.
func (c *Case) Mismatch(cat *catalogue.Catalogue, got *Outcome) string {
	if c.some != nil {
		if misses := c.misses(cat, got); len(misses) > 0 {
			return (&holder{c, cat, got}).text(misses)
		}
		return ""
	}
	told := c.tell(cat, got, c.Settings.Payloads)
	if told == c.expect {
		return ""
	}
	return difference(c.expect, told)
}

// NamedRaw is a message with the name of its file in a case, such as 01-sets.xml.
type NamedRaw struct {
	Name string
	Raw  message.Raw
}
