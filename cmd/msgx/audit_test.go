package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"msgx/engine/audit"
)

// What is well is said to be, what is not ends with 1, and a wrong call with 2.
func TestAudit(t *testing.T) {
	s := newServed(t)
	s.want(s.run("migrate"), 0)
	s.want(s.run("topics create"), 0)
	gate := strings.NewReplacer("SCHD", "FLOP", "ADFT", "REMC", "<RECS>1</RECS><FLTR>", "", "</FLTR>", "",
		"<FLNO>CA1</FLNO><SODT>01MAR260930</SODT>", "", "天气原因", "流量控制").Replace(remark)
	s.put(remark, gate, "junk")
	stop := s.begin("consistency-check.daily-sample-ratio=1")
	s.until("message show 2", "delivered  2 of 2 events")
	s.until("message show 3", "marked     20")
	s.wait("the log", s.log.String, `msg="consistency check done"`)
	stop()

	well := s.run("audit --rebuild")
	s.want(well, 0, " 1  held", "16  held", "15  not comparable", "not compared: rows do not say", "       3  messages", "Nothing is broken.")
	t.Logf("well:\n%s", well.out)

	own, err := pgx.Connect(t.Context(), s.set["postgres.url"])
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close(context.Background())
	for _, statement := range []string{"SET session_replication_role = replica", "UPDATE flight_schd SET remc = 'x'", "DELETE FROM raw_message"} {
		if _, err := own.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.mailbox.Exec("UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = NULL"); err != nil {
		t.Fatal(err)
	}
	r := s.run("audit")
	s.want(r, exitFailed, " 4  broken 2", " 6  broken 3", "16  not comparable", "not compared: a rebuild was not asked for",
		"flight 1 REMC\n          found     the state has \"x\"\n          expected  \"流量控制\", as history comes to\n", "5 differences.")
	t.Logf("not well:\n%s", r.out)
	s.want(s.run("audit --findings 1"), exitFailed, "and 2 more: --findings -1")
	s.want(s.run("audit --no-mailbox --no-kafka"), exitFailed, " 6  not comparable", "not compared: the mailbox was not read", "not compared: the broker was not read", "2 differences.")

	var report audit.Report
	if r := s.run("audit --json --from 3"); json.Unmarshal([]byte(r.out), &report) != nil || r.code != exitFailed || report.Broken() != 1 {
		t.Errorf("from message 3: exit %d, %d differences, want exit 1 and the mark of message 3:\n%s", r.code, report.Broken(), r.out)
	}
	s.want(s.run("audit --from 3 --to 2"), exitUsage, "expected ids of the mailbox")
	s.want(s.run("audit --rebuild --to 2"), exitUsage, "expected no --to")
	s.want(s.run("audit", "mailbox.dsn="), exitUsage, "--no-mailbox")
	s.want(s.run("audit", "kafka.brokers="), exitUsage, "--no-kafka")
}
