package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"msgx"
	"msgx/tools/stack/stacktest"
)

// result is what a command line came to.
type result struct {
	code     int
	out, err string
}

func msgxWith(stdin string, args ...string) result {
	var out, errs bytes.Buffer
	code := execute(context.Background(), args, strings.NewReader(stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

func run(args ...string) result { return msgxWith("", args...) }

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const remark = `<MSG><META><SNDR>AODB</SNDR><SEQN>7</SEQN><TYPE>SCHD</TYPE><STYP>ADFT</STYP></META>` +
	`<SCHD><RECS>1</RECS><FLTR><FLID>1</FLID><FLNO>CA1</FLNO><SODT>01MAR260930</SODT><REMC>天气原因</REMC></FLTR></SCHD></MSG>`

func TestEveryCommandExplainsItself(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		r := run(args...)
		if r.code != 0 || r.err != "" || !strings.Contains(r.out, "Usage:") || len(c.Short) < 10 {
			t.Errorf("msgx %s: exit %d, %q, %q", strings.Join(args, " "), r.code, r.out, r.err)
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" {
				walk(sub)
			}
		}
	}
	walk(rootCommand())
}

func TestErrorsAreOneClearAnswer(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.xml")
	message := write(t, "m.xml", []byte(remark))
	nowhere := "postgres.url=postgres://msgx:hunter2@127.0.0.1:1/none?connect_timeout=2"
	tests := []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"unknown command", []string{"tryy"}, exitUsage, []string{`unknown command "tryy"`, "did you mean try?"}},
		{"unknown command below another", []string{"flight", "shwo"}, exitUsage, []string{`unknown command "shwo" for "msgx flight"`}},
		{"unknown flag", []string{"try", "--jsn", message}, exitUsage, []string{"--jsn", "msgx try --help"}},
		{"no argument", []string{"try"}, exitUsage, []string{"at least 1 arg", "usage: msgx try FILE..."}},
		{"no such file", []string{"try", missing}, exitUsage, []string{missing, "no such file"}},
		{"a directory", []string{"try", t.TempDir()}, exitUsage, []string{"is a directory"}},
		{"no such state", []string{"try", "--state", missing, message}, exitUsage, []string{"--state", "no such file"}},
		{"a state with faults", []string{"try", "--state", write(t, "s.yaml", []byte("- flight: x\n")), message}, exitUsage, []string{"--state", "line 1", `"x"`}},
		{"unknown parameter", []string{"try", "--set", "pipeline.r-kep=1d", message}, exitUsage, []string{"unknown key msgx.pipeline.r-kep", "did you mean msgx.pipeline.r-keep?"}},
		{"no such configuration", []string{"serve", "--config", missing}, exitUsage, []string{missing}},
		{"serving without addresses", []string{"serve"}, exitUsage, []string{"msgx.postgres.url is not set", "msgx.pipeline.max-commit-delay is not set"}},
		{"no such rule set", []string{"rules", "list", "--set", "rules.dir=" + t.TempDir()}, exitFailed, []string{"handlers.lua"}},
		{"no case", []string{"golden", "run", "--run", "no-such-case"}, exitFailed, []string{"no-such-case"}},
		{"not a pattern", []string{"golden", "run", "--run", "("}, exitUsage, []string{"--run", "missing closing"}},
		{"no such corpus", []string{"golden", "run", "--dir", missing}, exitUsage, []string{"--dir", missing}},
		{"not a flight", []string{"flight", "show", "12a"}, exitUsage, []string{`FLID "12a"`}},
		{"not a message", []string{"message", "show", "0"}, exitUsage, []string{`message id "0"`}},
		{"database away", []string{"flight", "show", "1", "--set", nowhere}, exitFailed, []string{"127.0.0.1:1", "refused"}},
		{"database away for migrating", []string{"migrate", "--set", nowhere}, exitFailed, []string{"127.0.0.1:1", "refused"}},
		{"demo without servers", []string{"demo", "--postgres", "", "--mariadb", ""}, exitUsage, []string{"make demo"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(tt.args...)
			if r.code != tt.code || r.out != "" || strings.Contains(r.err, "goroutine") || strings.Contains(r.err, "Flags:") {
				t.Errorf("exit %d, want %d; stdout %q, stderr %q", r.code, tt.code, r.out, r.err)
			}
			if strings.Contains(r.err, "\n\t") {
				t.Errorf("a fault is more than one line: %q", r.err)
			}
			if strings.Contains(r.err, "hunter2") {
				t.Errorf("a password is shown: %s", r.err)
			}
			for _, want := range tt.want {
				if !strings.Contains(r.err, want) {
					t.Errorf("stderr %q\nwant it to contain %q", r.err, want)
				}
			}
		})
	}
}

