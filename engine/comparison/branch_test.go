package comparison_test

import (
	"errors"
	"testing"
	"time"

	"msgx/engine/comparison"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rulebook"
)

func trace(branches ...rulebook.Branch) *rulebook.Trace { return &rulebook.Trace{Branches: branches} }

func branch(file string, line int, text string, taken bool) rulebook.Branch {
	return rulebook.Branch{Point: rulebook.Point{File: file, Line: line, Column: 3, Kind: "if", Text: text}, Taken: taken}
}

func TestParting(t *testing.T) {
	old := []rulebook.Branch{branch("rules/a@1.lua", 4, "x", true), branch("rules/lib/m.lua", 9, "y", false)}
	tests := []struct {
		name  string
		newer *rulebook.Trace
		want  string
	}{
		{"the same ways, in a new version with other lines", trace(branch("rules/a@2.lua", 5, "x", true), branch("rules/lib/m.lua", 9, "y", false)), ""},
		{"another way", trace(branch("rules/a@2.lua", 5, "x", false)), "new rules/a@2.lua:5:3 if `x` no"},
		{"a branch more, in front", trace(branch("rules/a@2.lua", 4, "z", true), branch("rules/a@2.lua", 5, "x", true), branch("rules/lib/m.lua", 9, "y", false)),
			"new rules/a@2.lua:4:3 if `z` yes"},
		{"one more round", trace(branch("rules/a@2.lua", 5, "x", true), branch("rules/a@2.lua", 5, "x", true), branch("rules/lib/m.lua", 9, "y", false)),
			"new rules/a@2.lua:5:3 if `x` yes"},
		{"a branch less", trace(branch("rules/a@2.lua", 5, "x", true)), "old rules/lib/m.lua:9:3 if `y` no"},
		{"no trace", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := comparison.Parting(trace(old...), tt.newer).String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

type decoder struct{}

func (decoder) Decode(raw message.Raw) (*message.Message, error) {
	return &message.Message{ID: raw.MsgID}, nil
}

// judge settles everything alike.
type judge struct{}

func (judge) Claim(*message.Message) decision.Claim { return decision.Claim{} }

func (judge) Judge(msg *message.Message, _ decision.Claimed, _ time.Time) decision.Settlement {
	return decision.Settlement{MsgID: msg.ID}
}

func (judge) Broken(message.Raw, error, time.Time) decision.Settlement { return decision.Settlement{} }

// What cannot be told of is counted and named, ten at most; any other error ends the comparison.
func TestRecordedMessagesThatAreLost(t *testing.T) {
	lost, broken := errors.New("lost"), errors.New("broken")
	c := comparison.New(func() time.Time { return time.Unix(0, 0) })
	answer := lost
	r := c.Recorded(comparison.Recorded{Decoder: decoder{}, Old: judge{}, New: judge{},
		Before: func(decision.Claim) (decision.Claimed, error) { return decision.Claimed{}, answer },
		Lost:   func(err error) bool { return errors.Is(err, lost) }})
	for id := range int64(12) {
		if err := r.Add(message.Raw{MsgID: id + 1}); err != nil {
			t.Fatal(err)
		}
	}
	answer = nil
	if err := r.Add(message.Raw{MsgID: 20}); err != nil {
		t.Fatal(err)
	}
	answer = broken
	if err := r.Add(message.Raw{MsgID: 21}); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	r.End()
	report := c.Report()
	if report.Untold != 12 || len(report.Such) != 10 || report.Such[9] != (comparison.Untold{MsgID: 10, Why: "lost"}) || report.Messages != 1 || !report.Same() {
		t.Errorf("got %+v", report)
	}
}
