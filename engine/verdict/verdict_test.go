package verdict_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/verdict"
	"msgx/schemas"
)

var (
	zone = time.FixedZone("CST", 8*3600)
	at   = time.Date(2021, 1, 23, 1, 2, 3, 0, time.UTC)
)

// rules decide the same whatever they are asked.
type rules struct {
	decided decision.Decision
	err     error
	asked   bool
}

func (r *rules) Decide(*message.Message, decision.View) (decision.Decision, error) {
	r.asked = true
	return r.decided, r.err
}

func (r *rules) Handler(kind string) (decision.Script, bool) {
	return decision.Script{ID: "test@2", Writes: []string{"*"}, Reads: []string{"SLST"}}, kind != "FLOP-NONE"
}

func (r *rules) Hash() string { return "cafe" }

func judge(t *testing.T, r verdict.Rules, withDay bool) *verdict.Judge {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return verdict.New(cat, r, verdict.Options{Options: decision.Options{Zone: zone}, IdentityWithDay: withDay})
}

// stand is a sound message that sets a stand; edit makes something else of it.
func stand(edit func(*message.Message)) *message.Message {
	msg := &message.Message{ID: 77, Kind: "FLOP-STND", Family: message.Operation, SHA256: "77aa",
		Meta:    message.Meta{Sender: "AODB", Sequence: "1", Type: "FLOP", Subtype: "STND", SentAt: "2021-01-23T22:31:26+08:00"},
		Records: []message.Record{{FLID: 1, Elements: map[string]message.Element{"STND": {Text: "7"}}}}}
	if edit != nil {
		edit(msg)
	}
	return msg
}

func schedule(declared int, records ...message.Record) *message.Message {
	return stand(func(m *message.Message) {
		m.Kind, m.Family, m.Declared, m.Records = "SCHD-DNLD", message.Schedule, &declared, records
	})
}

func record(id flight.ID, faults ...string) message.Record {
	return message.Record{FLID: id, Faults: faults, Elements: map[string]message.Element{"SODT": {Text: "2021-01-23T05:35:00+08:00"}}}
}

