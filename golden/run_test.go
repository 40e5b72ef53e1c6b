package golden

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
)

func corpusRun(t testing.TB, rules fs.FS, with map[string]string) (*Report, Options) {
	t.Helper()
	o := Options{Catalogue: catalogueOf(t), Rules: rules, Dir: files(t, with)}
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report, o
}

func textOf(t testing.TB, r *Report, dir string, verbose bool) string {
	t.Helper()
	var out strings.Builder
	if err := r.WriteText(&out, verbose); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), dir, "golden")
}

const failure = `FAIL  stand
      golden/cases/stand.txtar: not as expected
        …
          schd 1 v2
        02-second.xml: SUCCEEDED
          msg  1 v3 update
      -     STND: "6" -> "7"
      +     STND: "6" -> "77"
          schd 1 v3

        afterwards:
        - flight: 1
          version: 3
      -   STND: 7
      +   STND: 77

      02-second.xml was decided by flop-stnd@1 in 163 instructions; the lines that ran:
        rules/flop-stnd@1.lua
            5           local flid, stand = msg.records[1].flid, msg.records[1].STND
            6           if stand == "7" then
            7             stand = stand .. "7"
            9           return { changes = { { flid = flid, op = "update", set = { STND = stand } } } }
      which way it went:
        rules/flop-stnd@1.lua:6:5  if ` + "`stand == \"7\"`" + ` was true: stand = "7"

      again: msgx golden run stand

1 passed, 1 failed, 0 errors
`

func TestAFailureShowsWhatRan(t *testing.T) {
	other := strings.Replace(strings.Replace(standCase, `"6" -> "7"`, `"6" -> "77"`, 1), "STND: 7\n", "STND: 77\n", 1)
	report, o := corpusRun(t, onlyStand(t, standScript(`stand .. "7"`)), map[string]string{"cases/stand.txtar": standCase, "cases/well.txtar": other})
	if diff := cmp.Diff(failure, textOf(t, report, o.Dir, false)); diff != "" {
		t.Errorf("the text (-want +got):\n%s", diff)
	}
	if text := textOf(t, report, o.Dir, true); !strings.Contains(text, "\nPASS  well\n") {
		t.Errorf("the verbose text does not list what passed:\n%s", text)
	}
}

func TestAMessageThatNoRuleSees(t *testing.T) {
	twice := strings.Replace(standCase, "<SEQN>2</SEQN>", "<SEQN>1</SEQN>", 1)
	report, o := corpusRun(t, onlyStand(t, standScript("stand")), map[string]string{"cases/stand.txtar": twice})
	if text := textOf(t, report, o.Dir, false); !strings.Contains(text, "02-second.xml was shown to no rule\n") || report.Cases[0].Ran.Script != "" {
		t.Errorf("expected that no rule saw the message:\n%s", text)
	}
}

// A file may have any name; the command that is printed still means that case.
func TestAgainIsAWordOfTheShell(t *testing.T) {
	report, _ := corpusRun(t, onlyStand(t, standScript("1")), map[string]string{
		"cases/-v.txtar": standCase, "cases/a; true.txtar": standCase, "cases/it's.txtar": standCase,
	})
	var again []string
	for _, c := range report.Cases {
		again = append(again, c.Again)
	}
	want := []string{"msgx golden run -- -v", "msgx golden run 'a; true'", `msgx golden run 'it'\''s'`}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReportForPrograms(t *testing.T) {
	report, _ := corpusRun(t, onlyStand(t, standScript(`"\1<&"`)), map[string]string{
		"cases/a-fails.txtar": standCase,
		"cases/b-error.txtar": "Nothing.\n",
		"cases/c-well.txtar":  strings.NewReplacer("<STND>7<", "<STND>8<", "7\n", "8\n", `"7"`, `"8"`).Replace(standCase),
	})
	var out bytes.Buffer
	if err := report.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var again Report
	dec := json.NewDecoder(&out)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, &again); diff != "" {
		t.Errorf("the JSON reads back (-report +read):\n%s", diff)
	}
	if report.Passed != 1 || report.Failed != 1 || report.Errors != 1 || report.Cases[0].Ran == nil || len(report.Cases[0].Ran.Lines) == 0 {
		t.Errorf("the report is %+v", report)
	}
	out.Reset()
	if err := report.WriteJUnit(&out); err != nil {
		t.Fatal(err)
	}
	var suites junitSuites
	if err := xml.Unmarshal(out.Bytes(), &suites); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	cases := suites.Suite.Cases
	if suites.Tests != 3 || suites.Failures != 1 || suites.Errors != 1 || suites.Suite.Tests != 3 || suites.Suite.Failures != 1 || suites.Suite.Errors != 1 || len(cases) != 3 {
		t.Fatalf("counts differ from those of the report:\n%s", out.String())
	}
	if cases[0].Failure == nil || cases[0].Error != nil || cases[1].Error == nil || cases[1].Failure != nil || cases[2].Failure != nil || cases[2].Error != nil {
		t.Errorf("failures and errors are not where they belong:\n%s", out.String())
	}
	if cases[0].Failure.Message != "02-second.xml did not come out as expected" || !strings.Contains(cases[1].Error.Message, "found no message") {
		t.Errorf("messages: %q, %q", cases[0].Failure.Message, cases[1].Error.Message)
	}
}

// leaking is a rule set whose host lets one call see how many there were before.
type leaking struct {
	verdict.Rules
	calls *int
	leaks func(calls int) bool
}

