package golden

import (
	"fmt"

	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rulebook"
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
	cases, err := Load(o)
	if err != nil {
		return nil, err
	}
	var calls []Call
	books := newLoaded(o.rules)
	for _, c := range cases {
		book, err := books.book(c.RuleSettings())
		if err != nil {
			return nil, err
		}
		if _, err := c.replay(o.Catalogue, listening{book, c.Name, &calls}, nil); err != nil {
			return nil, fmt.Errorf("golden: %s: %w", c.Name, err)
		}
	}
	return calls, nil
}
