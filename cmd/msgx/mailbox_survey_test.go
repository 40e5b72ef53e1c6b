package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

func TestSurveyOfAMailbox(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	s.want(s.run("mailbox survey --measure 0s"), 0, "rows      0, ids 0 to 0, 0 ids", "sample    0 messages", "left      0 messages")
	for i := 1; i <= 20; i++ {
		s.put(operation(i, "STND", "<FLID>1</FLID><STND>1</STND>"))
	}
	s.put(scheduled, operation(21, "ZZZZ", "<FLID>1</FLID>"), "<MSG>", operation(22, "STND", "<FLID>1</FLID><STND>123456789</STND>"),
		"<MSG><META><SNDR>AODB</SNDR><SEQN>23</SEQN><TYPE>LDM</TYPE><STYP>LDM</STYP></META></MSG>")
	s.owner("DELETE FROM CMINMSGS WHERE CMINMSGS_ID IN (3, 4)")
	s.owner("UPDATE CMINMSGS SET CMINMSGS_DATE_RECEIVED = NULL WHERE CMINMSGS_ID = 5")
	s.owner("UPDATE CMINMSGS SET CMINMSGS_DATE_RECEIVED = '2026-02-01 08:00:00', CMINMSGS_DATE_PROCESSED = '2026-02-01 08:00:00' WHERE CMINMSGS_ID = 6")
	before := s.query("SELECT count(*)::text FROM proc_state") + fmt.Sprint(s.count("SELECT SUM(CRC32(CONCAT_WS(0, CMINMSGS_ID, CMINMSGS_CLOB_MSG, CMINMSGS_DATE_PROCESSED, CMINMSGS_STATUS))) FROM CMINMSGS"))
	s.want(s.run("mailbox survey --measure 10ms"), exitFailed,
		"rows      23, ids 1 to 25, 2 ids between them are missing\n",
		"received  2026-02-01 08:00:00 to 2026-03-01 08:00:00, 1 without a time\n",
		"marked    1, not marked 22\n", "enqueued  up to 0, 23 rows above it\n", "sample    23 messages\n",
		"       1  cannot be read, 1 MALFORMED, such as 23: ", "      19  FLOP-STND, 1 CODEC_ERROR, such as 24: ",
		"       1  FLOP-ZZZZ, 1 UNSUPPORTED, such as 22: the kind is not known\n", "       1  LDM-LDM, 1 ignored\n", "       1  SCHD-ADFT\n",
		"left      25 messages, the oldest ", "; they do not become fewer (0.0 a second)\n")
	if after := s.query("SELECT count(*)::text FROM proc_state") + fmt.Sprint(s.count("SELECT SUM(CRC32(CONCAT_WS(0, CMINMSGS_ID, CMINMSGS_CLOB_MSG, CMINMSGS_DATE_PROCESSED, CMINMSGS_STATUS))) FROM CMINMSGS")); after != before {
		t.Errorf("the survey changed something: %s, before %s", after, before)
	}
	s.want(s.run("mailbox survey --from 7 --to 20 --measure 0s"), 0, "rows      14, ids 7 to 20, 0 ids", "      14  FLOP-STND\n", "the rate was not measured")
	s.want(s.run("mailbox survey --from 9 --to 8"), exitUsage, "expected a range")

	var told mailboxSurvey
	r := s.run("mailbox survey --sample 5 --measure 10ms --json --from 7 --to 20")
	if err := json.Unmarshal([]byte(r.out), &told); err != nil || r.code != 0 || told.Rows != 14 || told.Sampled != 5 || told.Kinds[0].Messages != 5 || told.Rate == nil || told.Remaining != nil {
		t.Errorf("exit %d, %v: %+v\n%s", r.code, err, told, r.err)
	}

	stop := s.begin("pipeline.backoff=10ms,10ms,10ms,10ms")
	defer stop()
	s.wait("the survey", func() string { return s.run("mailbox survey --measure 0s").out }, "left      0 messages")
}

func TestASampleIsSpreadEvenly(t *testing.T) {
	ids := make([]int64, 100)
	for i := range ids {
		ids[i] = int64(i + 1)
	}
	if got, want := thin(slices.Clone(ids), 4), []int64{25, 50, 75, 100}; !slices.Equal(got, want) {
		t.Errorf("thin: got %v, want %v", got, want)
	}
	if got := everyOther(slices.Clone(ids)); len(got) != 50 || got[0] != 1 || got[49] != 99 {
		t.Errorf("every other: got %v", got)
	}
}
