package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"msgx/golden"
)

// The same run under both names, in every form; the command that is printed runs the case alone.
func TestGoldenRunAndRulesTest(t *testing.T) {
	rules := candidate(t, "rules/flop-stnd@1.lua", "merge.value", "merge.set_only(merge.value)")
	for _, name := range []string{"golden run", "rules test"} {
		args := append(strings.Fields(name), "--set", "rules.dir="+rules)
		r := run(append(args, "-r", "^flop-st", "-v")...)
		again := "again: msgx " + name + " --set rules.dir=" + rules + " flop-stnd"
		if r.code != exitFailed || !strings.Contains(r.out, "FAIL  flop-stnd\n") || !strings.Contains(r.out, again+"\n") || !strings.Contains(r.out, "set_only(merge.value)") {
			t.Errorf("%s: exit %d, expected a failure with the Lua and %q:\n%s%s", name, r.code, again, r.out, r.err)
		}
		if alone := run(append(strings.Fields(again)[2:], "--format", "json")...); alone.code != exitFailed {
			t.Errorf("%s: exit %d, %s", again, alone.code, alone.err)
		} else {
			var report golden.Report
			if err := json.Unmarshal([]byte(alone.out), &report); err != nil || len(report.Cases) != 1 || report.Failed != 1 || report.Cases[0].Ran == nil {
				t.Errorf("%s: %v\n%s", again, err, alone.out)
			}
		}
		var suites struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
		}
		if r := run(append(args, "flop-stnd", "fdel", "--format", "junit")...); xml.Unmarshal([]byte(r.out), &suites) != nil || suites.Tests != 2 || suites.Failures != 1 || r.code != exitFailed {
			t.Errorf("%s --format junit: exit %d, %+v\n%s", name, r.code, suites, r.out)
		}
	}
}

// Cases run under the budgets of the configuration, as the daemon does.
func TestGoldenRunHasTheBudgetsOfProduction(t *testing.T) {
	busy := "rules.dir=" + candidate(t, "rules/flop-stnd@1.lua", "    return", "    for i = 1, 10000 do local _ = i end\n    return")
	if r := run("rules", "test", "flop-stnd", "--set", busy); r.code != 0 {
		t.Errorf("exit %d, expected a rule within its budget:\n%s%s", r.code, r.out, r.err)
	}
	r := run("rules", "test", "flop-stnd", "--set", busy, "--set", "rules.instructions=10000")
	if r.code != exitFailed || !strings.Contains(r.out, "FAILED(RULE_ERROR)") || !strings.Contains(r.out, "instruction budget used up") {
		t.Errorf("exit %d, expected a rule that is out of its budget:\n%s%s", r.code, r.out, r.err)
	}
}

func TestGoldenNewThenUpdate(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cases", "gate.txtar")
	if r := run("golden", "new", "flop-gtdt", "gate", "--dir", dir); r.code != 0 || !strings.Contains(r.out, "msgx golden update gate --dir "+dir) {
		t.Fatalf("exit %d, %q, %q", r.code, r.out, r.err)
	}
	begun, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if r := run("golden", "new", "FLOP-GTDT", "gate", "--dir", dir); r.code != exitUsage || !strings.Contains(r.err, "is there already") {
		t.Errorf("a second time: exit %d, %q", r.code, r.err)
	}
	r := run("golden", "update", "gate", "--dir", dir)
	if r.code != exitUsage || !strings.Contains(r.out, "+   msg  1000345 v5 update") || !strings.Contains(r.err, "give --yes to write "+file) {
		t.Errorf("without a terminal: exit %d, %q, %q", r.code, r.out, r.err)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(begun) {
		t.Errorf("the case has been written without a yes: %v\n%s", err, now)
	}
	if r := run("golden", "update", "gate", "--dir", dir, "--yes"); r.code != 0 || !strings.Contains(r.out, "wrote "+file) {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.err)
	}
	if r := run("golden", "update", "gate", "--dir", dir); r.code != 0 || r.out != file+" passes as it is\n" {
		t.Errorf("again: exit %d, %q, %q", r.code, r.out, r.err)
	}
	if r := run("golden", "run", "--dir", dir); r.code != 0 || r.out != "1 passed, 0 failed, 0 errors\n" {
		t.Errorf("the case: exit %d, %q, %q", r.code, r.out, r.err)
	}
}

