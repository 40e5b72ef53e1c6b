package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"msgx/engine/rulebook/lint"
)

func TestRulesLint(t *testing.T) {
	if r := run("rules", "lint"); r.code != 0 || !strings.Contains(r.out, "no findings") {
		t.Errorf("the rule set in the binary: %+v", r)
	}
	dir := candidate(t, "rules/flop-gtdt@1.lua", "merge.replace", "merge.value")
	file := filepath.Join(dir, "rules", "flop-gtdt@1.lua")
	for _, args := range [][]string{{dir}, {file}, {filepath.Join(dir, "rules")}, {"--set", "rules.dir=" + dir}} {
		r := run(append([]string{"rules", "lint"}, args...)...)
		if r.code != exitFailed || r.err != "" || !strings.Contains(r.out, "error[MX305]: GTDT is a list") ||
			!strings.Contains(r.out, "--> rules/flop-gtdt@1.lua:") || !strings.Contains(r.out, "^^^^^") || !strings.Contains(r.out, "1 finding") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := run("rules", "lint", filepath.Join(dir, "rules", "flop-ckdt@1.lua")); r.code != 0 || r.out != "1 file, no findings\n" {
		t.Errorf("another file of the set: %+v", r)
	}
	r := run("rules", "lint", dir, "--format", "json")
	var report lint.Report
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != exitFailed || len(report.Findings) != 1 {
		t.Fatalf("json: %v, %+v", err, r)
	}
	f := report.Findings[0]
	if f.Code != "MX305" || f.File != "rules/flop-gtdt@1.lua" || f.Line < 2 || f.Column < 2 || f.Width != len("merge") || f.Page != "rules/DIAGNOSTICS.md#mx305" {
		t.Errorf("json: got %+v", f)
	}
}

func TestRulesLintExplains(t *testing.T) {
	if r := run("rules", "lint", "--explain", "mx305"); r.code != 0 || !strings.HasPrefix(r.out, "### MX305\n") {
		t.Errorf("a page: %+v", r)
	}
	if r := run("rules", "lint", "--explain", "MX999"); r.code != exitUsage || !strings.Contains(r.err, `there is no code "MX999"`) {
		t.Errorf("no page: %+v", r)
	}
}

func TestRulesLintUsage(t *testing.T) {
	one, two := candidate(t, "handlers.lua", "return {", "return {"), candidate(t, "handlers.lua", "return {", "return {")
	for _, args := range [][]string{
		{"--format", "yaml"}, {filepath.Join(one, "none.lua")}, {t.TempDir()}, {one, two}, {"--explain", "MX305", one}, {"--nope"},
	} {
		if r := run(append([]string{"rules", "lint"}, args...)...); r.code != exitUsage || r.err == "" || r.out != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