// A file is bytes: its byte order mark or declaration says what they mean.
func TestTryReadsEveryEncoding(t *testing.T) {
	gbk, err := simplifiedchinese.GBK.NewEncoder().String(`<?xml version="1.0" encoding="GBK"?>` + remark)
	if err != nil {
		t.Fatal(err)
	}
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(`<?xml version="1.0" encoding="UTF-16"?>` + remark)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"plain": remark, "mark": "\ufeff" + remark, "gbk": gbk, "utf16": utf16} {
		r := run("try", "--json", write(t, name+".xml", []byte(body)))
		var got struct {
			Ruleset  string `json:"ruleset"`
			Messages []struct {
				State   string `json:"state"`
				Kind    string `json:"kind"`
				Changes []struct {
					FLID string `json:"flid"`
				} `json:"changes"`
			} `json:"messages"`
			Flights []struct {
				FLID string `json:"flid"`
				REMC string `json:"REMC"`
			} `json:"flights"`
		}
		if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 {
			t.Errorf("%s: exit %d, %v, %s%s", name, r.code, err, r.out, r.err)
			continue
		}
		if len(got.Messages) != 1 || got.Messages[0].State != "SUCCEEDED" || got.Messages[0].Kind != "SCHD-ADFT" || len(got.Ruleset) != 64 ||
			len(got.Flights) != 1 || got.Flights[0].FLID != "1" || got.Flights[0].REMC != "天气原因" {
			t.Errorf("%s: got %s", name, r.out)
		}
	}
}

func TestTryTellsWhatBecomesOfEachMessage(t *testing.T) {
	state := write(t, "state.yaml", []byte("- flight: 1\n  version: 4\n  FLNO: CA1\n  STND: \"7\"\n"))
	envelope, _, _ := strings.Cut(remark, "<SCHD>")
	gate := strings.NewReplacer("SCHD", "FLOP", "ADFT", "STND").Replace(envelope) + "<FLOP><FLID>1</FLID><STND>12</STND><COLOUR/></FLOP></MSG>"
	r := msgxWith(gate, "try", "--state", state, "-", write(t, "empty.xml", nil))
	for _, want := range []string{
		"1  -  FLOP-STND  SUCCEEDED", "1  update to version 5", `STND          "7" -> "12"`, "unknown: /MSG/FLOP/COLOUR (1)",
		"DEAD(MALFORMED)", "version: 5", "STND: 12",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("want %q in:\n%s%s", want, r.out, r.err)
		}
	}
	if r.code != 0 {
		t.Errorf("exit %d without --strict, want 0", r.code)
	}
	if strict := msgxWith(gate, "try", "--strict", "-", write(t, "empty.xml", nil)); strict.code != exitFailed {
		t.Errorf("exit %d with --strict, want %d", strict.code, exitFailed)
	}
}

func TestRulesListNamesEveryKind(t *testing.T) {
	r := run("rules", "list")
	for _, want := range []string{"KIND", "FLOP-GTDT", "flop-gtdt", "GTDT", "SCHD-DNLD", "REF-SLST", "rule set "} {
		if !strings.Contains(r.out, want) {
			t.Errorf("want %q in:\n%s%s", want, r.out, r.err)
		}
	}
	var listed struct {
		Ruleset string         `json:"ruleset"`
		Scripts []listedScript `json:"scripts"`
	}
	if err := json.Unmarshal([]byte(run("rules", "list", "--json").out), &listed); err != nil || len(listed.Scripts) < 70 || !strings.Contains(r.out, listed.Ruleset) {
		t.Errorf("%v, %d scripts, rule set %s", err, len(listed.Scripts), listed.Ruleset)
	}
}

