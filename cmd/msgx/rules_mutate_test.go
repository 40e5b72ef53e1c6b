package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"msgx/engine/rulebook/coverage"
	"msgx/engine/rulebook/mutate"
)

func TestGoldenCoverageShowsWhatIsMissing(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"all", []string{"--threshold", "100"}, 0, []string{"LINES", "rules/lib/merge.lua\n", "  all, by "}},
		{"one script, one case", []string{"fdel", "-r", "^flop-stnd$"}, 0, []string{"rules/fdel@1.lua:", "never ran: ", "  0.0%", "by 1 case\n"}},
		{"below the threshold", []string{"fdel", "-r", "^flop-stnd$", "--threshold", "1"}, exitFailed, []string{"  0.0%"}},
		{"as a page", []string{"fdel", "--format", "html"}, 0, []string{"<!doctype html>", `class="line covered"`}},
		{"no such script", []string{"fdell"}, exitUsage, []string{`"fdell": no file of the rule set, did you mean fdel?`}},
		{"no such format", []string{"--format", "xml"}, exitUsage, []string{`--format is "xml", expected text, json or html`}},
		{"no such threshold", []string{"--threshold", "101"}, exitUsage, []string{"--threshold is 101, expected 0 to 100"}},
		{"no case", []string{"-r", "no-such-case"}, exitFailed, []string{`matches "no-such-case"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(append([]string{"golden", "coverage"}, tt.args...)...)
			if r.code != tt.code {
				t.Errorf("exit %d, expected %d: %s", r.code, tt.code, r.err)
			}
			for _, part := range tt.want {
				if !strings.Contains(r.out+r.err, part) {
					t.Errorf("expected %q in\n%s%s", part, r.out, r.err)
				}
			}
		})
	}
}

func TestGoldenCoverageAsJSON(t *testing.T) {
	r := run("golden", "coverage", "merge", "--format", "json")
	var report coverage.Report
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != 0 {
		t.Fatalf("exit %d, %v: %s", r.code, err, r.err)
	}
	if len(report.Files) != 1 || report.Files[0].Name != "rules/lib/merge.lua" || report.Lines.Covered < 50 || len(report.Files[0].Points) < 20 || len(report.Ruleset) != 64 {
		t.Errorf("%d files, lines %s, rule set %q", len(report.Files), report.Lines, report.Ruleset)
	}
}

func TestRulesMutateTellsByItsExitCode(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "cases"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cases", "remark.txtar"), []byte("A remark is set.\n-- 01-remark.xml --\n"+remark+
		"\n-- expect --\n01-remark.xml: SUCCEEDED\n  msg  1 v1 create\n    STATE: \"ACTIVE\"\n    OPERATION_DAY: \"2026-03-01\"\n    FLNO: \"CA1\"\n"+
		"    SODT: \"2026-03-01T09:30:00+08:00\"\n    REMC: \"天气原因\"\n  schd 1 v1\n\nafterwards:\n- flight: 1\n  FLNO: CA1\n  SODT: 2026-03-01 09:30\n  REMC: 天气原因\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stale := write(t, "equivalent.yaml", []byte("- {file: rules/schd-adft@1.lua, line: x, change: y, why: z}\n"))
	tests := []struct {
		name  string
		args  []string
		stale bool
		code  int
		want  []string
	}{
		{"all noticed", []string{"schd-adft", "--threshold", "100"}, false, 0, []string{"MADE", "score 100.0%"}},
		{"some survive", []string{"schd-adft", "--dir", dir}, false, 0, []string{
			"survived: `merge.set_only(merge.value)` -> `merge.value`\n-   value = merge.set_only(merge.value),\n+   value = merge.value,\n  the one case that runs it does not notice: remark\n",
		}},
		{"too many survive", []string{"schd-adft", "--dir", dir, "--threshold", "95"}, false, exitFailed, []string{"survived"}},
		{"a stale list", []string{"schd-adft", "--dir", dir}, true, exitFailed, []string{"no such mutant any more"}},
		{"no such script", []string{"schd-adf"}, false, exitUsage, []string{"did you mean schd-adft?"}},
		{"no such format", []string{"--format", "html"}, false, exitUsage, []string{`--format is "html", expected text or json`}},
		{"nobody works", []string{"--parallel", "0"}, false, exitUsage, []string{"--parallel is 0, expected at least 1"}},
		{"no such threshold", []string{"--threshold", "-1"}, false, exitUsage, []string{"--threshold is -1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := filepath.Join(dir, "equivalent.yaml")
			if tt.stale {
				data, err := os.ReadFile(stale)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(list, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := run(append([]string{"rules", "mutate"}, tt.args...)...)
			if r.code != tt.code {
				t.Errorf("exit %d, expected %d: %s%s", r.code, tt.code, r.out, r.err)
			}
			for _, part := range tt.want {
				if !strings.Contains(r.out+r.err, part) {
					t.Errorf("expected %q in\n%s%s", part, r.out, r.err)
				}
			}
		})
	}
}

func TestRulesMutateAsJSON(t *testing.T) {
	r := run("rules", "mutate", "flop-stnd", "--format", "json")
	var report mutate.Report
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != 0 || r.err != "" {
		t.Fatalf("exit %d, %v: %s", r.code, err, r.err)
	}
	if report.Score != 100 || report.All.Made != len(report.Mutants) || report.All.Made < 3 || report.Mutants[0].By == "" {
		t.Errorf("score %g, %+v, first mutant %+v", report.Score, report.All, report.Mutants[0])
	}
}
