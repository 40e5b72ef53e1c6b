package comparison_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx"
	"msgx/engine/codec"
	"msgx/engine/comparison"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
	"msgx/schemas"
)

// changed is the shipped rule set with the text of one file replaced.
func changed(t *testing.T, path, old, replacement string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(msgx.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(msgx.Files, name)
		if name == path {
			if !strings.Contains(string(data), old) {
				t.Fatalf("%s does not contain %q", path, old)
			}
			data = []byte(strings.ReplaceAll(string(data), old, replacement))
		}
		out[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func compare(t *testing.T, candidate fs.FS, bodies ...string) comparison.Report {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	zone := time.FixedZone("", 8*3600)
	decoder, err := codec.New(cat, codec.Options{Zone: zone})
	if err != nil {
		t.Fatal(err)
	}
	judge := func(files fs.FS) rehearse.Judge {
		book, err := rulebook.Load(files, cat, rulebook.Settings{}, rulebook.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return verdict.New(cat, book, verdict.Options{Options: decision.Options{Zone: zone, CodeShareKey: decision.KeyMaster}})
	}
	s := comparison.Sequence{
		Name: "test", Decoder: decoder, Old: judge(msgx.Files), New: judge(candidate),
		Before: rehearse.World{Flights: map[flight.ID]*flight.State{1: {ID: 1, Status: flight.Active, Version: 1, Fields: flight.Fields{"STND": "7", "FLNO": "CA1"}}}},
	}
	for i, body := range bodies {
		s.Messages = append(s.Messages, message.Raw{MsgID: int64(i + 1), Body: []byte(body)})
	}
	s.Traced = func() (old, newer *rulebook.Rulebook, err error) {
		if old, err = rulebook.LoadTraced(msgx.Files, cat, rulebook.Settings{}, rulebook.Limits{}); err == nil {
			newer, err = rulebook.LoadTraced(candidate, cat, rulebook.Settings{}, rulebook.Limits{})
		}
		return old, newer, err
	}
	c := comparison.New(func() time.Time { return time.Unix(0, 0) })
	if err := c.Add(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	whole := c.Report()
	if diff := cmp.Diff(whole, recorded(t, s)); diff != "" {
		t.Errorf("over recorded messages (-in memory +recorded):\n%s", diff)
	}
	return whole
}

// recorded compares the same over messages that the old rule set has decided.
func recorded(t *testing.T, s comparison.Sequence) comparison.Report {
	t.Helper()
	live := &claimer{judge: s.Old}
	was := rehearse.New(s.Decoder, live, func() time.Time { return time.Unix(0, 0) }, s.Before)
	c := comparison.New(func() time.Time { return time.Unix(0, 0) })
	r := c.Recorded(comparison.Recorded{Name: s.Name, Decoder: s.Decoder, Old: s.Old, New: s.New, Traced: s.Traced,
		Before: func(decision.Claim) (decision.Claimed, error) { return live.last, nil }, Lost: func(error) bool { return false }})
	for _, raw := range s.Messages {
		was.Run(raw)
		if err := r.Add(raw); err != nil {
			t.Fatal(err)
		}
	}
	r.End()
	return c.Report()
}

// claimer is a judge that keeps what it was given.
type claimer struct {
	judge rehearse.Judge
	last  decision.Claimed
}

func (c *claimer) Claim(msg *message.Message) decision.Claim { return c.judge.Claim(msg) }

func (c *claimer) Judge(msg *message.Message, claimed decision.Claimed, at time.Time) decision.Settlement {
	c.last = claimed
	return c.judge.Judge(msg, claimed, at)
}

func (c *claimer) Broken(raw message.Raw, err error, at time.Time) decision.Settlement {
	return c.judge.Broken(raw, err, at)
}

func stand(seqn, value string) string {
	return `<MSG><META><SNDR>A</SNDR><SEQN>` + seqn + `</SEQN><TYPE>FLOP</TYPE><STYP>STND</STYP></META><FLOP><FLID>1</FLID><STND>` + value + `</STND></FLOP></MSG>`
}

func TestTheSameRuleSetDecidesTheSame(t *testing.T) {
	r := compare(t, msgx.Files, stand("1", "12"), stand("2", ""), "<broken", stand("2", ""))
	if !r.Same() || r.Messages != 4 || len(r.Groups) != 0 {
		t.Errorf("got %+v", r)
	}
}

// A difference shows where it arises, once a group, with the shortest example;
// messages after it that decide alike over the old flights are not blamed.
func TestADifferenceIsFoundWhereItArises(t *testing.T) {
	candidate := changed(t, "rules/flop-stnd@1.lua", "merge.value", "merge.set_only(merge.value)")
	r := compare(t, candidate, stand("1", "12"), stand("2", "   "), stand("3", "13"), stand("4", ""))
	if r.Messages != 4 || r.Differing != 2 || len(r.Groups) != 1 {
		t.Fatalf("got %+v", r)
	}
	g := r.Groups[0]
	if g.Kind != "FLOP-STND" || g.Where != "STND" || g.Count != 2 || g.OldScript != "flop-stnd@1" ||
		g.Example.MsgID != 4 || g.Branch == nil || g.Branch.File != "rules/lib/merge.lua" || g.Branch.Text != "said ~= CLEAR" || g.Branch.Taken || g.Example.FLID != "1" || g.Example.Old != "none" || g.Example.New != "unchanged" {
		t.Errorf("got %+v", g)
	}
	if len(r.Finals) != 1 || r.Finals[0].FLID != "1" || strings.Join(r.Finals[0].Paths, " ") != "STND" {
		t.Errorf("final states: got %+v", r.Finals)
	}
}

func TestADifferentOutcomeIsOneDifference(t *testing.T) {
	candidate := changed(t, "rules/flop-stnd@1.lua", "decide = function(view, msg)", `decide = function(view, msg) if #msg.records > 0 then error("no stands today") end`)
	r := compare(t, candidate, stand("1", "12"))
	if len(r.Groups) != 1 || r.Groups[0].Where != comparison.Outcome || r.Groups[0].Branch.File != "rules/flop-stnd@1.lua" || r.Groups[0].Branch.Text != "#msg.records > 0" || !r.Groups[0].Branch.Taken || r.Groups[0].Example.Old != "SUCCEEDED" ||
		!strings.HasPrefix(r.Groups[0].Example.New, "FAILED(RULE_ERROR)") || !strings.Contains(r.Groups[0].Example.New, "no stands today") {
		t.Errorf("got %+v", r.Groups)
	}
}

func TestDifferencesOfTwoSettlements(t *testing.T) {
	settled := func(stand string) *decision.Settlement {
		return &decision.Settlement{Outcome: message.Outcome{State: message.Succeeded}, Effects: decision.Effects{Advances: []decision.Advance{{
			After: &flight.State{ID: 7}, Op: decision.Update, Changed: []decision.FieldChange{{Path: "STND", After: []byte(stand)}},
		}}}}
	}
	if got := comparison.Differences(settled(`"1"`), settled(`"1"`)); len(got) != 0 {
		t.Errorf("the same twice: got %+v", got)
	}
	want := comparison.Difference{Where: "STND", FLID: "7", Old: `"1"`, New: `"2"`}
	if got := comparison.Differences(settled(`"1"`), settled(`"2"`)); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