// A run of the corpus says once what it came to.
func TestGoldenRunSumsUpOnce(t *testing.T) {
	r := run("golden", "run", "--run", "^flop-stnd$")
	if r.code != 0 || r.out != "1 passed, 0 failed, 0 errors\n" || r.err != "" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.err)
	}
}

// Preparing a place from nothing: every line that is not ok says what to do,
// and doing it makes the line ok.
func TestPreparingAPlace(t *testing.T) {
	broker := stacktest.Kafka(t)[0]
	set := []string{}
	for _, s := range []string{
		"postgres.url=" + stacktest.Postgres(t), "mailbox.dsn=" + stacktest.MariaDB(t), "kafka.brokers=" + broker,
		"kafka.msg-topic=" + stacktest.Topic(t, 1), "kafka.schd-topic=msgx-no-such-topic", "pipeline.max-commit-delay=5s",
	} {
		set = append(set, "--set", s)
	}
	with := func(args ...string) result { return run(append(args, set...)...) }
	r := with("check")
	for _, want := range []string{"ok    configuration", "ok    rules", "FAIL  postgres", "msgx migrate", "FAIL  mailbox", "CMINMSGS", "FAIL  kafka", "msgx-no-such-topic"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("want %q in:\n%s%s", want, r.out, r.err)
		}
	}
	if r.code != exitFailed {
		t.Errorf("exit %d, want %d", r.code, exitFailed)
	}
	if r := with("migrate"); r.code != 0 || !strings.Contains(r.out, "migrated from version 0 to ") {
		t.Errorf("migrate: exit %d, %s%s", r.code, r.out, r.err)
	}
	if r := with("migrate"); r.code != 0 || !strings.Contains(r.out, "already") {
		t.Errorf("migrate again: exit %d, %s%s", r.code, r.out, r.err)
	}
	set = append(set, "--set", "mailbox.dsn="+stacktest.Mailbox(t), "--set", "kafka.schd-topic="+stacktest.Topic(t, 1))
	r = with("check")
	for _, want := range []string{"ok    postgres", "FAIL  watermark", "cutover-watermark is not set", "ok    mailbox", "cleanup.policy"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("want %q in:\n%s%s", want, r.out, r.err)
		}
	}
	if r := with("flight", "show", "4711"); r.code != exitFailed || !strings.Contains(r.err, "flight 4711: not known") {
		t.Errorf("an unknown flight: exit %d, %s%s", r.code, r.out, r.err)
	}
	if r := with("message", "show", "4711"); r.code != exitFailed || !strings.Contains(r.err, "message 4711: not enqueued") {
		t.Errorf("an unknown message: exit %d, %s%s", r.code, r.out, r.err)
	}
	if r := with("message", "show", "4711", "--raw"); r.code != exitFailed || !strings.Contains(r.err, "no copy") {
		t.Errorf("an unknown body: exit %d, %s%s", r.code, r.out, r.err)
	}
}

// candidate copies the shipped rule set with the text of one file replaced.
func candidate(t *testing.T, path, old, replacement string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, msgx.Files); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, path)
	data, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(data), old) {
		t.Fatalf("%s does not contain %q (%v)", path, old, err)
	}
	if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(data), old, replacement)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRulesDiffTellsByItsExitCode(t *testing.T) {
	if r := run("rules", "diff", shipped, shipped, "--over", "corpus", "-r", "flop-dely"); r.code != 0 || !strings.Contains(r.out, "0 of ") {
		t.Errorf("the same: exit %d, %s%s", r.code, r.out, r.err)
	}
	dir := candidate(t, "rules/flop-dely@1.lua", `merge.by_key("CODE")`, "merge.replace")
	r := run("rules", "diff", shipped, dir, "--operations", "200", "-r", "flop-dely")
	for _, want := range []string{"FLOP-DELY  flop-dely@1  DELY: ", "old  [", "new  [", "are decided differently"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("want %q in:\n%s%s", want, r.out, r.err)
		}
	}
	if r.code != exitFailed {
		t.Errorf("exit %d, want %d", r.code, exitFailed)
	}
	var report struct {
		Groups []struct {
			Kind, Where string
			Count       int
		}
	}
	if err := json.Unmarshal([]byte(run("rules", "diff", shipped, dir, "--json", "--over", "corpus").out), &report); err != nil || len(report.Groups) == 0 || report.Groups[0].Kind != "FLOP-DELY" {
		t.Errorf("%v, %+v", err, report)
	}
	for _, args := range [][]string{{shipped}, {shipped, filepath.Join(dir, "none")}, {shipped, dir, "--over", "moon"}, {shipped, dir, "--over", "files"}} {
		if r := run(append([]string{"rules", "diff"}, args...)...); r.code == 0 || r.err == "" {
			t.Errorf("%v: exit %d, %q", args, r.code, r.err)
		}
	}
}

