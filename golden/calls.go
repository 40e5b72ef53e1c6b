package golden

import (
	"fmt"

	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
)

// Call is one decision that a case asks of its rule set.
type Call struct {
	Case    string
	Message *message.Message
	View    decision.View
}

// listening keeps what a rule set is asked.
type listening struct {
	*rulebook.Rulebook
	name  string
	calls *[]Call
}

func (l listening) Decide(msg *message.Message, view decision.View) (decision.Decision, error) {
	*l.calls = append(*l.calls, Call{l.name, msg, view})
	return l.Rulebook.Decide(msg, view)
}

// Calls lists the decisions that the selected cases ask for, in order. Messages
// that no rule sees (duplicates, ignored and broken ones) are not among them.
func Calls(o Options) ([]Call, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	var calls []Call
	for _, name := range names {
		c, err := o.read(name)
		if err != nil {
			return nil, fmt.Errorf("golden: %s: %w", name, err)
		}
		decoder, err := c.decoder(&o)
		if err != nil {
			return nil, fmt.Errorf("golden: %s: %w", name, err)
		}
		book, err := c.book(&o, o.Rules)
		if err != nil {
			return nil, err
		}
		judge := verdict.New(o.Catalogue, listening{book, name, &calls}, c.verdictOptions())
		r := rehearse.New(decoder, judge, now, c.before)
		for _, s := range c.steps {
			r.Run(s.raw)
		}
	}
	return calls, nil
}
