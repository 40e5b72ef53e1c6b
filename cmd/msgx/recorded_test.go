package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"msgx/engine/explain"
)

// recordedDay serves a few messages whose ids are 1 to 10.
func recordedDay(t *testing.T) *served {
	t.Helper()
	s := newServed(t)
	s.want(s.run("migrate"), 0)
	s.want(s.run("topics create"), 0)
	s.put(remark,
		operation(8, "GTDT", `<FLID>1</FLID><GTDT GTNO="1"><GATE>G1</GATE></GTDT><NEWS>x</NEWS>`),
		operation(9, "VIPF", `<FLID>1</FLID><VIPF><VPCD>Li Lei</VPCD></VIPF><VIPF><VPCD>Han</VPCD></VIPF>`),
		operation(10, "VIPF", `<FLID>1</FLID><VIPF><VPCD>Li Lei</VPCD></VIPF>`),
		operation(11, "REMC", `<FLID>1</FLID><REMC>Mr Wang &amp; family</REMC>`),
		operation(11, "REMC", `<FLID>1</FLID><REMC>Mr Wang &amp; family</REMC>`),
		"<MSG><META>",
		operation(13, "REMC", `<FLID>1</FLID><REMC></REMC>`),
		operation(14, "../X", `<FLID>1</FLID>`),
		operation(15, "REMC", `<FLID>1</FLID><REMC>`+strings.Repeat("far too long ", 10)+`</REMC>`),
	)
	s.set["pipeline.backoff"] = "10ms,10ms,10ms,10ms"
	stop := s.begin()
	s.until("message show 8", "delivered  2 of 2 events")
	s.until("message show 10", "marked     20")
	stop()
	return s
}

// What was decided is explained, kept as a case, and compared with what another rule set would have
// decided, all on the state that was there before each message.
func TestLookingBack(t *testing.T) {
	t.Parallel()
	s := recordedDay(t)
	changed := candidate(t, "rules/flop-remc@1.lua", "merge.value", "merge.set_only(merge.value)")
	t.Run("explain", func(t *testing.T) { explainRecorded(t, s, changed) })
	t.Run("record", func(t *testing.T) { recordRecorded(t, s) })
	s.want(s.run("golden record --msg-id 8", "rules.dir="+changed), 0, "REMC: \"remark 1\" -> nothing", "note: rule set "+changed+" decides it differently")
	t.Run("diff", func(t *testing.T) { diffRecorded(t, s, changed) })
}

func explainRecorded(t *testing.T, s *served, changed string) {
	s.want(s.run("message explain 2"), 0, "message 2  FLOP-GTDT  SUCCEEDED", "what is explained here is what is on record",
		"unknown element  /MSG/FLOP/NEWS, 1", "\n  flight 1  update to version 2\n    GTDT\n      + {\"GTNO\":1,\"GATE\":\"G1\"}\n")
	s.want(s.run("message explain 6"), 0, "SKIPPED", "duplicate-of:5", "no rule was asked", "what is on record")
	s.want(s.run("message explain 7"), 0, "DEAD(MALFORMED)", "what is on record")
	s.want(s.run("message explain 8 --with "+changed), 0, "REMC", "with "+changed, "now   none\n    then  unchanged\n", "the two part at rules/lib/merge.lua:")
	s.want(s.run("message explain 8 --with "+shipped), 0, "the same is decided by flop-remc@1")
	s.want(s.run("message explain 5 --from-mailbox"), 0, "what is on record")
	s.want(s.run("message explain 9"), 0, "FAILED(UNSUPPORTED)", "what is on record")
	s.want(s.run("message explain 11"), exitFailed, "message 11: not enqueued")
	s.want(s.run("message explain 8 --with ./nowhere"), exitUsage, "rule set ./nowhere")
	s.want(s.run("message explain x"), exitUsage, "expected a whole number")
	var x explain.Explanation
	if r := s.run("message explain 3 --json"); json.Unmarshal([]byte(r.out), &x) != nil || x.Recorded == nil || !x.Recorded.Same || x.Script.ID != "flop-vipf@1" {
		t.Errorf("message explain --json: %s%s", r.out, r.err)
	}
	// The rule set that decided it is asked, whatever is configured now.
	s.want(s.run("message explain 8", "rules.dir="+changed), 0, "what is on record", "\"Mr Wang & family\" -> none")
	// And a setting that changes what a rule set decides shows.
	s.want(s.run("message explain 2", "pipeline.ignore=FLOP-GTDT"), exitFailed, "is not what is on record", "outcome: on record SUCCEEDED")
}

