package mutate_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"msgx/engine/rulebook/coverage"
	"msgx/engine/rulebook/mutate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const script = "local a = 1\nlocal b = \"x\"\nif a then\n  f(b)\nend\nlocal c = true\nlocal d = nil\n"

// suite has a case "narrow" that runs line 4 alone, a case "wide" that runs lines 1 to 6; line 7 is run by none.
func suite() mutate.Suite {
	hits := []coverage.Line{}
	for line := 1; line <= 7; line++ {
		l := coverage.Line{Number: line, Cases: []string{}}
		if line < 7 {
			l.Cases = append(l.Cases, "wide")
		}
		if line == 4 {
			l.Cases = append(l.Cases, "narrow")
		}
		hits = append(hits, l)
	}
	return mutate.Suite{
		Rules:    fstest.MapFS{"f.lua": {Data: []byte(script)}, "g.lua": {Data: []byte("return 1")}},
		Coverage: &coverage.Report{Files: []coverage.File{{Name: "f.lua", Hits: hits}}},
		Load: func(rules fs.FS) (mutate.Try, error) {
			data, err := fs.ReadFile(rules, "f.lua")
			if err != nil {
				return nil, err
			}
			other, err := fs.ReadFile(rules, "g.lua")
			if err != nil || string(other) != "return 1" {
				return nil, errors.New("another file has changed")
			}
			text := string(data)
			if strings.Contains(text, "local c = false") {
				return nil, errors.New("refused")
			}
			return func(name string) (passes, outOfBudget bool, err error) {
				switch {
				case strings.Contains(text, "if true"):
					return false, true, nil
				case strings.Contains(text, "f(b)"):
					return strings.Contains(text, "local a = 1") || name == "narrow", false, nil
				}
				return name == "narrow", false, nil // which does not mind that f is not called
			}, nil
		},
	}
}

func results(t *testing.T) []mutate.Result {
	t.Helper()
	mutants, err := mutate.Mutants("f.lua", script, mutate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	got, err := mutate.Run(context.Background(), suite(), mutants, mutate.RunOptions{Workers: 2, Progress: func(done, total int) {
		if done != last+1 || total != len(mutants) {
			t.Errorf("progress says %d of %d after %d", done, total, last)
		}
		last = done
	}})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRun(t *testing.T) {
	type row struct {
		Change  string
		Status  mutate.Status
		By      string
		Cases   int
		Nearest string
	}
	var got []row
	for _, r := range results(t) {
		got = append(got, row{r.Change(), r.Status, r.By, r.Cases, r.Nearest})
	}
	want := []row{
		{"`1` -> `2`", mutate.Killed, "wide", 1, ""},
		{"`1` -> `0`", mutate.Killed, "wide", 1, ""},
		{"`\"x\"` -> `\"?\"`", mutate.Survived, "", 1, "wide"},
		{"`\"x\"` -> `\"\"`", mutate.Survived, "", 1, "wide"},
		{"`a` -> `true`", mutate.Timeout, "wide", 1, ""},
		{"`a` -> `false`", mutate.Survived, "", 1, "wide"},
		{"`a` -> `not (a)`", mutate.Survived, "", 1, "wide"},
		{"without `f(b)`", mutate.Killed, "wide", 2, ""},
		{"`true` -> `false`", mutate.Invalid, "", 0, ""},
		{"`nil` -> `false`", mutate.Survived, "", 0, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestRunStops(t *testing.T) {
	mutants, err := mutate.Mutants("f.lua", script, mutate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := mutate.Run(ctx, suite(), mutants, mutate.RunOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, expected that it was cancelled", err)
	}
}

func TestExcused(t *testing.T) {
	entry := mutate.Excuse{File: "f.lua", Line: "if a then", Change: "`a` -> `false`", Why: "f does\n  nothing."}
	with := func(change func(*mutate.Excuse)) []mutate.Excuse {
		e := entry
		change(&e)
		return []mutate.Excuse{e}
	}
	tests := []struct {
		name    string
		excuses []mutate.Excuse
		wrong   string
	}{
		{"it fits", []mutate.Excuse{entry}, ""},
		{"the column is right", with(func(e *mutate.Excuse) { e.Column = 4 }), ""},
		{"the column is not", with(func(e *mutate.Excuse) { e.Column = 5 }), "no such mutant any more"},
		{"another line", with(func(e *mutate.Excuse) { e.Line = "if b then" }), "no such mutant any more"},
		{"it is killed", with(func(e *mutate.Excuse) { e.Line, e.Change = "f(b)", "without `f(b)`" }), "not equivalent, it is killed by case wide"},
		{"another file", with(func(e *mutate.Excuse) { e.File = "h.lua" }), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rs := results(t)
			wrong, err := mutate.Excused(suite().Rules, rs, tt.excuses, []string{"f.lua"})
			if err != nil || (tt.wrong == "") != (len(wrong) == 0) || tt.wrong != "" && !strings.Contains(wrong[0], tt.wrong) {
				t.Errorf("%q, %v, expected %q", wrong, err, tt.wrong)
			}
			if r := mutate.NewReport("", rs, wrong); tt.name == "it fits" && (r.All.Equivalent != 1 || rs[5].Why != "f does nothing.") {
				t.Errorf("%+v, why %q, expected one equivalent mutant", r.All, rs[5].Why)
			}
		})
	}
}

func TestExcusedWantsTheColumnOfOneOfTwo(t *testing.T) {
	rules := fstest.MapFS{"f.lua": {Data: []byte("local a = b == c == d")}}
	mutants, err := mutate.Mutants("f.lua", "local a = b == c == d", mutate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rs := make([]mutate.Result, len(mutants))
	for i, m := range mutants {
		rs[i] = mutate.Result{Mutant: m, Status: mutate.Survived}
	}
	e := mutate.Excuse{File: "f.lua", Line: "local a = b == c == d", Change: "`==` -> `~=`", Why: "x"}
	wrong, err := mutate.Excused(rules, rs, []mutate.Excuse{e}, []string{"f.lua"})
	if err != nil || len(wrong) != 1 || !strings.Contains(wrong[0], "2 mutants fit") || !strings.Contains(wrong[0], "give the column") {
		t.Errorf("%q, %v, expected to be asked for the column", wrong, err)
	}
}

func TestParseExcuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "# none yet\n", ""},
		{"whole", "- file: f.lua\n  line: 'a # b'\n  change: 'x'\n  why: y\n", ""},
		{"without a reason", "- file: f.lua\n  line: a\n  change: x\n  why: ' '\n", "entry 1: expected file, line, change and why"},
		{"an unknown key", "- file: f.lua\n  reason: a\n", "field reason not found"},
		{"no list", "file: f.lua\n", "cannot unmarshal"},
	}
	for _, tt := range tests {
		_, err := mutate.ParseExcuses([]byte(tt.text))
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, expected %q", tt.name, err, tt.want)
		}
	}
}

func TestReportText(t *testing.T) {
	r := mutate.NewReport("", results(t), []string{"stale entry"})
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"f.lua:3:4: survived: `a` -> `false`\n- if a then\n+ if false then\n  the one case that runs it does not notice: wide\n\n",
		"f.lua:7:11: survived: `nil` -> `false`\n- local d = nil\n+ local d = false\n  no case runs this line\n\n",
		"equivalent mutants: stale entry\n",
		"  MADE  KILLED  TIMEOUT  INVALID  EQUIVALENT  SURVIVED  OPERATOR\n",
		"    10       3        1        1           0         5  all\n",
		"score 44.4%: 4 of 9 that could be noticed\n",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("the report\n%s\nhas no\n%s", b.String(), part)
		}
	}
}
