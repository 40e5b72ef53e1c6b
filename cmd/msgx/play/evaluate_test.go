package play

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/message"
)

func TestACaseIsShownAsItComesOut(t *testing.T) {
	p := start(t)
	q := p.gates()
	a := p.evaluated(q)
	if a.Result == nil || len(a.Lint)+len(a.Faults)+len(a.InputFaults) > 0 || a.Standing != Used {
		t.Fatalf("found %+v, expected a result and nothing wrong", a)
	}
	r := a.Result
	if r.Expected == nil || !*r.Expected || r.Difference != "" {
		t.Errorf("found expected %v and\n%s\nexpected it as the case says", r.Expected, r.Difference)
	}
	first := r.Messages[0]
	got := fmt.Sprint(first.Name, first.State, first.Script, first.Flights[0].FLID, first.Flights[0].Before, first.Flights[0].After, first.Flights[0].Changes[0].Path)
	if want := fmt.Sprint("01-replaces.xml", message.Succeeded, "flop-gtdt@1", "1000345", int64(4), int64(5), "GTDT"); got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
	if n := len(first.Flights[0].Changes[0].Entries); n != 4 {
		t.Errorf("found %d entries, expected two gone and two come", n)
	}
	if len(first.Events) != 2 || first.Events[0].Key != "1000345" || !strings.Contains(string(first.Events[0].Payload), "GTDT") {
		t.Errorf("found events %+v, expected two with payloads", first.Events)
	}
	tr := first.Trace
	if tr == nil || tr.Instructions == 0 || tr.Budget != 210_000 || len(tr.Branches) == 0 || len(tr.Reads) == 0 || !slices.Equal(tr.Writes, []string{"flight 1000345 GTDT"}) {
		t.Errorf("found trace %+v", tr)
	}
	if !slices.ContainsFunc(tr.Branches, func(b Branch) bool { return len(b.Operands) > 0 }) {
		t.Error("no branch has the values of its operands")
	}
	want := []Line{{3, 0, true}, {5, 0, true}, {9, 3, false}}
	if diff := cmp.Diff(want, r.Lines); diff != "" {
		t.Errorf("lines: -want +got\n%s", diff)
	}
	if !strings.Contains(r.After, "flight: 1000345") || r.Zone != "Asia/Shanghai" {
		t.Errorf("found zone %s and afterwards\n%s", r.Zone, r.After)
	}
}

// TestAnEditChangesTheDecision, not the file.
func TestAnEditChangesTheDecision(t *testing.T) {
	p := start(t)
	before := p.onDisk(gatesFile)
	a := p.evaluated(p.gates(`return merge.flop(view, msg, { GTDT = merge.replace })`, `return { skip = "closed" }`))
	if m := a.Result.Messages[0]; m.State != message.Skipped || m.Reason != "closed" {
		t.Errorf("found %s %s, expected SKIPPED closed", m.State, m.Reason)
	}
	if a.Result.Expected == nil || *a.Result.Expected || !strings.Contains(a.Result.Difference, "+ 01-replaces.xml: SKIPPED closed") {
		t.Errorf("found difference\n%s\nexpected that the case wants something else", a.Result.Difference)
	}
	if p.onDisk(gatesFile) != before {
		t.Error("evaluating wrote the file")
	}
}

func TestWhatIsWrongHasItsLine(t *testing.T) {
	p := start(t)
	tests := []struct {
		name     string
		old, new string
		code     string
		line     int
		result   bool // the rule set loads
	}{
		{"syntax", "local merge =", "local = =", "MX001", 3, false},
		{"a tag that there is not", `{ "GTDT" }`, `{ "GTDX" }`, "MX301", 7, false},
		{"an endless loop", "return merge.flop", "while true do end return merge.flop", "MX601", 9, true},
		{"an unused local", "return merge.flop", "local x = 1 return merge.flop", "MX501", 9, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := p.evaluated(p.gates(test.old, test.new))
			if (a.Result != nil) != test.result {
				t.Fatalf("found result %v, faults %v", a.Result, a.Faults)
			}
			var found []string
			for _, f := range a.Lint {
				found = append(found, fmt.Sprint(f.Code, f.Line))
			}
			if a.Result != nil {
				for _, f := range a.Result.Raised {
					found = append(found, fmt.Sprint(f.Code, f.Line))
				}
			} else if len(a.Faults) == 0 {
				t.Error("found no fault, expected why the rule set does not load")
			}
			if !slices.Contains(found, fmt.Sprint(test.code, test.line)) {
				t.Errorf("found %v, expected %s in line %d", found, test.code, test.line)
			}
		})
	}
}

