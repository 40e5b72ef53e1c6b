package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"msgx"
	"msgx/engine/backfill"
	"msgx/engine/event"
	"msgx/engine/inbox"
	"msgx/engine/pump"
)

// rulesWith copies the shipped rule set with some files changed.
func rulesWith(t *testing.T, changed map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, msgx.Files); err != nil {
		t.Fatal(err)
	}
	for name, source := range changed {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// unruly are scripts that fail, overstep their footprint, never end, and break an invariant.
var unruly = map[string]string{
	"rules/flop-runw@1.lua": `return { kind = "FLOP-RUNW", writes = { "RUNW" }, decide = function(view, msg) error("no runway today") end }`,
	"rules/flop-trml@1.lua": `return { kind = "FLOP-TRML", writes = { "TRML" }, decide = function(view, msg)
  return { changes = { { flid = msg.records[1].flid, op = "update", set = { STND = "13" } } } }
end }`,
	"rules/flop-ftss@1.lua": `return { kind = "FLOP-FTSS", writes = { "FTSS" }, decide = function(view, msg) while true do end end }`,
	"rules/flop-reno@1.lua": `return { kind = "FLOP-RENO", writes = { "RENO" }, decide = function(view, msg)
  return { changes = { { flid = msg.records[1].flid, op = "create", set = { RENO = "B1234" } } } }
end }`,
}

// Each class of error ends in its state, with its text, and the next message flows.
func TestEveryOutcomeAndTheNextFlows(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "rules.dir="+rulesWith(t, unruly))
	p.put(schedule(1, 3))
	p.put(envelope("FDEL", "FDEL", "<FLOP><FLID>3</FLID><FDEL/></FLOP>"))
	flight := func(element string) string { return "<FLOP><FLID>1</FLID>" + element + "</FLOP>" }
	duplicate := envelope("FLOP", "STND", flight("<STND>D1</STND>"))
	original := p.put(duplicate)
	dead := envelope("FLOP", "RUNW", flight("<RUNW>02L</RUNW>"))
	p.put(dead)
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
		{"a rule that oversteps", envelope("FLOP", "TRML", flight("<TRML>2</TRML>")), "DEAD EXHAUSTED RULE_ERROR: rules: flop-trml@1: "},
		{"a rule without an end", envelope("FLOP", "FTSS", flight("<FTSS>ON</FTSS>")), "DEAD EXHAUSTED RULE_ERROR: rules: flop-ftss@1: "},
		{"a rule that creates what is there", envelope("FLOP", "RENO", flight("<RENO>B1</RENO>")), "DEAD EXHAUSTED RULE_ERROR: "},
		{"duplicate of a dead one", dead, "SKIPPED - duplicate-of:"},
		{"duplicate with another body", strings.Replace(duplicate, "D1", "D2", 1), fmt.Sprintf("SKIPPED - duplicate-of:%d", original)},
		{"duplicate", duplicate, fmt.Sprintf("SKIPPED - duplicate-of:%d", original)},
		{"ignored", envelope("REGN", "UPD", "<RECS>0</RECS>"), "SKIPPED - ignored:REGN-*"},
		{"unknown flight", envelope("FLOP", "STND", "<FLOP><FLID>77</FLID><STND>1</STND></FLOP>"), "SKIPPED - flight-unknown"},
		{"deleted flight", envelope("FLOP", "STND", "<FLOP><FLID>3</FLID><STND>1</STND></FLOP>"), "SKIPPED - flight-deleted"},
		{"control characters", "<MSG>\x01\x02\x1b[31m</MSG>", "DEAD MALFORMED "},
		{"deep nesting", strings.Repeat("<A>", 5000) + strings.Repeat("</A>", 5000), "DEAD EXHAUSTED CODEC_ERROR: "},
		{"entity bomb", `<!DOCTYPE MSG [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><MSG>&b;</MSG>`, "DEAD MALFORMED "},
		{"GBK by declaration, characters in the mailbox", strings.Replace(envelope("FLOP", "REMC", flight("<REMC>备降南京</REMC>")), "UTF-8", "GBK", 1), "SUCCEEDED - "},
		{"several records", envelope("FLOP", "STND", "<FLOP><FLID>1</FLID><STND>A1</STND></FLOP><FLOP><FLID>2</FLID><STND>A2</STND></FLOP>"), "SUCCEEDED - "},
	}
	ids := make([]int64, len(tests))
	for i, tt := range tests {
		ids[i] = p.put(tt.body)
	}
	empty, removed := p.putAll(nil)[0], p.put(stand(1, "GONE"))
	last := p.put(stand(2, "LAST"))

	// The row to be missed is taken out when it has been read and not yet decided.
	paused := p.start("pipeline.autostart=false")
	p.await("5", `SELECT count(*) FROM operator_control WHERE control = 'pause' AND value = 'paused'`)
	p.resume(inbox.Stage)
	p.await(fmt.Sprint(last), `SELECT max(msg_id) FROM proc_state`)
	p.remove(removed)
	if err := paused.end(); err != nil {
		t.Fatal(err)
	}
	p.resume(pump.Stage, backfill.Stage, string(event.Msg), string(event.Schd))
	p.start()
	p.settled()
	outcome := `SELECT concat_ws(' ', state, coalesce(error_class, '-'), coalesce(last_error, skip_reason, '')) FROM proc_state WHERE msg_id = $1`
	for i, tt := range tests {
		if got := p.query(outcome, ids[i]); !strings.HasPrefix(got+" ", tt.want) {
			t.Errorf("%s: got %q, want it to begin with %q", tt.name, got, tt.want)
		}
	}
	for id, want := range map[int64]string{empty: "DEAD MALFORMED /: found nothing", removed: "DEAD MALFORMED raw-missing", last: "SUCCEEDED - "} {
		if got := p.query(outcome, id); !strings.HasPrefix(got, want) {
			t.Errorf("message %d: got %q, want it to begin with %q", id, got, want)
		}
	}
	if got := p.query(`SELECT concat_ws(' ', remc, stnd) FROM flight_schd WHERE flid = 1`); got != "备降南京 A1" {
		t.Errorf("flight 1: got %q", got)
	}
}