func recordRecorded(t *testing.T, s *served) {
	dir := t.TempDir()
	for id := 1; id <= 8; id++ {
		flags := ""
		if id == 7 { // it is not well-formed
			s.want(s.run(fmt.Sprintf("golden record --msg-id %d --dir %s", id, dir)), exitFailed, "--keep-personal-data")
			flags = " --keep-personal-data"
		}
		s.want(s.run(fmt.Sprintf("golden record --msg-id %d case-%d --dir %s%s", id, id, dir, flags)), 0, "wrote ")
	}
	if r := run("golden", "run", "--dir", dir); r.code != 0 || !strings.Contains(r.out, "8 passed") {
		t.Errorf("the recorded cases: exit %d, %s%s", r.code, r.out, r.err)
	}
	for id, want := range map[int][]string{
		4: {"<VPCD>VIP1</VPCD>", "VIPF:\n    - {VPCD: VIP1}\n    - {VPCD: VIP2}\n", "REMC: remark 1\n", "-- 01-flop-vipf.xml --"},
		6: {"-- 01-flop-remc.xml --", "-- 02-flop-remc.xml --", "02-flop-remc.xml: SKIPPED duplicate-of:1", "<REMC>remark 1</REMC>", "-> \"remark 1\""},
		8: {"REMC: \"remark 1\" -> nothing"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, "cases", fmt.Sprintf("case-%d.txtar", id)))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("case of message %d: want %q in\n%s", id, w, text)
			}
		}
		for _, personal := range []string{"Li Lei", "Han", "Wang", "天气原因"} {
			if strings.Contains(string(text), personal) {
				t.Errorf("case of message %d holds %q:\n%s", id, personal, text)
			}
		}
	}
	s.want(s.run("golden record --msg-id 2"), 0, "-- state --", "Recorded: message 2, FLOP-GTDT SUCCEEDED by flop-gtdt@1.")
	s.want(s.run("golden record --msg-id 2 case-2 --dir "+dir), exitUsage, "is there already")
	s.want(s.run("golden record --msg-id 9 --dir "+dir), 0, filepath.Join(dir, "cases", "message-9.txtar"))
	// What stands for its personal data is shorter than what was refused.
	s.want(s.run("golden record --msg-id 10"), exitFailed, "message 10: in a case of its own it is SKIPPED", "without its personal data", "--keep-personal-data")
	s.want(s.run("golden record --msg-id 10 --keep-personal-data"), 0, "FAILED(CODEC_ERROR)")
	s.want(s.run("golden record"), exitUsage, "--msg-id is not given")
	s.want(s.run("golden record --msg-id 2", "golden.redact=GATE=nowhere"), 0, "<GATE>nowhere</GATE>")
	s.want(s.run("golden record --msg-id 2", "golden.redact=FLID=1"), exitUsage, "rule \"FLID=1\"")
	s.want(s.run("golden record --msg-id 2", "pipeline.ignore=FLOP-GTDT"), exitFailed, "does not come out as it is on record")
}

func diffRecorded(t *testing.T, s *served, changed string) {
	s.want(s.run("rules diff shipped shipped --recorded 1..100"), 0, "0 of 10 messages are decided differently, 0 flights end differently")
	s.want(s.run("rules diff shipped "+changed+" --recorded 1..7"), 0, "0 of 7 messages")
	s.want(s.run("rules diff shipped "+changed+" --recorded 2..8"), exitFailed, "FLOP-REMC  flop-remc@1  REMC: 1 messages",
		"because in the new rule set, rules/lib/merge.lua:", "`said ~= CLEAR` does not hold (said = CLEAR)", "such as message 8 of recorded, flight 1", "old  none\n      new  unchanged",
		"1 of 7 messages are decided differently, 1 flights end differently", "flight 1 (recorded): REMC")
	s.want(s.run("rules diff shipped shipped --recorded 8..1"), exitUsage, "expected FROM..TO")
	s.want(s.run("rules diff shipped shipped --recorded 90..99"), exitUsage, "nothing was compared")
	s.exec(`DELETE FROM raw_message WHERE msg_id = 4`)
	s.want(s.run("rules diff shipped shipped --recorded 1..8"), exitFailed, "0 of 7 messages", "1 messages could not be compared", "message 4: we keep no copy")
	s.want(s.run("rules diff shipped shipped --recorded 1..8 --from-mailbox"), 0, "0 of 8 messages")
}
