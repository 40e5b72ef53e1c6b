package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"msgx"
	"msgx/engine/ruleset"
)

// stands is a rule for stands that leaves a mark.
func stands(mark string) []byte {
	return fmt.Appendf(nil, `return { kind = "FLOP-STND", writes = { "STND" }, decide = function(_, msg)
  return { changes = { { flid = msg.records[1].flid, op = "update", set = { STND = %q } } } }
end }`, mark)
}

// rulesIn copies the shipped rule set, with another rule for stands.
func rulesIn(t *testing.T, mark string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, msgx.Files); err != nil {
		t.Fatal(err)
	}
	setStands(t, dir, stands(mark))
	return dir
}

func setStands(t *testing.T, dir string, source []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "rules", "flop-stnd@1.lua"), source, 0o600); err != nil {
		t.Fatal(err)
	}
}

// oneCase is a corpus that does not look at stands.
func oneCase(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile("../../golden/cases/flop-remc.txtar")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "cases"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cases", "flop-remc.txtar"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// How an operator changes rules while messages flow, goes back, and looks at what a shadow makes of them.
func TestGoingLiveAndGoingBack(t *testing.T) {
	s := newServed(t)
	dir, beside := rulesIn(t, "A"), rulesIn(t, "S")
	s.set["rules.dir"], s.set["rules.shadow"], s.set["rules.golden"] = dir, beside, oneCase(t)
	s.set["rules.watch"], s.set["rules.watch-interval"] = "false", "50ms"
	s.want(s.run("migrate"), 0)
	s.want(s.run("rules history"), 0, "no rule set was live yet")
	s.want(s.run("rules shadow"), 0, "no shadow")
	s.want(s.run("topics create"), 0)
	stop := s.begin()
	defer stop()
	schedule := strings.Replace(remark, "SCHD-ADFT", "", 1)
	stand := func(seqn int) string {
		return fmt.Sprintf(`<MSG><META><SNDR>AODB</SNDR><SEQN>%d</SEQN><TYPE>FLOP</TYPE><STYP>STND</STYP></META><FLOP><FLID>1</FLID><STND>1</STND></FLOP></MSG>`, seqn)
	}
	s.until("rules shadow", "shadow ")
	s.put(schedule, stand(1))
	s.until("flight show 1", "STND: A")
	s.until("rules shadow", "1 of 2 messages decided otherwise")
	s.want(s.run("rules shadow"), 0, "FLOP-STND  STND   1", "message 2 FLOP-STND STND, flight 1", `live    "A"`, `shadow  "S"`)

	setStands(t, dir, stands("B"))
	s.want(s.run("rules activate"), exitUsage, "--reason is missing")
	s.want(s.run("rules activate --dry-run"), 0, "would go live", "proved on the golden cases of "+s.set["rules.golden"])
	s.want(s.run("rules activate --reason wanted"), 0, "is live")
	s.put(stand(2))
	s.until("flight show 1", "STND: B")

	setStands(t, dir, []byte("return { kind = 1 }"))
	s.want(s.run("rules activate --reason wanted"), exitFailed, "refused, the live one stays", "rules/flop-stnd@1.lua")
	s.want(s.run("rules activate --dry-run"), exitFailed, "would be refused", "rules/flop-stnd@1.lua")

	var entries []ruleset.Entry
	if r := s.run("rules history --json"); r.code != 0 || json.Unmarshal([]byte(r.out), &entries) != nil || len(entries) != 3 || entries[2].Live == nil {
		t.Fatalf("rules history --json: exit %d, %s%s", r.code, r.out, r.err)
	}
	first := entries[2].Live.Hash
	s.want(s.run("rules rollback ff00ff00 --reason wanted"), exitUsage, "none that was live begins so")
	s.want(s.run("rules rollback zz --reason wanted"), exitUsage, `"zz"`)
	s.want(s.run("rules rollback "+first[:8]+" --dry-run"), 0, first+" would go live")
	s.want(s.run("rules rollback "+first[:8]+" --reason wanted"), 0, "rule set "+first+" is live")
	s.put(stand(3))
	s.until("message show 4", "SUCCEEDED")
	s.until("flight show 1", "STND: A")
	s.want(s.run("rules history"), 0, "rollback", "live, pinned", "activate", "refused", "start", "wanted", "MESSAGES")

	s.want(s.run("check"), exitFailed, "FAIL  rules") // what lies in the directory
	s.want(s.run("check", "rules.dir="), 0, "live on record is rule set "+first[:12]+" (rollback by", "pinned")

	before := filepath.Join(t.TempDir(), "before")
	s.want(s.run("rules export "+first[:8]+" "+before), 0, "wrote ")
	s.want(s.run("rules export "+first[:8]+" "+before), exitUsage, "is not empty")
	s.want(s.run("rules list", "rules.dir="+before), 0, first)

	if err := os.RemoveAll(beside); err != nil {
		t.Fatal(err)
	}
	var shown shadowShown
	if r := s.run("rules shadow --runs 5 --json"); r.code != 0 || json.Unmarshal([]byte(r.out), &shown) != nil || shown.Now == nil || len(shown.Runs) < 2 {
		t.Errorf("rules shadow --json: exit %d, %s%s", r.code, r.out, r.err)
	}
	t.Logf("msgx rules history\n%s\nmsgx rules shadow\n%s", s.run("rules history").out, s.run("rules shadow --runs 2").out)
}

// Nobody leads: the request stays for whoever will.
func TestAskingWhenNobodyLeads(t *testing.T) {
	s := newServed(t)
	s.want(s.run("migrate"), 0)
	s.want(s.run("topics create"), 0)
	s.want(s.run("rules activate --reason wanted --wait 0"), 0, "request 1 is left for the leader")
	s.want(s.run("rules activate --reason wanted --wait 300ms"), exitFailed, "request 2 has no answer after 300ms", "no instance leads now", "it stays, and may be carried out yet")
	s.want(s.run("rules activate --reason wanted --wait -5s"), exitUsage, "--wait is -5s")

	// Who interrupts the wait has not withdrawn the request.
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	interrupted := make(chan result, 1)
	go func() {
		interrupted <- s.msgx(ctx, &safeBuffer{}, strings.Fields("rules activate --reason wanted --wait 9h"))
	}()
	for s.query(`SELECT count(*)::text FROM ruleset_request`) != "3" && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	r := <-interrupted
	s.want(r, exitFailed, "request 3 has no answer after ", "it stays, and may be carried out yet")
	if strings.Contains(r.out, "9h") {
		t.Errorf("found %q of a wait that was interrupted", r.out)
	}
}