func TestFaultsOfTheInputHaveTheirPart(t *testing.T) {
	p := start(t)
	q := p.gates()
	q.Input.Expect = nil
	message := q.Input.Messages[0]
	tests := []struct {
		name string
		in   Input
		part string
		line int
		says string
	}{
		{"a tag of the state", Input{State: "- flight: 1\n  GTDX: 1\n", Messages: []Document{message}}, "state", 2, "GTDX"},
		{"after a message of many lines", Input{Comment: "C.\n!zone: Nowhere/At all\n", Messages: []Document{message, message}}, "comment", 2, "Nowhere"},
		{"a setting without a comment", Input{Comment: "!zone: Nowhere\n", Messages: []Document{message}}, "comment", 1, "Nowhere"},
		{"a name that is none", Input{Messages: []Document{message, {"second", "<MSG/>"}}}, "second", 1, "expected"},
		{"a head in a message", Input{Messages: []Document{{"01-a.xml", "<MSG>\n-- expect --\n</MSG>"}}}, "01-a.xml", 1, "head of a file"},
		{"a head in a state", Input{State: "-- x.xml --", Messages: []Document{message}}, "state", 1, "head of a file"},
		{"a head in the comment", Input{Comment: "C.\n-- x.xml --\n", Messages: []Document{message}}, "comment", 1, "head of a file"},
		{"a head as a name", Input{Messages: []Document{{"a --\n-- b.xml", "x"}}}, "a --\n-- b.xml", 1, "name"},
		{"no message", Input{}, "comment", 1, "no message"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := p.evaluated(Question{q.File, q.Source, test.in})
			if a.Result != nil || len(a.InputFaults) == 0 {
				t.Fatalf("found %+v, expected a fault of the input", a)
			}
			f := a.InputFaults[0]
			if f.Part != test.part || f.Line != test.line || !strings.Contains(f.Text, test.says) {
				t.Errorf("found %+v, expected part %q, line %d, %q", f, test.part, test.line, test.says)
			}
		})
	}
}

// TestAVersionStandsInForTheOneInUse: a new version is tried before handlers.lua names it.
func TestAVersionStandsInForTheOneInUse(t *testing.T) {
	p := start(t)
	q := p.gates("merge.replace", `merge.by_key("GTNO")`)
	put := func(file string) {
		if err := os.WriteFile(filepath.Join(p.dir, file), []byte("return {}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("rules/flop-gtdt@2.lua")
	q.File = "rules/flop-gtdt@2.lua"
	a := p.evaluated(q)
	if a.Standing != StandsIn || a.Instead != "flop-gtdt@1" || a.Result == nil || a.Result.Messages[0].Script != "flop-gtdt@2" {
		t.Errorf("found %+v, expected version 2 in the place of flop-gtdt@1", a)
	}
	if manifest := p.onDisk("handlers.lua"); strings.Contains(manifest, "flop-gtdt@2") {
		t.Error("handlers.lua was written")
	}
	if err := os.Remove(filepath.Join(p.dir, q.File)); err != nil {
		t.Fatal(err)
	}
	put("rules/mine@1.lua")
	a = p.evaluated(Question{"rules/mine@1.lua", p.gates().Source, q.Input})
	if a.Standing != Idle || a.Result == nil || a.Result.Messages[0].Script != "flop-gtdt@1" || len(a.Result.Lines) != 0 {
		t.Errorf("found %+v, expected a script that nothing names to be idle", a)
	}
	ask[refusal](p, "api/evaluate", Question{File: "rules/none@1.lua"}, http.StatusNotFound)
}

// TestANameInACommentIsNotInUse: the manifest explains itself with "flop-gtdt@1", also when it uses another.
func TestANameInACommentIsNotInUse(t *testing.T) {
	p := start(t)
	q := p.gates("merge.replace", `merge.by_key("GTNO")`)
	for file, text := range map[string]string{
		"rules/flop-gtdt@2.lua": p.gates().Source,
		"handlers.lua":          strings.Replace(p.onDisk("handlers.lua"), `= "flop-gtdt@1"`, `= "flop-gtdt@2"`, 1),
	} {
		if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if manifest := p.onDisk("handlers.lua"); !strings.Contains(manifest, `-- "flop-gtdt@1"`) || !strings.Contains(manifest, `= "flop-gtdt@2"`) {
		t.Fatalf("found\n%s\nexpected version 1 in a comment and version 2 in use", manifest)
	}
	a := p.evaluated(q)
	if a.Standing != StandsIn || a.Instead != "flop-gtdt@2" || a.Result == nil || a.Result.Messages[0].Script != "flop-gtdt@1" {
		t.Errorf("found %+v, expected the text of version 1 in the place of flop-gtdt@2", a)
	}
}

func TestTooManyMessagesAreRefused(t *testing.T) {
	p := start(t)
	q := p.gates()
	q.Input.Messages = slices.Repeat(q.Input.Messages[:1], maxMessages+1)
	p.refused("api/evaluate", q, http.StatusBadRequest, "at most 100")
}

func TestAnInputOfOnesOwn(t *testing.T) {
	p := start(t)
	q := p.gates()
	q.Input = Input{Messages: []Document{q.Input.Messages[0]}}
	a := p.evaluated(q)
	if a.Result == nil || a.Result.Expected != nil || a.Result.Messages[0].State != message.Skipped || a.Result.Messages[0].Reason != "flight-unknown" {
		t.Errorf("found %+v, expected that the flight is not known and nothing is expected", a.Result)
	}
	q.Input.Messages[0].Text = "<MSG>"
	if a := p.evaluated(q); a.Result.Messages[0].State != message.Dead || a.Result.Messages[0].Trace != nil {
		t.Errorf("found %+v, expected a broken message to be DEAD", a.Result.Messages[0])
	}
	q.Input.Messages[0].Text = "\n"
	if a := p.evaluated(q); a.Result != nil || len(a.InputFaults)+len(a.Faults) > 0 {
		t.Errorf("found %+v, expected that nothing runs before a message is written", a)
	}
}