func TestJudge(t *testing.T) {
	holder := func(state message.State, sha string) *message.Binding {
		return &message.Binding{MsgID: 12, State: state, BodySHA256: sha}
	}
	ignored := stand(func(m *message.Message) { m.IgnoredBy = "REGN-*" })
	missing := stand(func(m *message.Message) { m.PayloadMissing = "/MSG/FLOP[1]: none of STND"; m.Records = nil })
	unknown := stand(func(m *message.Message) { m.Kind, m.Family = "TOWR-NEW", message.Unsupported })
	bare := schedule(1, record(1))
	bare.Declared = nil
	tests := []struct {
		name     string
		msg      *message.Message
		rules    rules
		holder   *message.Binding
		want     message.Outcome
		warnings []string
		asked    bool
	}{
		{name: "duplicate", msg: stand(nil), holder: holder(message.Succeeded, "77aa"), want: message.Outcome{State: message.Skipped, Reason: "duplicate-of:12"}},
		{name: "duplicate with another body", msg: stand(nil), holder: holder(message.Dead, "00"), want: message.Outcome{State: message.Skipped, Reason: "duplicate-of:12"},
			warnings: []string{"duplicate of 12 with another body", "duplicate of 12, which is DEAD"}},
		{name: "duplicate goes before ignored", msg: ignored, holder: holder(message.Skipped, "77aa"), want: message.Outcome{State: message.Skipped, Reason: "duplicate-of:12"}},
		{name: "ignored", msg: ignored, want: message.Outcome{State: message.Skipped, Reason: "ignored:REGN-*"}},
		{name: "unsupported", msg: unknown, want: message.Outcome{State: message.Failed, Class: message.UnsupportedErr,
			Reason: "kind TOWR-NEW is not known, expected a kind of the catalogue"}},
		{name: "no script", msg: stand(func(m *message.Message) { m.Kind = "FLOP-NONE" }), want: message.Outcome{State: message.Failed,
			Class: message.UnsupportedErr, Reason: "kind FLOP-NONE has no script in the rule set"}},
		{name: "payload missing", msg: missing, want: message.Outcome{State: message.Dead, Class: message.Malformed,
			Reason: "payload-missing: /MSG/FLOP[1]: none of STND"}},
		{name: "record count", msg: schedule(3, record(1), record(2)), want: message.Outcome{State: message.Dead, Class: message.Protocol, Reason: "record-count 3, found 2"}},
		{name: "no record count", msg: bare, want: message.Outcome{State: message.Dead, Class: message.Protocol, Reason: "record-count missing (RECS), found 1"}},
		{name: "all contradictions at once", msg: schedule(3, record(1), record(1), record(0, "FLTR[3]/FLID: bad"), record(0, "FLTR[4]/FLID: bad")),
			want: message.Outcome{State: message.Dead, Class: message.Protocol,
				Reason: "record-count 3, found 4; duplicate-flid 1 in records 1 and 2; FLTR[3]/FLID: bad; FLTR[4]/FLID: bad"}},
		{name: "an operation may name a flight twice", msg: stand(func(m *message.Message) { m.Records = append(m.Records, m.Records[0]) }),
			want: message.Outcome{State: message.Succeeded}, asked: true},
		{name: "a reference with a wrong count goes on", msg: stand(func(m *message.Message) {
			n := 5
			m.Kind, m.Family, m.Declared = "REF-SLST", message.Reference, &n
		}), want: message.Outcome{State: message.Succeeded}, asked: true},
		{name: "the rule skips", msg: stand(nil), rules: rules{decided: decision.Decision{Skip: "flight-unknown"}},
			want: message.Outcome{State: message.Skipped, Reason: "flight-unknown"}, asked: true},
		{name: "the rule rejects", msg: stand(nil), rules: rules{decided: decision.Decision{Reject: "no\x00"}},
			want: message.Outcome{State: message.Dead, Class: message.Protocol, Reason: "no\uFFFD"}, asked: true},
		{name: "the rule fails", msg: stand(nil), rules: rules{err: errors.New("flop.lua:3: boom")},
			want: message.Outcome{State: message.Failed, Class: message.RuleError, Reason: "flop.lua:3: boom"}, asked: true},
		{name: "the rule oversteps", msg: stand(nil), rules: rules{decided: decision.Decision{Changes: []decision.Change{{FLID: 2, Op: decision.Update}}}},
			want: message.Outcome{State: message.Failed, Class: message.RuleError,
				Reason: "decision of test@2: flight 2: the message does not name it; flight 2: update a flight that is unknown, expected ACTIVE [MX641]"}, asked: true},
		{name: "another operation day", msg: schedule(1, record(1)), rules: rules{decided: decision.Decision{Changes: []decision.Change{
			{FLID: 1, Op: decision.Update, Set: map[string]decision.Value{"SODT": {Text: "2021-01-24T05:35:00+08:00"}}}}}},
			want: message.Outcome{State: message.Dead, Class: message.Protocol,
				Reason: "operation-day: flight 1: operation day is 2021-01-23, SODT 2021-01-24T05:35:00+08:00 gives 2021-01-24"}, asked: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			view := decision.View{Flights: map[flight.ID]*flight.State{1: {ID: 1, Status: flight.Active, Version: 1, OperationDay: "2021-01-23"}}}
			s := judge(t, &tt.rules, false).Judge(tt.msg, decision.Claimed{Holder: tt.holder, View: view}, at)
			if diff := cmp.Diff(tt.want, s.Outcome); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.warnings, s.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if tt.rules.asked != tt.asked {
				t.Errorf("the rule was asked: %t, expected %t", tt.rules.asked, tt.asked)
			}
			wantIdentity := "AODB|FLOP|STND|1"
			if tt.holder != nil {
				wantIdentity = ""
			}
			if s.Identity != wantIdentity || s.Ruleset != "cafe" || s.SHA256 != "77aa" || s.Kind != tt.msg.Kind || s.MsgID != 77 {
				t.Errorf("settlement is %+v, expected identity %q", s, wantIdentity)
			}
		})
	}
}

func TestJudgeApplies(t *testing.T) {
	r := &rules{decided: decision.Decision{Notes: []decision.Note{{FLID: 9, Reason: "flight-unknown"}},
		Changes: []decision.Change{{FLID: 1, Op: decision.Update, Set: map[string]decision.Value{"STND": {Text: "7"}}}}}}
	view := decision.View{Flights: map[flight.ID]*flight.State{1: {ID: 1, Status: flight.Active, Version: 1}}}
	s := judge(t, r, false).Judge(stand(nil), decision.Claimed{View: view}, at)
	if len(s.Effects.Advances) != 1 || s.Effects.Advances[0].After.LastMsgID != 77 || len(s.Effects.Notes) != 1 || s.Script != "test@2" {
		t.Errorf("settlement is %+v, expected one advance by message 77 with script test@2 and its note", s)
	}
}

