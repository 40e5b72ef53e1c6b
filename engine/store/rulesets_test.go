package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/fault"
	"msgx/engine/ruleset"
)

// hashed makes a hash out of a few characters.
func hashed(text string) string { return text + strings.Repeat("0", 64-len(text)) }

// entry is a rule set going live at an hour.
func entry(how ruleset.How, hour int, pinned bool) ruleset.Live {
	return ruleset.Live{Cause: ruleset.Cause{How: how, Who: "op", Why: "why"}, Place: ruleset.Place{Origin: "a:/rules", Seen: "s1"},
		Pinned: pinned, From: noon.Add(time.Duration(hour) * time.Hour)}
}

func TestRulesetsGoLiveAndAreRefused(t *testing.T) {
	s, w := fresh(t)
	ctx := t.Context()
	if _, found, err := s.Live(ctx); found || err != nil {
		t.Fatalf("live before the first: %v, %v", found, err)
	}
	one := ruleset.Set{Hash: hashed("aa1"), Build: "b1", Files: map[string][]byte{"handlers.lua": []byte("return {}"), "rules/x@1.lua": {0, 255}}, Settings: map[string]string{"zone": "Z"}}
	two := ruleset.Set{Hash: hashed("aa2"), Build: "b1", Files: map[string][]byte{"handlers.lua": nil}}
	n := int64(7)
	steps := []struct {
		set    ruleset.Set
		l      ruleset.Live
		judged *int64
	}{
		{one, entry(ruleset.ByStart, 0, false), nil},
		{one, entry(ruleset.ByActivate, 1, false), nil}, // live already
		{two, entry(ruleset.ByWatch, 2, false), &n},
		{two, entry(ruleset.ByWatch, 2, false), &n}, // the same again, as after a commit in doubt
		{one, entry(ruleset.ByRollback, 3, true), nil},
		{one, entry(ruleset.ByWatch, 4, false), nil}, // the pin ends
	}
	for _, step := range steps {
		if err := w.GoLive(ctx, step.set, step.l, step.judged, 0); err != nil {
			t.Fatal(err)
		}
	}
	refusal := ruleset.Refusal{Hash: two.Hash, Cause: ruleset.Cause{How: ruleset.BySignal, Who: "i"}, Place: ruleset.Place{Origin: "a:/rules"},
		At: noon.Add(5 * time.Hour), Reasons: []string{"golden: 1 failed\nFAIL x", "bad \x00 text"}}
	for range 2 {
		if err := w.Refuse(ctx, refusal, 0); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := s.RulesetHistory(ctx, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if r := e.Refused; r != nil {
			got = append(got, fmt.Sprintf("%s refused %.3s %q", r.How, r.Hash, r.Reasons[0]))
			continue
		}
		judged := "-"
		if e.Live.Judged != nil {
			judged = fmt.Sprint(*e.Live.Judged)
		}
		got = append(got, fmt.Sprintf("%s %.3s pinned %v judged %s over %v", e.Live.How, e.Live.Hash, e.Live.Pinned, judged, !e.Live.Until.IsZero()))
	}
	want := []string{`signal refused aa2 "golden: 1 failed\nFAIL x"`, "watch aa1 pinned false judged - over false", "rollback aa1 pinned true judged - over true",
		"watch aa2 pinned false judged - over true", "start aa1 pinned false judged 7 over true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	set, err := s.Ruleset(ctx, one.Hash)
	if diff := cmp.Diff(one, set); err != nil || diff != "" {
		t.Errorf("rule set of the record: %v (-want +got):\n%s", err, diff)
	}
	if _, err := s.Ruleset(ctx, hashed("ff")); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("a rule set that never was: got %v, want ErrNotFound", err)
	}
	for prefix, want := range map[string]error{"aa1": nil, "aa": fault.ErrRefused, "bb": fault.ErrNotFound, "%": fault.ErrNotFound} {
		hash, err := s.RulesetNamed(ctx, prefix)
		if !errors.Is(err, want) || want == nil && hash != one.Hash {
			t.Errorf("rule set %s: got %s, %v, want %v", prefix, hash, err, want)
		}
	}
}

// A rule set that judged nothing goes when it is old; one that judged, or may have, stays for good.
func TestRulesetsThatJudgedAreKept(t *testing.T) {
	s, w := fresh(t)
	none, some := int64(0), int64(1)
	for i := range keptLives + 10 {
		judged := &none
		switch i { // of the one before
		case 3:
			judged = &some
		case 5:
			judged = nil
		}
		set := ruleset.Set{Hash: hashed(fmt.Sprintf("%04d", i)), Build: "b", Files: map[string][]byte{"handlers.lua": []byte(fmt.Sprint(i))}}
		if err := w.GoLive(t.Context(), set, entry(ruleset.ByWatch, i, false), judged, 0); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range map[int]bool{0: false, 1: false, 2: true, 3: false, 4: true, 5: false, 20: true, keptLives + 9: true} {
		_, err := s.Ruleset(t.Context(), hashed(fmt.Sprintf("%04d", i)))
		if got := err == nil; got != want {
			t.Errorf("rule set %d is kept: %v, want %v (%v)", i, got, want, err)
		}
	}
	if n := query[int](t, s, `SELECT count(*) FROM ruleset_file`); n > keptLives+3 {
		t.Errorf("%d files are kept, want at most %d", n, keptLives+3)
	}
	for i := range keptRefusals + 10 {
		r := ruleset.Refusal{Cause: ruleset.Cause{How: ruleset.ByWatch}, At: noon.Add(time.Duration(i) * time.Minute), Reasons: make([]string, 2*reasonsKept)}
		if err := w.Refuse(t.Context(), r, 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := query[int](t, s, `SELECT count(*) FROM ruleset_refusal`); n != keptRefusals {
		t.Errorf("%d refusals are kept, want %d", n, keptRefusals)
	}
	if n := query[int](t, s, `SELECT max(json_array_length(reasons)) FROM ruleset_refusal`); n != reasonsKept+1 {
		t.Errorf("%d reasons are kept, want %d and how many more", n, reasonsKept)
	}
}

func TestRequestsAreAnsweredOnce(t *testing.T) {
	s, w := fresh(t)
	ctx := t.Context()
	if _, err := s.AskRuleset(ctx, ruleset.Request{Action: ruleset.ByActivate, Who: "op", At: noon}); !errors.Is(err, fault.ErrRefused) {
		t.Errorf("a request without a reason: got %v, want ErrRefused", err)
	}
	var ids []int64
	for _, q := range []ruleset.Request{
		{Action: ruleset.ByActivate, Who: "op", Why: "a", At: noon}, {Action: ruleset.ByRollback, Hash: hashed("aa"), Who: "op", Why: "b", At: noon},
	} {
		id, err := s.AskRuleset(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	q, found, err := s.OpenRequest(ctx)
	if err != nil || !found || q.ID != ids[0] || q.Answer != nil {
		t.Fatalf("open: %+v, %v, %v, want request %d", q, found, err, ids[0])
	}
	if err := w.GoLive(ctx, ruleset.Set{Hash: hashed("aa"), Build: "b"}, entry(ruleset.ByActivate, 1, false), nil, ids[0]); err != nil {
		t.Fatal(err)
	}
	if err := w.Refuse(ctx, ruleset.Refusal{Cause: ruleset.Cause{How: ruleset.ByRollback}, At: noon, Reasons: []string{"no"}}, ids[1]); err != nil {
		t.Fatal(err)
	}
	if err := w.GoLive(ctx, ruleset.Set{Hash: hashed("aa"), Build: "b"}, entry(ruleset.ByRollback, 2, true), nil, ids[1]); err != nil {
		t.Fatal(err)
	}
	if _, found, err := s.OpenRequest(ctx); found || err != nil {
		t.Errorf("a request is still open: %v, %v", found, err)
	}
	want := []*ruleset.Answer{{Live: true, Hash: hashed("aa"), At: noon.Add(time.Hour), Reasons: []string{}}, {Reasons: []string{"no"}, At: noon}}
	for i, id := range ids {
		q, err := s.RulesetRequest(ctx, id)
		if diff := cmp.Diff(want[i], q.Answer); err != nil || diff != "" {
			t.Errorf("request %d: %v (-want +got):\n%s", id, err, diff)
		}
	}
	if _, err := s.RulesetRequest(ctx, 999); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("a request that never was: got %v, want ErrNotFound", err)
	}
	if n := query[int](t, s, `SELECT count(*) FROM operator_log WHERE action LIKE 'rules %'`); n != 2 {
		t.Errorf("%d requests in the operator log, want 2", n)
	}
}

func TestShadowFindingsAreBounded(t *testing.T) {
	s, w := fresh(t)
	ctx := t.Context()
	if _, found, err := s.ShadowNow(ctx); found || err != nil {
		t.Fatalf("a shadow before the first: %v, %v", found, err)
	}
	now := ruleset.ShadowNow{Origin: "a:/shadow", Hash: hashed("cc"), At: noon}
	for range 2 {
		if err := w.SetShadowNow(ctx, &now); err != nil {
			t.Fatal(err)
		}
	}
	got, found, err := s.ShadowNow(ctx)
	if diff := cmp.Diff(now, got); err != nil || !found || diff != "" {
		t.Errorf("the shadow: %v, %v (-want +got):\n%s", found, err, diff)
	}
	spots := []ruleset.Spot{{Kind: "FLOP-STND", Place: "STND"}, {Kind: "FLOP-GTDT", Place: "GTDT"}}
	for run := range keptRuns + 3 {
		for round := range 5 {
			f := ruleset.Findings{Run: ruleset.Run{Shadow: hashed(fmt.Sprintf("%04d", run)), Live: hashed("aa")}, At: noon.Add(time.Duration(run*10+round) * time.Minute),
				Tally: ruleset.Tally{Same: 1, Different: 10, Dropped: 2}, Counts: map[ruleset.Spot]int64{spots[0]: 10, spots[1]: 1}}
			for i := range 10 {
				f.Examples = append(f.Examples, ruleset.Difference{Spot: spots[0], MsgID: int64(round*10 + i), FLID: "1", Live: "x\x00", Shadow: "y", At: noon})
			}
			if err := w.AddShadow(ctx, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	reports, err := s.ShadowReports(ctx, 100, 3)
	if err != nil || len(reports) != keptRuns {
		t.Fatalf("%d runs, %v, want %d", len(reports), err, keptRuns)
	}
	latest := reports[0]
	if latest.Shadow != hashed(fmt.Sprintf("%04d", keptRuns+2)) || latest.Tally != (ruleset.Tally{Same: 5, Different: 50, Dropped: 10}) {
		t.Errorf("the latest run is %+v", latest)
	}
	if diff := cmp.Diff([]ruleset.SpotCount{{Spot: spots[0], Messages: 50}, {Spot: spots[1], Messages: 5}}, latest.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(latest.Latest) != 3 || latest.Latest[0].MsgID != 49 {
		t.Errorf("examples %+v, want the latest three", latest.Latest)
	}
	if n := query[int](t, s, `SELECT max(n) FROM (SELECT count(*) AS n FROM shadow_difference GROUP BY hash, live) AS runs`); n != keptDifferencesASpot {
		t.Errorf("%d examples of a run are kept, want %d", n, keptDifferencesASpot)
	}
	if err := w.SetShadowNow(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if _, found, err := s.ShadowNow(ctx); found || err != nil {
		t.Errorf("the shadow is still there: %v, %v", found, err)
	}
}