func TestRulesBenchPrintsGoBenchmarks(t *testing.T) {
	line := regexp.MustCompile(`(?m)^BenchmarkDecide/(FLOP-STND|FDEL)-\d+\t +[1-9]\d*\t +\d+ ns/op\t +\d+ B/op\t +\d+ allocs/op\t +([1-9]\d*) instr/op$`)
	counts := map[string]string{}
	for range 2 { // instructions are the same each time, times need not be
		r := run("rules", "bench", "--kind", "^(FLOP-STND|FDEL)$", "--time", "1ms")
		found := line.FindAllStringSubmatch(r.out, -1)
		if r.code != 0 || len(found) != 2 {
			t.Fatalf("exit %d, %s%s", r.code, r.out, r.err)
		}
		for _, f := range found {
			if before := counts[f[1]]; before != "" && before != f[2] {
				t.Errorf("%s: %s instructions, then %s", f[1], before, f[2])
			}
			counts[f[1]] = f[2]
		}
	}
	// A case may expect that a rule fails; the others are measured all the same.
	failing := candidate(t, "rules/flop-stnd@1.lua", "    return", "    if msg.records[1].flid ~= nil then error(\"never\") end\n    return")
	r := run("rules", "bench", "--time", "1ms", "--kind", "FLOP-(STND|GTDT)", "--set", "rules.dir="+failing)
	if r.code != 0 || !strings.Contains(r.out, "FLOP-GTDT") || strings.Contains(r.out, "FLOP-STND") || !strings.Contains(r.err, "left out: case flop-stnd: ") {
		t.Errorf("a rule that fails: exit %d, %s%s", r.code, r.out, r.err)
	}
	for _, args := range [][]string{{"--kind", "NOPE"}, {"--kind", "("}, {"--time", "0s"}} {
		if r := run(append([]string{"rules", "bench"}, args...)...); r.code != exitUsage {
			t.Errorf("%v: exit %d, %q, want %d", args, r.code, r.err, exitUsage)
		}
	}
}

// Exit code 1 says that something differs, so what cannot be compared at all must not say so.
func TestRulesDiffRefuses(t *testing.T) {
	broken := candidate(t, "rules/flop-stnd@1.lua", "return {", "return {{")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{shipped, "./nowhere"}, "rule set ./nowhere"},
		{[]string{broken, shipped}, "[MX001]"},
		{[]string{shipped, shipped, "--dir", "./nowhere"}, "--dir: open ./nowhere"},
		{[]string{shipped, shipped, "-r", "("}, "missing closing"},
		{[]string{shipped, shipped, "-r", "nosuchcase"}, "matches"},
		{[]string{shipped, shipped, "--over", "day", "-r", "flop"}, "expected corpus in --over"},
		{[]string{shipped, shipped, "--recorded", "1..9", "--dir", "golden"}, "expected corpus in --over"},
		{[]string{shipped, shipped, "--recorded", "9..1"}, "expected FROM..TO"},
		{[]string{shipped, shipped, "--over", "weeks"}, "expected corpus, day or files"},
		{[]string{shipped, shipped, "--over", "files"}, "nothing was compared"},
		{[]string{shipped, shipped, "--over", "day", "--operations", "0"}, "expected 1 to 100000"},
		{[]string{shipped, shipped, "--over", "day", "--operations", "-5"}, "expected 1 to 100000"},
		{[]string{shipped, shipped, "--over", "files", "./none.xml"}, "no such file"},
	} {
		if r := run(append([]string{"rules", "diff"}, test.args...)...); r.code != exitUsage || !strings.Contains(r.err, test.want) {
			t.Errorf("%v: exit %d, expected %d and %q\n%s%s", test.args, r.code, exitUsage, test.want, r.out, r.err)
		}
	}
}

