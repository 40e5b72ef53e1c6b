package daemon_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"msgx/engine/audit"
)

// Work that goes on while the audit looks is no difference: messages come, are decided, marked and delivered all the while.
func TestTheAuditBesideTheDaemon(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(schedule(1, 20))
	p.start("consistency-check.on-startup=false")
	p.await("1", `SELECT count(*) FROM proc_state WHERE state = 'SUCCEEDED'`)
	before := p.query(`SELECT decision_no FROM pipeline_lock`)
	for round := range 12 {
		var some []*string
		for i := range 60 {
			body := stand(1+i%20, fmt.Sprintf("S%d", (round*60+i)%997))
			some = append(some, &body)
		}
		p.putAll(some...)
		report := audited(t, p, audit.Options{})
		if lines, told := brokenLines(report); len(lines) > 0 {
			t.Fatalf("round %d: broken in %v while at work:\n%s", round, lines, told)
		}
	}
	if after := p.query(`SELECT decision_no FROM pipeline_lock`); after == before {
		t.Error("nothing was decided while the audit looked")
	}
	p.settled()
	if lines, told := brokenLines(audited(t, p, audit.Options{Rebuild: true})); len(lines) > 0 {
		t.Errorf("broken in %v after it:\n%s", lines, told)
	}
}

// The sentinel of a daemon tells what is wrong with a flight, in the log and as a metric, and the line goes on.
func TestTheSentinelTells(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(schedule(1, 30))
	first := p.start("consistency-check.daily-sample-ratio=1")
	p.until("the sentinel's first sample", func() (string, bool) {
		return first.logs.String(), first.logs.count("consistency check done", "differences=0") == 1
	})
	p.settled()
	if err := first.end(); err != nil {
		t.Fatal(err)
	}
	conn, err := p.pg.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"SET session_replication_role = replica", "UPDATE flight_schd SET stnd = 'X' WHERE flid IN (7, 23)", "RESET session_replication_role"} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	conn.Release()

	second := p.start("consistency-check.daily-sample-ratio=1")
	p.put(stand(1, "12"))
	p.until("the sentinel's sample", func() (string, bool) {
		return second.logs.String(), second.logs.count("consistency check done", "flights=30", "differences=4") == 1
	})
	p.await("SUCCEEDED", `SELECT state FROM proc_state WHERE msg_id = (SELECT max(msg_id) FROM proc_state)`)
	for _, flid := range []string{"7", "23"} {
		if n := second.logs.count("consistency check: difference", `place="flight `+flid+` STND"`); n != 2 {
			t.Errorf("flight %s: %d lines in the log, want one for its history and one for its latest state", flid, n)
		}
	}
	want := []string{"msgx_audit_samples_total 1", "msgx_audit_flights_total 30", `msgx_audit_differences{invariant="4"} 4`, `msgx_audit_differences{invariant="8"} 0`, "msgx_audit_failures_total 0"}
	metrics := scrape(t, second)
	for _, line := range want {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("want %q in the metrics:\n%s", line, metrics)
		}
	}
}

var address = regexp.MustCompile(`http=(http://[^ ]+)`)

// scrape reads the metrics of audits.
func scrape(t *testing.T, i *instance) string {
	t.Helper()
	found := address.FindStringSubmatch(i.logs.String())
	if found == nil {
		t.Fatalf("no address in the log:\n%s", i.logs)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(found[1] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(all)) {
		if strings.HasPrefix(line, "msgx_audit_") {
			b.WriteString(line)
		}
	}
	return b.String()
}
