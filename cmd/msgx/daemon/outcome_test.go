package daemon_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"msgx"
)

// rulesWith copies the shipped rule set with one file changed.
func rulesWith(t *testing.T, path, source string) string {
	t.Helper()
	dir := t.TempDir()
	err := fs.WalkDir(msgx.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(msgx.Files, name)
		if err != nil {
			return err
		}
		if name == path {
			data = []byte(source)
		}
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Each class of error ends in its state, with its text, and the next message flows.
func TestEveryOutcomeAndTheNextFlows(t *testing.T) {
	broken := rulesWith(t, "rules/flop-runw@1.lua", `return { kind = "FLOP-RUNW", writes = { "RUNW" }, decide = function(view, msg) error("no runway today") end }`)
	p := newPlace(t, "rules.dir="+broken)
	p.put(schedule(1, 3))
	p.put(envelope("FDEL", "FDEL", "<FLOP><FLID>3</FLID><FDEL/></FLOP>"))
	flight := func(element string) string { return "<FLOP><FLID>1</FLID>" + element + "</FLOP>" }
	duplicate := envelope("FLOP", "STND", flight("<STND>D1</STND>"))
	original := p.put(duplicate)
	tests := []struct{ name, body, want string }{
		{"broken XML", "<MSG><META>", `DEAD MALFORMED /MSG/META: found "unexpected EOF`},
		{"empty", "", `DEAD MALFORMED /: `},
		{"two roots", envelope("FLOP", "STND", flight("<STND>1</STND>")) + "<MSG/>", "DEAD MALFORMED "},
		{"no META", "<MSG><FLOP/></MSG>", "DEAD MALFORMED /MSG/META"},
		{"bad date", envelope("FLOP", "ESTT", flight("<ESTT>31FEB260000</ESTT>")), `DEAD MALFORMED /MSG/FLOP[1]/ESTT: found "31FEB260000"`},
		{"payload missing", envelope("FLOP", "STND", ""), "DEAD MALFORMED payload-missing"},
		{"record count", envelope("SCHD", "DNLD", "<SCHD><RECS>2</RECS><FLTR><FLID>9</FLID><SODT>01MAR261000</SODT></FLTR></SCHD>"), "DEAD PROTOCOL record-count 2, found 1"},
		{"another day", envelope("SCHD", "DNLD", "<SCHD><RECS>1</RECS><FLTR><FLID>1</FLID><SODT>02MAR261000</SODT></FLTR></SCHD>"), "DEAD PROTOCOL operation-day"},
		{"too long", envelope("FLOP", "STND", flight("<STND>123456789</STND>")), "DEAD EXHAUSTED CODEC_ERROR: /MSG/FLOP[1]/STND"},
		{"unsupported kind", envelope("FLOP", "ZZZZ", flight("<ZZZZ/>")), "DEAD EXHAUSTED UNSUPPORTED: "},
		{"a rule that fails", envelope("FLOP", "RUNW", flight("<RUNW>36L</RUNW>")), "DEAD EXHAUSTED RULE_ERROR: rules: flop-runw@1: rules/flop-runw@1.lua:1: no runway today"},
		{"duplicate", duplicate, fmt.Sprintf("SKIPPED - duplicate-of:%d", original)},
		{"ignored", envelope("REGN", "UPD", "<RECS>0</RECS>"), "SKIPPED - ignored:REGN-*"},
		{"unknown flight", envelope("FLOP", "STND", "<FLOP><FLID>77</FLID><STND>1</STND></FLOP>"), "SKIPPED - flight-unknown"},
		{"deleted flight", envelope("FLOP", "STND", "<FLOP><FLID>3</FLID><STND>1</STND></FLOP>"), "SKIPPED - flight-deleted"},
		{"control characters", "<MSG>\x01\x02\x1b[31m</MSG>", "DEAD MALFORMED "},
		{"a megabyte of junk", strings.Repeat("垃圾", 1<<18), "DEAD MALFORMED "},
		{"deep nesting", strings.Repeat("<A>", 5000) + strings.Repeat("</A>", 5000), "DEAD EXHAUSTED CODEC_ERROR: "},
		{"entity bomb", `<!DOCTYPE MSG [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><MSG>&b;</MSG>`, "DEAD MALFORMED "},
		{"GBK by declaration, characters in the mailbox", strings.Replace(envelope("FLOP", "REMC", flight("<REMC>备降南京</REMC>")), "UTF-8", "GBK", 1), "SUCCEEDED - "},
		{"several records", envelope("FLOP", "STND", "<FLOP><FLID>1</FLID><STND>A1</STND></FLOP><FLOP><FLID>2</FLID><STND>A2</STND></FLOP>"), "SUCCEEDED - "},
	}
	ids := make([]int64, len(tests))
	for i, tt := range tests {
		ids[i] = p.put(tt.body)
	}
	missing := p.put(stand(1, "GONE"))
	if _, err := p.mailbox.Exec(`UPDATE CMINMSGS SET CMINMSGS_CLOB_MSG = NULL WHERE CMINMSGS_ID = ?`, missing); err != nil {
		t.Fatal(err)
	}
	last := p.put(stand(2, "LAST"))
	d := p.start()
	p.settled()
	outcome := `SELECT concat_ws(' ', state, coalesce(error_class, '-'), coalesce(last_error, skip_reason, '')) FROM proc_state WHERE msg_id = $1`
	for i, tt := range tests {
		if got := p.query(outcome, ids[i]); !strings.HasPrefix(got+" ", tt.want) {
			t.Errorf("%s: got %q, want it to begin with %q", tt.name, got, tt.want)
		}
	}
	if got := p.query(outcome, missing); !strings.HasPrefix(got, "DEAD MALFORMED") {
		t.Errorf("no body: got %q", got)
	}
	if got := p.query(outcome, last); got != "SUCCEEDED - " {
		t.Errorf("the last message: got %q", got)
	}
	if got := p.query(`SELECT concat_ws(' ', remc, stnd) FROM flight_schd WHERE flid = 1`); got != "备降南京 A1" {
		t.Errorf("flight 1: got %q", got)
	}
	if err := d.end(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}