func (l leaking) Decide(msg *message.Message, view decision.View) (decision.Decision, error) {
	*l.calls++
	if l.leaks(*l.calls) {
		return decision.Decision{Skip: "leaked"}, nil
	}
	return l.Rules.Decide(msg, view)
}

// leakyLibrary gives rule sets that leak.
type leakyLibrary struct {
	*loaded
	calls         *int
	shares, fresh func(calls int) bool
}

func (l leakyLibrary) shared(s rulebook.Settings) (verdict.Rules, error) {
	rules, err := l.loaded.shared(s)
	return leaking{rules, l.calls, l.shares}, err
}

func (l leakyLibrary) freshOne(s rulebook.Settings) (verdict.Rules, error) {
	rules, err := l.loaded.fresh(s)
	return leaking{rules, new(int), l.fresh}, err
}

func TestRunsThatDisagreeAreAnError(t *testing.T) {
	never := func(int) bool { return false }
	tests := []struct {
		name          string
		shared, fresh func(int) bool
		want          []string // the run that disagrees, by case
	}{
		{"all agree", never, never, []string{"", ""}},
		// The two cases have two messages each: calls 1 to 8 are the first and second runs,
		// 9 to 12 the runs in reverse order, the second case first.
		{"the second run", func(n int) bool { return n == 3 }, never, []string{"the second run disagrees", ""}},
		{"what came before in another order", func(n int) bool { return n == 9 }, never, []string{"", "the run in reverse order disagrees"}},
		{"all that came before", func(n int) bool { return n > 8 }, never, []string{"the run in reverse order disagrees", "the run in reverse order disagrees"}},
		{"a rule set that remembers nothing", never, func(int) bool { return true }, []string{"the run on a fresh rule set disagrees", "the run on a fresh rule set disagrees"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Catalogue: catalogueOf(t), Rules: onlyStand(t, standScript("stand")), Dir: files(t, map[string]string{"cases/a.txtar": standCase, "cases/b.txtar": standCase})}
			lib := leakyLibrary{newLoaded(o.rules), new(int), tt.shared, tt.fresh}
			report, err := run(t.Context(), o, sources{lib.shared, lib.freshOne})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range tt.want {
				c := report.Cases[i]
				if want == "" && c.Verdict != Pass || want != "" && (c.Verdict != Error || !strings.Contains(c.Text, want) || !strings.Contains(c.Text, "+ ") || !strings.Contains(c.Text, "leaked")) {
					t.Errorf("case %s is %s, expected %q:\n%s", c.Name, c.Verdict, want, c.Text)
				}
			}
		})
	}
}

// A case is judged by the rule set that production would load: what production refuses is refused
// in the same words, and what goes wrong in a call goes wrong in the same words.
func TestSandboxIsThatOfProduction(t *testing.T) {
	cat := catalogueOf(t)
	for _, expression := range []string{`os.time()`, `tostring(load)`, `(function() flid = 1 end)()`} {
		rules := onlyStand(t, standScript(expression))
		_, want := rulebook.Load(rules, cat, rulebook.Settings{}, rulebook.Limits{})
		if want == nil {
			t.Fatalf("%s: production loads it", expression)
		}
		_, err := Run(t.Context(), Options{Catalogue: cat, Rules: rules, Dir: files(t, map[string]string{"cases/a.txtar": standCase})})
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("%s: the corpus says %v, production %v", expression, err, want)
		}
	}
	for _, expression := range []string{`(function() while true do end end)()`, `nil .. "x"`, `string.rep("x", 9)`, `error("because")`} {
		rules := onlyStand(t, standScript(expression))
		o := Options{Catalogue: cat, Rules: rules, Dir: files(t, map[string]string{"cases/a.txtar": standCase})}
		c, err := o.read("a")
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Replay(cat, func(s rulebook.Settings) (*rulebook.Rulebook, error) {
			return rulebook.Load(rules, cat, s, rulebook.Limits{})
		})
		if err != nil {
			t.Fatal(err)
		}
		want := outcomeLine("02-second.xml", got.Results[1].Settlement.Outcome)
		report, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(want, "FAILED(RULE_ERROR)") || !strings.Contains(report.Cases[0].Text, "+ "+want) {
			t.Errorf("%s: expected %q in\n%s", expression, want, report.Cases[0].Text)
		}
	}
}

func TestOldVersionsAreHeld(t *testing.T) {
	rules := onlyStand(t, standScript("stand"), standScript(`stand .. "b"`), standScript(`stand .. "c"`))
	bound := strings.NewReplacer("A stand is set.\n", "A stand is set.\n\n!rules: flop-stnd@2\n", `-> "7"`, `-> "7b"`, "STND: 7\n", "STND: 7b\n").Replace(standCase)
	report, o := corpusRun(t, rules, map[string]string{"cases/new.txtar": standCase, "cases/old.txtar": bound})
	if !report.OK() || report.Passed != 2 {
		t.Errorf("expected version 1 in one case and version 2 in the other:\n%s", textOf(t, report, o.Dir, true))
	}
	unheld, err := Unheld(o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"flop-stnd@3"}, unheld); diff != "" {
		t.Errorf("unheld versions (-want +got):\n%s", diff)
	}
}

// Every version in the rule set that the manifest does not pick has a case that holds it.
func TestShippedVersionsAreHeld(t *testing.T) {
	unheld, err := Unheld(Options{Catalogue: catalogueOf(t), Rules: msgx.Files})
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range unheld {
		t.Errorf("no case is bound to %s; write one with !rules: %s in which it decides a message", script, script)
	}
}