func TestIdentityWithDay(t *testing.T) {
	j := judge(t, &rules{}, true)
	if got, want := j.Identity(stand(nil)), "AODB|FLOP|STND|1|2021-01-23"; got != want {
		t.Errorf("identity %q, expected %q", got, want)
	}
	s := j.Judge(stand(func(m *message.Message) { m.Meta.SentAt = "" }), decision.Claimed{}, at)
	if s.Outcome.Class != message.Malformed || s.Identity != "" || !strings.Contains(s.Outcome.Reason, "META.DTTM") {
		t.Errorf("without DTTM: %+v, identity %q; expected MALFORMED and none", s.Outcome, s.Identity)
	}
}

func TestManyContradictionsAreBounded(t *testing.T) {
	var records []message.Record
	for range 100 {
		records = append(records, record(1, strings.Repeat("x", 300)))
	}
	s := judge(t, &rules{}, false).Judge(schedule(1, records...), decision.Claimed{}, at)
	if n := len([]rune(s.Outcome.Reason)); n > 1001 || s.Outcome.Class != message.Protocol {
		t.Errorf("reason of %d characters in %+v, expected at most 1001", n, s.Outcome)
	}
	s = judge(t, &rules{}, false).Judge(schedule(1, records[:0]...), decision.Claimed{}, at)
	if s.Outcome.Reason != "record-count 1, found 0" {
		t.Errorf("outcome %+v", s.Outcome)
	}
}

func TestScope(t *testing.T) {
	second := record(2)
	second.Elements["SODT"] = message.Element{Text: "2021-01-25T05:35:00+08:00"}
	for _, declared := range []int{2, 3} {
		s := judge(t, &rules{}, false).Judge(schedule(declared, record(1), second), decision.Claimed{}, at)
		want := &decision.ScheduleScope{FirstDay: "2021-01-23", LastDay: "2021-01-25", Declared: declared, Carried: 2}
		if diff := cmp.Diff(want, s.Scope); diff != "" {
			t.Errorf("scope of %d declared (-want +got):\n%s", declared, diff)
		}
	}
}

type classed struct{ class message.ErrorClass }

func (e classed) Error() string                  { return "/MSG: bad\x00" }
func (e classed) ErrorClass() message.ErrorClass { return e.class }

func TestBroken(t *testing.T) {
	raw := message.Raw{MsgID: 5, Body: []byte("<MSG")}
	tests := []struct {
		err  error
		want message.Outcome
	}{
		{fmt.Errorf("decode: %w", classed{message.Malformed}), message.Outcome{State: message.Dead, Class: message.Malformed, Reason: "decode: /MSG: bad\uFFFD"}},
		{classed{message.CodecError}, message.Outcome{State: message.Failed, Class: message.CodecError, Reason: "/MSG: bad\uFFFD"}},
		{errors.New("boom"), message.Outcome{State: message.Failed, Class: message.CodecError, Reason: "boom"}},
	}
	for _, tt := range tests {
		s := judge(t, &rules{}, false).Broken(raw, tt.err, at)
		if diff := cmp.Diff(tt.want, s.Outcome); diff != "" {
			t.Errorf("Broken(%v) (-want +got):\n%s", tt.err, diff)
		}
		if s.Identity != "" || s.SHA256 != raw.SHA256() || s.MsgID != 5 {
			t.Errorf("settlement is %+v", s)
		}
	}
}

type kinded struct{ classed }

func (kinded) MessageKind() string { return "FLOP-STND" }

func TestBrokenKnowsItsKind(t *testing.T) {
	err := fmt.Errorf("decode: %w", kinded{classed{message.CodecError}})
	if s := judge(t, &rules{}, false).Broken(message.Raw{MsgID: 5}, err, at); s.Kind != "FLOP-STND" || s.Outcome.Class != message.CodecError {
		t.Errorf("Broken(%v) is %+v, want kind FLOP-STND", err, s)
	}
}

func TestClaim(t *testing.T) {
	j := judge(t, &rules{}, false)
	msg := stand(func(m *message.Message) {
		m.Records = []message.Record{{FLID: 3, Elements: map[string]message.Element{"MAID": {Text: "9"}}}, {FLID: 1}, {FLID: 3}}
	})
	want := decision.Claim{MsgID: 77, Identity: "AODB|FLOP|STND|1", Flights: []flight.ID{1, 3}, Masters: []flight.ID{9}, RefTypes: []string{"SLST"}}
	if diff := cmp.Diff(want, j.Claim(msg)); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}
	msg.IgnoredBy = "X-*"
	if c := j.Claim(msg); c.Flights != nil || c.RefTypes != nil {
		t.Errorf("claim of an ignored message is %+v, expected nothing to read", c)
	}
}
