package golden_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"msgx"
	"msgx/engine/rulebook/mutate"
	"msgx/golden"
)

// stand is a corpus of one case that sets a stand.
func stand(t *testing.T) golden.Options {
	t.Helper()
	return golden.Options{Catalogue: load(t), Rules: msgx.Files, Dir: write(t, "case", sound)}
}

// Every line of the shipped scripts runs in some case, and every branch goes both ways.
func TestTheRulesAreCovered(t *testing.T) {
	report, err := golden.Cover(context.Background(), golden.Options{Catalogue: load(t), Rules: msgx.Files, Dir: "."})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Reaches(100) || len(report.Failing) > 0 {
		var text strings.Builder
		if err := report.Text(&text); err != nil {
			t.Error(err)
		}
		t.Errorf("expected all lines and outcomes to be covered\n%s", text.String())
	}
}

// Whatever small thing is broken in a script, some case notices, or a reason is given why none can.
func TestTheCasesNoticeEveryMutant(t *testing.T) {
	o := golden.Options{Catalogue: load(t), Rules: msgx.Files, Dir: "."}
	report, err := golden.Mutate(context.Background(), o, mutate.RunOptions{Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		t.Fatal(err)
	}
	if report.All.Survived > 0 || len(report.Stale) > 0 || report.All.Killed < 500 {
		var text strings.Builder
		if err := report.Text(&text); err != nil {
			t.Error(err)
		}
		t.Errorf("expected no survivor, and a list of equivalent mutants that fits\n%s", text.String())
	}
}

func TestCoverOfOneCase(t *testing.T) {
	report, err := golden.Cover(context.Background(), stand(t), "flop-stnd", "rules/flop-gtdt@1.lua", "fdel@1")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"rules/flop-stnd@1.lua": 100, "rules/flop-gtdt@1.lua": 0, "rules/fdel@1.lua": 0}
	for _, f := range report.Files {
		if percent, ok := want[f.Name]; !ok || f.Lines.Percent() != percent {
			t.Errorf("%s: %s, expected %g%%", f.Name, f.Lines, percent)
		}
		delete(want, f.Name)
	}
	if len(want) > 0 || len(report.Failing) > 0 {
		t.Errorf("not told: %v; failing: %v", want, report.Failing)
	}
}

func TestCoverNamesTheCasesThatFail(t *testing.T) {
	o := stand(t)
	o.Dir = write(t, "wrong", strings.Replace(sound, `STND: "7"`, `STND: "8"`, 1))
	report, err := golden.Cover(context.Background(), o)
	if err != nil || len(report.Failing) != 1 || report.Failing[0] != "wrong" {
		t.Errorf("failing %v, %v, expected the case wrong", report, err)
	}
	if _, err := golden.Mutate(context.Background(), o, mutate.RunOptions{Workers: 1}); err == nil || !strings.Contains(err.Error(), "these cases fail, mend them first: wrong") {
		t.Errorf("%v, expected to be told to mend the case first", err)
	}
}

func TestScriptsAreFoundByName(t *testing.T) {
	tests := []struct{ name, want string }{
		{"flop-gtdt@7", `"flop-gtdt@7": no file of the rule set, did you mean flop-gtdt@1?`},
		{"mrge", `"mrge": no file of the rule set, did you mean merge?`},
		{"quite-another-thing", `"quite-another-thing": no file of the rule set`},
	}
	for _, tt := range tests {
		_, err := golden.Cover(context.Background(), stand(t), tt.name)
		if !errors.Is(err, golden.ErrNoSuchScript) || err.Error() != tt.want {
			t.Errorf("%s: %v, expected %s", tt.name, err, tt.want)
		}
	}
}

// A corpus of one case notices what its one script does, and little of the library. Its own list of
// equivalent mutants counts, not that of the binary.
func TestMutateTellsSurvivors(t *testing.T) {
	o := stand(t)
	report, err := golden.Mutate(context.Background(), o, mutate.RunOptions{Workers: 2}, "flop-stnd")
	if err != nil {
		t.Fatal(err)
	}
	var survived []string
	for _, m := range report.Mutants {
		if m.Status == mutate.Survived {
			survived = append(survived, m.Change()+" near "+m.Nearest)
		}
	}
	if len(survived) != 1 || survived[0] != "`merge.value` -> `merge.set_only(merge.value)` near case" {
		t.Errorf("survived: %q, expected the one of the mode", survived)
	}
}

func TestMutateStopsLoopsAndRefusals(t *testing.T) {
	script := `return {
  kinds = { "FLOP-STND" },
  writes = { "STND" },
  decide = function(_, msg)
    local n = 1
    while n < 3 do
      n = n + 1
    end
    return { changes = { { flid = msg.records[1].flid, op = "update", set = { STND = msg.records[1].STND } } } }
  end,
}
`
	o := stand(t)
	o.Rules = fstest.MapFS{
		"handlers.lua":          {Data: []byte(`return { ["FLOP-STND"] = "flop-stnd@1", defaults = { ["*"] = "rest@1" } }`)},
		"rules/rest@1.lua":      {Data: []byte(`return { kinds = { "*" }, writes = {}, decide = function() return {} end }`)},
		"rules/flop-stnd@1.lua": {Data: []byte(script)},
	}
	report, err := golden.Mutate(context.Background(), o, mutate.RunOptions{Workers: 2}, "flop-stnd")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]mutate.Status{}
	for _, m := range report.Mutants {
		got[m.Change()] = m.Status
	}
	for change, want := range map[string]mutate.Status{
		"without `n = n + 1`":     mutate.Timeout,
		"`n < 3` -> `true`":       mutate.Timeout,
		"without `\"FLOP-STND\"`": mutate.Invalid,
		"without `\"STND\"`":      mutate.Killed,
		"`1` -> `2`":              mutate.Killed,
	} {
		if got[change] != want {
			t.Errorf("%s: %s, expected %s", change, got[change], want)
		}
	}
}
