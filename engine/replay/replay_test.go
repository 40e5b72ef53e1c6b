package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"msgx"
	"msgx/engine/codec"
	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/replay"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
	"msgx/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is our own database in memory, as far as a replay reads it.
type shelf struct {
	flights map[flight.ID]*flight.State
	last    map[flight.ID]int64
	holders map[string]message.Binding
	touches []message.Touch
	copies  map[int64]string
	asked   []int64 // by Replay
}

func (s *shelf) RawCopy(_ context.Context, id int64) (message.Raw, bool, error) {
	body, ok := s.copies[id]
	return message.Raw{MsgID: id, Body: []byte(body), Characters: true}, ok, nil
}

func (s *shelf) Look(_ context.Context, c decision.Claim) (decision.View, error) {
	v := decision.View{Flights: map[flight.ID]*flight.State{}, LastVersions: s.last}
	for _, id := range c.Flights {
		if f := s.flights[id]; f != nil {
			v.Flights[id] = f
		}
	}
	return v, nil
}

func (s *shelf) Holders(_ context.Context, identities []string) (map[string]message.Binding, error) {
	out := map[string]message.Binding{}
	for _, i := range identities {
		if h, ok := s.holders[i]; ok {
			out[i] = h
		}
	}
	return out, nil
}

func (s *shelf) Touches(_ context.Context, flights []flight.ID, after int64, _ int) (out []message.Touch, _ error) {
	for _, t := range s.touches {
		for _, id := range flights {
			if t.FLID == id && t.MsgID > after {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

func (s *shelf) Replay(_ context.Context, ids []int64, _ message.Order, _ func(message.Standing) string) ([]message.Standing, []message.Left, error) {
	s.asked = append(s.asked, ids...)
	return nil, nil, nil
}

// post is a mailbox in memory.
type post struct {
	bodies map[int64]string
	err    error
	calls  int
}

func (p *post) Bodies(_ context.Context, ids []int64, _ int64) (raws []message.Raw, last int64, err error) {
	p.calls++
	for _, id := range ids {
		if body, ok := p.bodies[id]; ok {
			raws = append(raws, message.Raw{MsgID: id, Body: []byte(body), Characters: true})
		}
		last = id
	}
	return raws, last, p.err
}

func stand(sequence int, flid, value string) string {
	return fmt.Sprintf("<MSG><META><SNDR>AODB</SNDR><SEQN>%d</SEQN><TYPE>FLOP</TYPE><STYP>STND</STYP></META><FLOP><FLID>%s</FLID><STND>%s</STND></FLOP></MSG>", sequence, flid, value)
}

func newReplay(t *testing.T, s *shelf, p *post) *replay.Replay {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := codec.New(cat, codec.Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	book, err := rulebook.Load(msgx.Files, cat, rulebook.Settings{}, rulebook.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	parts := replay.Parts{Store: s, Decoder: decoder, Classes: []message.ErrorClass{message.Exhausted, message.RuleError}, IdentityMemory: time.Hour,
		Judge: verdict.New(cat, book, verdict.Options{Options: decision.Options{Zone: time.UTC, CodeShareKey: decision.KeyMaster}})}
	if p != nil {
		parts.Mailbox = p
	}
	return replay.New(parts)
}

func deadOnes(ids ...int64) []message.Standing {
	var out []message.Standing
	for _, id := range ids {
		out = append(out, message.Standing{MsgID: id, State: message.Dead, Class: message.Exhausted})
	}
	return out
}

func active(id flight.ID, fields flight.Fields) *flight.State {
	return &flight.State{ID: id, Status: flight.Active, Version: 4, Fields: fields, Lists: map[string][]flight.Record{}}
}

// told is a plan in lines.
func told(p replay.Plan) []string {
	var out []string
	for _, f := range p.Forecasts {
		line := fmt.Sprintf("%d %s %s", f.Message.MsgID, f.Effect, f.State)
		if f.Reason != "" {
			line += " " + f.Reason
		}
		for _, c := range f.Changes {
			line += fmt.Sprintf(" %s@%d", c.FLID, c.Version)
			for _, field := range c.Changed {
				line += fmt.Sprintf(" %s:%s>%s", field.Path, field.Before, field.After)
			}
		}
		for _, o := range f.Overwrites {
			line += fmt.Sprintf(" over %s of %d", o.Path, o.MsgID)
		}
		out = append(out, line)
	}
	for _, l := range p.Left {
		out = append(out, fmt.Sprintf("%d left: %s", l.MsgID, l.Reason))
	}
	return out
}

func TestPlan(t *testing.T) {
	now := time.Now()
	one := func() map[flight.ID]*flight.State {
		return map[flight.ID]*flight.State{1: active(1, flight.Fields{"STND": "9"})}
	}
	for _, tt := range []struct {
		name   string
		shelf  *shelf
		post   *post
		wanted []message.Standing
		want   []string
	}{
		{"each sees what those before it would do, whatever the order asked in",
			&shelf{flights: one()}, &post{bodies: map[int64]string{3: stand(3, "1", "3"), 5: stand(5, "1", "5")}}, deadOnes(5, 3),
			[]string{`3 CHANGE SUCCEEDED 1@5 STND:"9">"3"`, `5 CHANGE SUCCEEDED 1@6 STND:"3">"5"`}},
		{"a later message's value would be lost; another's would not",
			&shelf{flights: one(), touches: []message.Touch{{FLID: 1, Version: 4, MsgID: 8, Paths: []string{"STND"}}, {FLID: 1, Version: 3, MsgID: 7, Paths: []string{"STND", "TRML"}}}},
			&post{bodies: map[int64]string{3: stand(3, "1", "3")}}, deadOnes(3),
			[]string{`3 SUPERSEDED SUCCEEDED 1@5 STND:"9">"3" over STND of 8`}},
		{"nothing would change", &shelf{flights: one()}, &post{bodies: map[int64]string{3: stand(3, "1", "9")}}, deadOnes(3), []string{"3 NOTHING SUCCEEDED"}},
		{"it would be skipped", &shelf{}, &post{bodies: map[int64]string{3: stand(3, "1", "9")}}, deadOnes(3), []string{"3 NOTHING SKIPPED flight-unknown"}},
		{"it would fail again", &shelf{flights: one()}, &post{bodies: map[int64]string{3: "<MSG>"}}, deadOnes(3),
			[]string{`3 FAILS DEAD /MSG: found "unexpected EOF at line 1 column 6", expected well-formed XML`}},
		{"its identity went to another meanwhile",
			&shelf{flights: one(), holders: map[string]message.Binding{"AODB|FLOP|STND|3": {MsgID: 4, State: message.Succeeded, EnqueuedAt: now}}},
			&post{bodies: map[int64]string{3: stand(3, "1", "3")}}, deadOnes(3), []string{"3 NOTHING SKIPPED duplicate-of:4"}},
		{"beyond the identity memory",
			&shelf{flights: one(), holders: map[string]message.Binding{"AODB|FLOP|STND|3": {MsgID: 4, State: message.Succeeded, EnqueuedAt: now.Add(-2 * time.Hour)}}},
			&post{bodies: map[int64]string{3: stand(3, "1", "3")}}, deadOnes(3), []string{`3 CHANGE SUCCEEDED 1@5 STND:"9">"3"`}},
		{"bodies of our own, and none", &shelf{flights: one(), copies: map[int64]string{3: stand(3, "1", "3")}}, &post{}, deadOnes(3, 4),
			[]string{`3 CHANGE SUCCEEDED 1@5 STND:"9">"3"`, "4 left: its body is neither in the mailbox nor among our own copies"}},
		{"no mailbox", &shelf{}, nil, deadOnes(4), []string{"4 left: we keep no copy of its body, and no mailbox is configured"}},
		{"left out by state and class", &shelf{}, nil, []message.Standing{
			{MsgID: 1, State: message.Succeeded}, {MsgID: 2, State: message.Archived}, {MsgID: 3, State: message.Pending},
			{MsgID: 4, State: message.Dead, Class: message.Protocol}, {MsgID: 5, State: message.Failed, Class: message.Infra}},
			[]string{"1 left: it is SUCCEEDED: what is finished is not decided again", "2 left: it is ARCHIVED: all that is left of it here is the memory of its identity",
				"3 left: it is PENDING: it is decided in its turn", "4 left: class PROTOCOL is not replayed, only EXHAUSTED RULE_ERROR",
				"5 left: class INFRA is not replayed, only EXHAUSTED RULE_ERROR"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, err := json.Marshal(tt.shelf.flights)
			if err != nil {
				t.Fatal(err)
			}
			p, err := newReplay(t, tt.shelf, tt.post).Plan(t.Context(), tt.wanted)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, told(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if after, _ := json.Marshal(tt.shelf.flights); string(after) != string(before) || tt.shelf.asked != nil {
				t.Errorf("planning changed something: %s, sent %v", after, tt.shelf.asked)
			}
		})
	}
}

// A flight whose row is gone comes back with the version after its last.
func TestPlanKnowsTheVersionsOfTheRemoved(t *testing.T) {
	body := "<MSG><META><SNDR>AODB</SNDR><SEQN>3</SEQN><TYPE>SCHD</TYPE><STYP>ADFT</STYP></META>" +
		"<SCHD><RECS>1</RECS><FLTR><FLID>1</FLID><FLNO>CA1</FLNO><SODT>23JAN210935</SODT></FLTR></SCHD></MSG>"
	p, err := newReplay(t, &shelf{last: map[flight.ID]int64{1: 41}}, &post{bodies: map[int64]string{3: body}}).Plan(t.Context(), deadOnes(3))
	if err != nil || len(p.Forecasts) != 1 || len(p.Forecasts[0].Changes) != 1 || p.Forecasts[0].Changes[0].Version != 42 {
		t.Errorf("%v, %v, want version 42", told(p), err)
	}
}

// A mailbox that is away is asked once, not for every message.
func TestAMailboxThatIsAwayIsAskedOnce(t *testing.T) {
	p := &post{err: fmt.Errorf("read: %w", fault.ErrUnavailable)}
	plan, err := newReplay(t, &shelf{}, p).Plan(t.Context(), deadOnes(1, 2, 3))
	if err != nil || p.calls != 1 || len(plan.Left) != 3 || !strings.Contains(plan.Left[2].Reason, "cannot be read, and we keep no copy") {
		t.Errorf("%d calls, %v, %v", p.calls, told(plan), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newReplay(t, &shelf{}, p).Plan(ctx, deadOnes(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gives up: %v", err)
	}
}

func TestSendAsksForThePlannedOnesOnly(t *testing.T) {
	s := &shelf{copies: map[int64]string{3: stand(3, "1", "3")}}
	r := newReplay(t, s, nil)
	plan, err := r.Plan(t.Context(), deadOnes(3, 4))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Send(t.Context(), plan, message.Order{}); err != nil || !cmp.Equal(s.asked, []int64{3}) {
		t.Errorf("sent %v, %v, want message 3 alone", s.asked, err)
	}
	s.asked = nil
	if _, _, err := r.Send(t.Context(), replay.Plan{}, message.Order{}); err != nil || s.asked != nil {
		t.Errorf("an empty plan: sent %v, %v", s.asked, err)
	}
}

func TestSurvey(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	wanted := []message.Standing{{MsgID: 2, State: message.Pending, EnqueuedAt: at.Add(time.Hour)}, {MsgID: 1, State: message.Failed, EnqueuedAt: at}, {MsgID: 3, State: message.Pending, EnqueuedAt: at}}
	got, err := newReplay(t, &shelf{}, &post{bodies: map[int64]string{1: stand(1, "7", "1"), 2: stand(2, "7", "2")}}).Survey(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"FLOP-STND": 2, "": 1}, got.Kinds) + cmp.Diff(map[message.State]int{message.Pending: 2, message.Failed: 1}, got.States); diff != "" ||
		got.Flights != 1 || !got.Oldest.Equal(at) || !got.Newest.Equal(at.Add(time.Hour)) || got.Messages[2].Fault == "" {
		t.Errorf("survey %+v (-want +got):\n%s", got, diff)
	}
}