// Without --dir the cases are those that a rule set has to pass to go live, or a
// candidate would pass here that a daemon refuses.
func TestGoldenRunTakesTheCorpusOfTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	if r := run("golden", "new", "FLOP-GTDT", "--dir", dir); r.code != 0 {
		t.Fatalf("new: exit %d, %q", r.code, r.err)
	}
	given := run("golden", "run", "--dir", dir)
	configured := run("golden", "run", "--set", "rules.golden="+dir)
	if !strings.Contains(given.out, " 1 errors") && !strings.Contains(given.out, "1 failed") && !strings.Contains(given.out, "1 passed") {
		t.Fatalf("--dir ran %q, expected the one case", given.out)
	}
	last := func(out string) string {
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return lines[len(lines)-1]
	}
	if configured.code != given.code || last(configured.out) != last(given.out) {
		t.Errorf("rules.golden: exit %d, %q; --dir: exit %d, %q", configured.code, last(configured.out), given.code, last(given.out))
	}
	if r := run("golden", "run", "--set", "rules.golden="+dir+"/none"); r.code != exitUsage || !strings.Contains(r.err, "msgx.rules.golden") {
		t.Errorf("a directory that is not there: exit %d, %q, expected %d and the name of the parameter", r.code, r.err, exitUsage)
	}
}

// Whatever finds that a case fails names the command that shows it, of the same rule set and corpus.
func TestTheCommandOfAFailingCase(t *testing.T) {
	rules := candidate(t, "rules/flop-remc@1.lua", "merge.value", "merge.set_only(merge.value)")
	for _, line := range []string{"golden coverage flop-remc -r flop-remc", "rules mutate flop-remc -r flop-remc"} {
		r := run(append(strings.Fields(line), "--set", "rules.dir="+rules)...)
		want := "msgx golden run --set rules.dir=" + rules + " flop-remc\n"
		if r.code != exitFailed || !strings.Contains(r.out+r.err, want) {
			t.Errorf("%s: exit %d, expected %d and %q\n%s%s", line, r.code, exitFailed, want, r.out, r.err)
		}
	}
}

func TestAgreed(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yep\n": false} {
		var out strings.Builder
		if got := agreed(t.Context(), strings.NewReader(answer), &out, "write it? "); got != want || out.String() != "write it? " {
			t.Errorf("agreed(%q) is %t, expected %t; it asked %q", answer, got, want, out.String())
		}
	}
}

func TestGoldenRefuses(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"an unknown form", []string{"golden", "run", "--format", "html"}, exitUsage, `--format "html": expected text, json or junit`},
		{"a name that is nearly right", []string{"rules", "test", "flop-stdn"}, exitFailed, "did you mean flop-stnd?"},
		{"an update of the cases in the binary", []string{"golden", "update", "flop-stnd", "--yes"}, exitUsage, "--dir is not given"},
		{"an update of all", []string{"golden", "update", "--dir", dir, "--yes"}, exitUsage, "accepts 1 arg"},
		{"an update of no case", []string{"golden", "update", "x", "--dir", dir, "--yes"}, exitFailed, "found no cases in "},
		{"a case of no kind", []string{"golden", "new", "FLOP-GTTD", "--dir", dir}, exitUsage, "did you mean FLOP-GTDT?"},
		{"a case with a bad name", []string{"golden", "new", "FLOP-GTDT", "../x", "--dir", dir}, exitUsage, `name "../x"`},
		{"a case without a place", []string{"golden", "new", "FLOP-GTDT"}, exitUsage, "--dir is not given"},
	}
	for _, tt := range tests {
		if r := run(tt.args...); r.code != tt.code || r.out != "" || !strings.Contains(r.err, tt.want) {
			t.Errorf("%s: exit %d, want %d; %q, %q, want %q", tt.name, r.code, tt.code, r.out, r.err, tt.want)
		}
	}
}

// What looks at cases takes those of the configuration, which activation runs, before those in the binary; --dir goes before both.
func TestCasesOfTheConfiguration(t *testing.T) {
	dir, given := oneCase(t), t.TempDir()
	text, err := os.ReadFile(filepath.Join(dir, "cases", "flop-remc.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for golden, name := range map[string]string{dir: "of-the-site", given: "given"} {
		file := filepath.Join(golden, "cases", name+".txtar")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	changed := candidate(t, "rules/flop-remc@1.lua", "merge.value", "merge.set_only(merge.value)")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"rules", "explain", "--case", "of-the-site"}, 0, "FLOP-REMC"},
		{[]string{"rules", "explain", "--case", "given", "--dir", given}, 0, "FLOP-REMC"},
		{[]string{"rules", "explain", "--case", "of-the-site", "--dir", given}, exitUsage, "none of 1 cases"},
		{[]string{"rules", "diff", shipped, changed, "--over", "corpus", "-r", "of-the-site"}, exitFailed, "of-the-site"},
		{[]string{"rules", "diff", shipped, changed, "--over", "corpus", "--dir", given}, exitFailed, "of given"},
		{[]string{"rules", "bench", "--time", "1ms", "--kind", "FLOP-REMC"}, 0, "FLOP-REMC"},
		{[]string{"rules", "bench", "--time", "1ms", "--kind", "FDEL"}, exitUsage, "matches no kind"},
	} {
		r := run(append(test.args, "--set", "rules.golden="+dir)...)
		if r.code != test.code || !strings.Contains(r.out+r.err, test.want) {
			t.Errorf("%v: exit %d, expected %d and %q\n%s%s", test.args, r.code, test.code, test.want, r.out, r.err)
		}
	}
}
