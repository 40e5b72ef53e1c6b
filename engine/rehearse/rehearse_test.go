package rehearse_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/codec"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/verdict"
)

// plainRules create or update whatever a schedule names, delete what a
// deletion names, and take reference data as they come.
type plainRules struct{}

func (plainRules) Hash() string { return "cafe" }

func (plainRules) Handler(kind string) (decision.Script, bool) {
	return decision.Script{ID: "plain@1", Writes: []string{"*"}}, kind != "FLOP-STND"
}

func (plainRules) Decide(msg *message.Message, view decision.View) (decision.Decision, error) {
	var d decision.Decision
	for _, r := range msg.Records {
		if msg.Family == message.Reference {
			d.Refs = append(d.Refs, decision.RefChange{Type: msg.Meta.Type, Key: r.Key, Op: decision.RefUpsert, Value: r.Value})
			continue
		}
		ch := decision.Change{FLID: r.FLID, Op: decision.Create, Set: map[string]decision.Value{}}
		if view.Flights[r.FLID] != nil {
			ch.Op = decision.Update
		}
		if msg.Family == message.Deletion {
			ch.Op = decision.Delete
		}
		for tag, e := range r.Elements {
			if tag != "FDEL" {
				ch.Set[tag] = decision.Value{Text: e.Text}
			}
		}
		d.Changes = append(d.Changes, ch)
	}
	return d, nil
}

func meta(typ, subtype string, seq int, payload string) message.Raw {
	return message.Raw{Body: fmt.Appendf(nil, `<MSG><META><SNDR>AODB</SNDR><SEQN>%d</SEQN><DTTM>20210123223126</DTTM><TYPE>%s</TYPE><STYP>%s</STYP></META>%s</MSG>`,
		seq, typ, subtype, payload)}
}

func schedule(seq int, fields string) message.Raw {
	return meta("SCHD", "DNLD", seq, `<SCHD><RECS>1</RECS><FLTR><FLID>1</FLID><SODT>23JAN210535</SODT>`+fields+`</FLTR></SCHD>`)
}

func TestRehearsal(t *testing.T) {
	cat := load(t)
	decoder, err := codec.New(cat, codec.Options{Zone: zone})
	if err != nil {
		t.Fatal(err)
	}
	judge := verdict.New(cat, plainRules{}, verdict.Options{Options: decision.Options{Zone: zone, CodeShareKey: decision.KeyMaster}})
	before, err := rehearse.ParseState(cat, zone, []byte("- flight: 2\n  MAID: 1\n  FLNO: ZH2"))
	if err != nil {
		t.Fatal(err)
	}
	r := rehearse.New(decoder, judge, func() time.Time { return time.Unix(0, 0) }, before)
	steps := []struct {
		raw  message.Raw
		want string
	}{
		{schedule(1, "<FLNO>CA1</FLNO>"), "1 SUCCEEDED  [1 v1]"},
		{schedule(1, "<FLNO>CA9</FLNO>"), "2 SKIPPED duplicate-of:1 []"},
		{schedule(2, "<FLNO>CA1</FLNO>"), "3 SUCCEEDED  []"},
		{meta("FLOP", "STND", 3, "<FLOP><FLID>1</FLID><STND>7</STND></FLOP>"), "4 FAILED kind FLOP-STND has no script in the rule set []"},
		{meta("FLOP", "STND", 3, "<FLOP><FLID>1</FLID><STND>7</STND></FLOP>"), "5 SKIPPED duplicate-of:4 []"},
		{message.Raw{MsgID: 9, Body: []byte("<MSG>")}, "9 DEAD"},
		{meta("SLST", "ADD", 4, "<RECS>1</RECS><SLST><SCOD>S1</SCOD></SLST>"), "10 SUCCEEDED  []"},
		{meta("FDEL", "ANY", 5, "<FDEL><FLID>1</FLID><FDEL/></FDEL>"), "11 SUCCEEDED  [1 v2 2 v2]"},
	}
	for _, s := range steps {
		res := r.Run(s.raw)
		var moved []string
		for _, a := range res.Settlement.Effects.Advances {
			moved = append(moved, fmt.Sprintf("%s v%d", a.After.ID, a.After.Version))
		}
		got := fmt.Sprintf("%d %s %s %v", res.MsgID, res.Settlement.Outcome.State, res.Settlement.Outcome.Reason, moved)
		if res.Message == nil {
			got = fmt.Sprintf("%d %s", res.MsgID, res.Settlement.Outcome.State)
		}
		if got != s.want {
			t.Errorf("%s\ngave     %s\nexpected %s", s.raw.Body, got, s.want)
		}
	}
	want := `- flight: 1
  state: DELETED
  version: 2
  FLNO: CA1
  SODT: 2021-01-23 05:35
- flight: 2
  state: DELETED
  version: 2
  FLNO: ZH2
  MAID: 1
- reference: SLST
  key: S1
  value: {"SCOD":"S1"}
`
	if diff := cmp.Diff(want, string(rehearse.FormatState(cat, zone, r.World()))); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
	if s := before.Flights[2]; s.Status != flight.Active || len(before.Flights) != 1 {
		t.Errorf("the world before was altered: %+v", before)
	}
}