func TestRulesNewBeginsAVersion(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, msgx.Files); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := read("handlers.lua")
	if r := run("rules", "new", "FLOP-GTDT", "--dir", dir, "--use", "--dry-run"); r.code != 0 || !strings.Contains(r.out, "would copy") || read("handlers.lua") != before {
		t.Errorf("dry run: exit %d, %s%s", r.code, r.out, r.err)
	}
	if r := run("rules", "new", "FLOP-GTDT", "--dir", dir); r.code != 0 || !strings.Contains(r.out, "flop-gtdt@2.lua") || read("handlers.lua") != before {
		t.Errorf("unused: exit %d, %s%s", r.code, r.out, r.err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "golden", "cases"), 0o700); err != nil {
		t.Fatal(err)
	}
	cases := " --dir " + filepath.Join(dir, "golden") + "\n" // the cases beside the rules are proposed, not those of the binary
	if r := run("rules", "new", "FLOP-GTDT", "--dir", dir, "--dry-run"); strings.Count(r.out, cases) != 2 {
		t.Errorf("next: expected test and diff with %q: %s", cases, r.out)
	}
	if read("rules/flop-gtdt@2.lua") != read("rules/flop-gtdt@1.lua") {
		t.Error("the copy differs from what it was copied from")
	}
	if r := run("rules", "new", "FLOP-GTDT", "--dir", dir, "--from", "2", "--use"); r.code != 0 || !strings.Contains(read("handlers.lua"), `"flop-gtdt@3"`) {
		t.Errorf("used: exit %d, %s%s\n%s", r.code, r.out, r.err, read("handlers.lua"))
	}
	if r := run("rules", "list", "--set", "rules.dir="+dir); !regexp.MustCompile(`FLOP-GTDT +flop-gtdt +3 `).MatchString(r.out) {
		t.Errorf("the rule set with the new version: %s%s", r.out, r.err)
	}
	// A kind of the family that is on another version stays there.
	if r := run("rules", "new", "SCHD-DNLD", "--dir", dir); r.code != 0 {
		t.Fatalf("exit %d, %s%s", r.code, r.out, r.err)
	}
	changed := strings.Replace(read("handlers.lua"), `["SCHD-DNLD"] = "schd@1"`, `["SCHD-DNLD"] = "schd@2"`, 1)
	if err := os.WriteFile(filepath.Join(dir, "handlers.lua"), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run("rules", "new", "SCHD-DNLD", "--dir", dir, "--use")
	if now := read("handlers.lua"); r.code != 0 || !strings.Contains(now, `["SCHD-DNLD"] = "schd@3"`) || !strings.Contains(now, `["SCHD-RESP"] = "schd@1"`) {
		t.Errorf("a family on two versions: exit %d, %s%s\n%s", r.code, r.out, r.err, now)
	}
	// Both files or none: the manifest is gone, and cannot be written.
	if err := os.Rename(filepath.Join(dir, "handlers.lua"), filepath.Join(dir, "kept")); err != nil {
		t.Fatal(err)
	}
	v := newVersion{dir: dir, name: "flop-gtdt", to: 9, source: []byte("--")}
	if err := v.write(nil, []byte("return {}")); err == nil {
		t.Error("a manifest that is not there was written")
	}
	if _, err := os.Stat(filepath.Join(dir, "rules", "flop-gtdt@9.lua")); !os.IsNotExist(err) {
		t.Errorf("found %v, expected no version that nothing uses", err)
	}
	if err := os.Rename(filepath.Join(dir, "kept"), filepath.Join(dir, "handlers.lua")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"FLOP-NOPE", "--dir", dir}, {"FLOP-GTDT"}, {"FLOP-GTDT", "--dir", dir, "--from", "9"}} {
		if r := run(append([]string{"rules", "new"}, args...)...); r.code != exitUsage || r.err == "" {
			t.Errorf("%v: exit %d, %q, want %d", args, r.code, r.err, exitUsage)
		}
	}
}
