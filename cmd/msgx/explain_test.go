package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"msgx"
	"msgx/engine/explain"
)

// An explanation names what was said, what ran, which way it went and on what, what was read and
// written, and what came of it, in lines that fit a terminal.
func TestExplainingAGoldenCase(t *testing.T) {
	r := run("rules", "explain", "--case", "flop-gtdt")
	for _, want := range []string{
		"message 1  01-replaces.xml  FLOP-GTDT  SUCCEEDED\n", "decided by flop-gtdt@1 of rule set ", " instructions (",
		"\nsaid  sets GTDT\n", "record 1  flight 1000345\n", "\nran  rules/flop-gtdt@1.lua\n", fmt.Sprintf("    1x %5d      return merge.flop(view, msg", lineOf(t, "rules/flop-gtdt@1.lua", "merge.flop(")),
		"\nbranches\n", fmt.Sprintf("rules/lib/merge.lua:%d", lineOf(t, "rules/lib/merge.lua", "if not current then")) + "  no   if not current  current = {flight 1000345}\n",
		"\nread\n", "flight 1000345 state  \"ACTIVE\"\n", "\nwritten\n  flight 1000345 GTDT\n", "\nchanges\n  flight 1000345  update to version 5\n    GTDT\n",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("want %q in:\n%s", want, r.out)
		}
	}
	if r.code != 0 || strings.Contains(r.out, "\x1b") {
		t.Errorf("exit %d, %s; expected 0 and no colour where nobody looks", r.code, r.err)
	}
	for line := range strings.Lines(r.out) {
		if n := len([]rune(line)); n > 101 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	var told []explain.Explanation
	r = run("rules", "explain", "--case", "code-share", "--json")
	if err := json.Unmarshal([]byte(r.out), &told); err != nil || len(told) < 2 || told[0].Script == nil || len(told[0].Script.Sources) < 2 ||
		told[0].Script.Instructions == 0 || told[0].Script.Budget <= told[0].Script.Instructions || len(told[0].Changes) == 0 {
		t.Errorf("as JSON: %v\n%s%s", err, r.out, r.err)
	}
}

// lineOf is the number of the first line of a shipped file that has a text.
func lineOf(t *testing.T, file, text string) int {
	t.Helper()
	data, err := msgx.Files.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if n++; strings.Contains(line, text) {
			return n
		}
	}
	t.Fatalf("%s has no line with %q", file, text)
	return 0
}

// What a message says in vain is told.
func TestExplainingWhatIsIgnored(t *testing.T) {
	file := write(t, "status.xml", []byte(operation(1, "EXSS", "<FLID>1</FLID><EXSC>A</EXSC><EXSR>x</EXSR><NEWS>1</NEWS>")))
	state := write(t, "before.yaml", []byte("- flight: 1\n  FLNO: CA1\n"))
	changed := candidate(t, "rules/flop-exss@1.lua", "EXSR = merge.value,", "")
	r := run("rules", "explain", file, "--state", state, "--set", "rules.dir="+changed, "--with", shipped)
	for _, want := range []string{
		"unknown element  /MSG/FLOP/NEWS, 1\n", "not looked at by the script: EXSR\n", "with shipped  rule set ", "  EXSR of flight 1\n    now   unchanged\n    then  \"x\"\n", fmt.Sprintf("the two part at rules/lib/merge.lua:%d", lineOf(t, "rules/lib/merge.lua", "if record[tag] ~= nil then")) + ", only with shipped:\n    yes  if record[tag] ~= nil  record[tag] = \"x\"\n",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("want %q in:\n%s%s", want, r.out, r.err)
		}
	}
}

func TestExplainingIsAskedRightly(t *testing.T) {
	for want, args := range map[string][]string{
		"expected a message file": {},
		"is named":                {"--case", "flop-gtdd"},
		"no such file":            {"none.xml"},
		"has a state of its own":  {"--case", "flop-gtdt", "--state", "before.yaml"},
		"--dir goes with --case":  {"gate.xml", "--dir", "golden"},
		"rule set ./nowhere":      {"--case", "flop-gtdt", "--with", "./nowhere"},
	} {
		r := run(append([]string{"rules", "explain"}, args...)...)
		if r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%v: exit %d, %s, want %q", args, r.code, r.err, want)
		}
	}
}

// Without --dir a case is one of those that a rule set has to pass to go live, as for golden run.
func TestExplainingAndComparingTakeTheCorpusOfTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	if r := run("golden", "new", "FLOP-GTDT", "gate-of-ours", "--dir", dir); r.code != 0 {
		t.Fatalf("new: exit %d, %q", r.code, r.err)
	}
	if r := run("rules", "explain", "--case", "gate-of-ours", "--set", "rules.golden="+dir); r.code != 0 || !strings.Contains(r.out, "FLOP-GTDT  SUCCEEDED") {
		t.Errorf("explain: exit %d, %q, %q, expected our case", r.code, r.out, r.err)
	}
	if r := run("rules", "diff", shipped, shipped, "--over", "corpus", "--set", "rules.golden="+dir); r.code != 0 || !strings.Contains(r.out, "of 1 messages") {
		t.Errorf("diff: exit %d, %q, %q, expected the one message of our case", r.code, r.out, r.err)
	}
}
