package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scheduled makes flight 1, sequence 1.
const scheduled = "<MSG><META><SNDR>AODB</SNDR><SEQN>1</SEQN><TYPE>SCHD</TYPE><STYP>ADFT</STYP></META>" +
	"<SCHD><RECS>1</RECS><FLTR><FLID>1</FLID><FLNO>CA1</FLNO><SODT>23JAN210935</SODT></FLTR></SCHD></MSG>"

// prepared is a place with its tables and topics. A broker that is busy shows a new topic a moment later.
func prepared(t *testing.T) *served {
	t.Helper()
	s := newServed(t)
	s.want(s.run("migrate"), 0)
	s.run("topics create")
	s.wait("`msgx check`", func() string {
		r := s.run("check")
		return fmt.Sprintf("exit %d\n%s", r.code, r.out)
	}, "exit 0")
	return s
}

// operated is a place whose line has been through trouble: 2 (gate), 3 and 4 died because a rule was
// broken, 5 is malformed, 6 changed the stand after 3 had died.
func operated(t *testing.T) *served {
	t.Helper()
	s := prepared(t)
	s.put(scheduled,
		operation(2, "STND", "<FLID>1</FLID><STND>123456789</STND>"), // too long
		operation(3, "ZZZZ", "<FLID>1</FLID><ZZZZ/>"),                // no such kind
		"<MSG><META>",
		operation(5, "STND", "<FLID>1</FLID><STND>14</STND>"))
	stop := s.begin("pipeline.backoff=10ms,10ms,10ms,10ms")
	s.until("message show 5", "marked     20")
	s.until("message show 2", "marked     20")
	stop()
	return s
}

// longStands writes a site file that lengthens the stand, which is how the catalogue is mended.
func (s *served) longStands() string {
	return "codec.site-file=" + write(s.t, "site.yaml", []byte("flight:\n  STND: {max: 12}\n"))
}

func TestDeadMessagesAreListedPlannedAndSentThrough(t *testing.T) {
	t.Parallel()
	s := operated(t)
	list := s.run("dead list")
	s.want(list, 0, "ID  KIND       CLASS      FAILURES", "2   FLOP-STND  EXHAUSTED  5", "CODEC_ERROR: /MSG/FLOP[1]/STND: found", "3   FLOP-ZZZZ  EXHAUSTED  5", "4   -          MALFORMED  1")
	for line, want := range map[string][]int64{
		"dead list --json": {2, 3, 4}, "dead list --json --class UNSUPPORTED": {3}, "dead list --json --class MALFORMED": {4},
		"dead list --json --kind FLOP-STND": {2}, "dead list --json --since 1h --limit 1": {2}, "dead list --json --after 2 --class EXHAUSTED": {3},
	} {
		var told struct {
			Messages []struct {
				ID int64 `json:"msg_id"`
			} `json:"messages"`
		}
		r := s.run(line)
		if err := json.Unmarshal([]byte(r.out), &told); err != nil || r.code != 0 {
			t.Fatalf("%s: exit %d, %v\n%s%s", line, r.code, err, r.out, r.err)
		}
		var got []int64
		for _, m := range told.Messages {
			got = append(got, m.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	s.want(s.run("dead list --since 2099-01-01T00:00:00Z"), exitFailed, "no dead message")
	s.want(s.run("dead list --class CODEC_ERRO"), exitUsage, "did you mean CODEC_ERROR?")
	s.want(s.run("dead replay --id 2"), exitUsage, "--reason is missing")
	s.want(s.run("dead replay --id 2 --class EXHAUSTED --dry-run"), exitUsage, "exactly one of")

	// As long as nothing is mended, it would fail again; what is mended would come over a later stand.
	s.want(s.run("dead replay --id 2 --dry-run"), 0, "FAILS  now it would be FAILED(CODEC_ERROR)", "1 message would be sent through again, 0 left out")
	mended := s.longStands()
	s.want(s.run("migrate", mended), 0)
	plan := s.run("dead replay --from 1 --to 9 --dry-run", mended)
	s.want(plan, 0,
		"2  FLOP-STND  DEAD(EXHAUSTED) after 5 failures: CODEC_ERROR:", "SUPERSEDED  now it would be SUCCEEDED by flop-stnd@1",
		`STND          "14" -> "123456789"   over the value of message 5`, "since then 1 has version 2 of message 5 FLOP-STND",
		"3  FLOP-ZZZZ", "FAILS  now it would be FAILED(UNSUPPORTED)", "4  left out: class MALFORMED is not replayed", "2 messages would be sent through again, 1 left out")
	s.want(s.run("dead replay --id 77 --id 5 --reason x", mended), exitFailed, "77  left out: it was never enqueued", "5  left out: it is SUCCEEDED", "0 messages sent through")
	s.want(s.run("dead replay --class EXHAUSTED --reason x", mended, "replay.classes=INFRA"), exitFailed, "class EXHAUSTED is not replayed, only INFRA")
	s.want(s.run("message show 2", mended), 0, "DEAD(EXHAUSTED)")

	s.want(s.msgx(t.Context(), &safeBuffer{}, []string{"dead", "replay", "--id", "2", "--by", "wang", "--reason", "stands are longer"}, mended), 0, "1 message sent through again")
	s.want(s.run("message show 2", mended), 0, "PENDING")
	stop := s.begin(mended)
	s.until("message show 2", "SUCCEEDED")
	stop()
	s.want(s.run("flight show 1", mended), 0, "123456789", "version 3 ")
	s.want(s.run("message show 2", mended), 0, "marked     20", "identity AODB|FLOP|STND|2", "replay by wang: stands are longer")
}

func TestTheHeadIsShownTriedAndSkipped(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	s.want(s.run("head"), exitFailed, "no message waits; the mailbox is read up to 0")
	s.put(scheduled, operation(2, "STND", "<FLID>1</FLID><STND>123456789</STND>"), operation(3, "STND", "<FLID>1</FLID><STND>3</STND>"), operation(4, "STND", "<FLID>2</FLID><STND>4</STND>"))
	stop := s.begin("pipeline.backoff=1h,1h,1h,1h")
	s.until("head", "behind    2 messages, the oldest enqueued 20")
	head := s.run("head")
	s.want(head, 0, "head      message 2  FLOP-STND  FAILED(CODEC_ERROR), enqueued 20", "failing   since 20", "1 failure of 5, next try 20",
		"          /MSG/FLOP[1]/STND: found \"123456789\"", "FAILS  now it would be FAILED(CODEC_ERROR)")
	s.want(s.run("head --json"), 0, `"behind": 2`, `"effect": "FAILS"`)
	s.want(s.run("head retry --dry-run"), 0, "message 2 would be due now")
	s.want(s.run("head retry"), exitUsage, "--reason is missing")
	s.want(s.run("head retry --reason again"), 0, "message 2 is due now")
	s.until("head", "2 failures of 5")
	stop()
	s.want(s.run("head"), 0, "halted    no instance is at work")

	s.want(s.run("skip --id 2 --reason x"), exitUsage, "--approver or --ticket is missing")
	s.want(s.run("skip --from 1 --to 3 --dry-run"), 0, "in the range: 1 FAILED 1 PENDING 1 SUCCEEDED", "unfinished: 2 messages", "naming 1 flight",
		"2  FLOP-STND", "3  FLOP-STND  PENDING  flights 1", "2 messages would be skipped, 0 left as they are")
	s.want(s.run("skip --ids 1,2 --approver li --ticket OPS-1 --reason test"), 0, "1  left out: it is SUCCEEDED", "1 message skipped, 1 left as they are")
	s.want(s.run("skip --id 2 --approver li --ticket OPS-1 --reason test"), exitFailed, "it is SKIPPED")
	s.want(s.run("head"), 0, "message 3  FLOP-STND  PENDING", "CHANGE  now it would be SUCCEEDED by flop-stnd@1", `STND          none -> "3"`)
	s.want(s.run("head retry --reason x"), exitFailed, "it is PENDING")
	stop = s.begin()
	s.until("message show 4", "marked     20")
	s.until("message show 2", "marked     20")
	stop()
	s.want(s.run("message show 2"), 0, "SKIPPED", "operator:test", "skip by ", "test (approved by li, OPS-1)", "head retry by ")
}

func TestMarksAreListedReopenedAndReconciled(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	s.want(s.run("backfill list"), exitFailed, "no such mark")
	s.put(scheduled, operation(2, "STND", "<FLID>1</FLID><STND>2</STND>"), operation(3, "STND", "<FLID>1</FLID><STND>3</STND>"))
	stop := s.begin("pipeline.backoff=1h,1h,1h,1h", "mailbox.processed-status=longer than the status column is and so refused by the server")
	s.until("backfill list", "3   SUCCEEDED")
	stop()
	owed := s.run("backfill list --owed")
	s.want(owed, 0, "ID  STATE      ENQUEUED", "1   SUCCEEDED", "2   SUCCEEDED", "owed")
	s.want(s.run("backfill list --overdue"), exitFailed, "no such mark")
	s.want(s.run("backfill list --overdue", "pipeline.r=1ms"), 0, "3   SUCCEEDED")
	s.want(s.run("backfill list --owed --abandoned"), exitUsage, "expected one of --owed")

	// Its failures have lasted R: it is given up, and so is one whose row is gone.
	if _, err := s.mailbox.Exec("DELETE FROM CMINMSGS WHERE CMINMSGS_ID = 3"); err != nil {
		t.Fatal(err)
	}
	stop = s.begin("pipeline.r=1ms", "mailbox.processed-status=longer than the status column is and so refused by the server")
	for id := 1; id <= 3; id++ {
		s.until("backfill list --abandoned", fmt.Sprint(id, "   SUCCEEDED"))
	}
	stop()
	s.want(s.run("backfill list --abandoned"), 0, "TRANSIENT_DEADLINE", "MISSING_ROW")
	s.want(s.run("backfill reopen --from 1 --to 9 --dry-run"), 0, "2  would be reopened", "3 marks would be reopened")
	s.want(s.run("backfill reconcile --id 3 --by li --reason purged"), 0, "3  reconciled", "1 mark reconciled, 0 left as they are")
	s.want(s.run("backfill reopen --from 1 --to 9 --reason mended"), 0, "1  reopened: due now", "3  left out: it was reconciled by li", "2 marks reopened, 1 left as they are")
	s.want(s.run("backfill reopen --id 1 --reason mended"), exitFailed, "its mark was not given up")
	s.want(s.run("backfill list --abandoned"), exitFailed, "no such mark")
	s.want(s.run("backfill list --abandoned --all"), 0, "reconciled")
	stop = s.begin()
	for id := 1; id <= 2; id++ {
		s.until(fmt.Sprint("message show ", id), "marked     20")
	}
	stop()
	if r := s.run("message show 3"); !strings.Contains(r.out, "reconciled 20") {
		t.Errorf("a reconciled mark: %s%s", r.out, r.err)
	}
}
