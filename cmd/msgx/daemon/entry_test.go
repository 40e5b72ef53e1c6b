package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"

	"msgx/tools/stack/stacktest"
)

const withEntry = "compat.auth=none"

// answered is what the entry answered.
type answered struct {
	Status int
	Result string
	ID     int64
	Kind   string
	Detail string
}

// post sends a message to an instance's entry.
func post(t *testing.T, i *instance, contentType, body string) answered {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+i.address+"/cminmsgs/send", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answered{Status: response.StatusCode}
	if err := json.Unmarshal(text, &a); err != nil && a.Status != http.StatusNotFound {
		t.Fatalf("answer %q: %v", text, err)
	}
	return a
}

// posted notes a row that the entry has made, for the account.
func (p *place) posted(id int64, body string) {
	p.sent = append(p.sent, sent{id: id, body: &body, posted: true})
}

func (p *place) leads(i *instance) {
	p.t.Helper()
	p.until("the instance to lead", func() (string, bool) { return i.logs.String(), i.logs.count("leading") > 0 })
	p.await("1", "SELECT count(*) FROM inbox_cursor")
}

func TestMessagesByTheEntry(t *testing.T) {
	t.Parallel()
	p := newPlace(t, withEntry)
	i := p.start()
	p.leads(i)
	plan := schedule(1, 2)
	gbk, err := simplifiedchinese.GBK.NewEncoder().String(plan)
	if err != nil {
		t.Fatal(err)
	}
	a := post(t, i, "text/plain; charset=GBK", gbk)
	if a.Status != http.StatusOK || a.Result != "queued" || a.Kind != "SCHD-DNLD" || a.ID == 0 {
		t.Fatalf("a schedule in GBK: got %+v, want 200 queued with its row", a)
	}
	p.posted(a.ID, plan)
	change := stand(1, "12")
	for range 2 { // a client that repeats
		a = post(t, i, "application/x-www-form-urlencoded", change)
		if a.Status != http.StatusOK {
			t.Fatalf("a change: got %+v, want 200", a)
		}
		p.posted(a.ID, change)
	}
	p.settled()
	var received string
	if err := p.mailbox.QueryRow("SELECT CAST(CMINMSGS_DATE_RECEIVED AS CHAR) FROM CMINMSGS WHERE CMINMSGS_ID = ?", a.ID).Scan(&received); err != nil {
		t.Fatal(err)
	}
	if got := p.query("SELECT to_char(received_at AT TIME ZONE 'Asia/Shanghai', 'YYYY-MM-DD HH24:MI:SS') FROM proc_state WHERE msg_id = $1", a.ID); got != received {
		t.Errorf("the record says received %s, the row %s", got, received)
	}
	if got, want := p.query("SELECT string_agg(state || coalesce(' ' || skip_reason, ''), ', ' ORDER BY msg_id) FROM proc_state"),
		fmt.Sprintf("SUCCEEDED, SUCCEEDED, SKIPPED duplicate-of:%d", a.ID-1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The figures of the backlog are among the metrics of the one who leads.
func TestFiguresOfTheBacklogByTheEntry(t *testing.T) {
	t.Parallel()
	p := newPlace(t, withEntry)
	i := p.start()
	p.until("the figures", func() (string, bool) {
		response, err := http.Get("http://" + i.address + "/metrics")
		if err != nil {
			return err.Error(), false
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		all := err == nil
		for _, line := range []string{"msgx_backlog_left_messages 0\n", "msgx_backlog_oldest_seconds 0\n", "msgx_backlog_drain_seconds 0\n", `msgx_entry_requests_total{result="queued"} 0`} {
			all = all && strings.Contains(string(text), line)
		}
		return "no figures", all
	})
	http.DefaultClient.CloseIdleConnections()
}

func TestTheEntryIsOffUnlessConfigured(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if a := post(t, p.start(), "text/xml", stand(1, "1")); a.Status != http.StatusNotFound {
		t.Errorf("got %+v, want 404", a)
	}
}

// A record beyond the watermark waits for the rows before it that are not visible yet.
func TestWhatTheEntryEnqueuesWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, withEntry, "pipeline.max-commit-delay=10m")
	i := p.start()
	p.put(schedule(1, 1))
	p.settled()
	slow := stand(1, "SLOW")
	tx, err := p.mailbox.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	result, err := tx.Exec(`INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED, CMINMSGS_STATUS) VALUES (?, ?, 'VALID')`, slow, receivedAt)
	if err != nil {
		t.Fatal(err)
	}
	first, err := result.LastInsertId()
	if err != nil {
		t.Fatal(err)
	}
	fast := stand(1, "FAST")
	a := post(t, i, "text/xml", fast)
	if a.Result != "queued" || a.ID != first+1 {
		t.Fatalf("got %+v, want row %d queued", a, first+1)
	}
	p.await("1", "SELECT count(*) FROM inbox_hole WHERE outcome = 'open'")
	if got := p.query("SELECT state FROM proc_state WHERE msg_id = $1", a.ID); got != "PENDING" {
		t.Errorf("the record beyond the watermark is %s, want PENDING", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	p.sent = append(p.sent, sent{id: first, body: &slow})
	p.posted(a.ID, fast)
	p.settled()
	if got, want := p.query("SELECT string_agg(msg_id::text, ' ' ORDER BY decision_no) FROM proc_state"), fmt.Sprintf("%d %d %d", first-1, first, a.ID); got != want {
		t.Errorf("decided in the order %s, want %s", got, want)
	}
}

// The first step alone is enough: without our database the row is accepted, and the inbox enqueues it.
func TestTheEntryWithoutOurDatabase(t *testing.T) {
	t.Parallel()
	pg := stacktest.PrivatePostgres(t)
	p := placeOn(t, pg.URL, stacktest.Mailbox(t), stacktest.Kafka(t)[0], stacktest.Topic(t, 3), stacktest.CompactedTopic(t, 3), withEntry)
	p.crashed = true
	i := p.start()
	p.put(schedule(1, 1))
	p.settled()
	pg.Stop()
	body := stand(1, "AWAY")
	a := post(t, i, "text/xml", body)
	if a.Status != http.StatusAccepted || a.Result != "accepted" || a.ID == 0 {
		t.Fatalf("got %+v, want 202 accepted with its row", a)
	}
	p.posted(a.ID, body)
	pg.Start()
	p.settled()
}

// Without the mailbox there is no first step, and no promise.
func TestTheEntryWithoutTheMailbox(t *testing.T) {
	t.Parallel()
	maria := stacktest.PrivateMariaDB(t)
	p := placeOn(t, stacktest.Postgres(t), maria.URL, stacktest.Kafka(t)[0], stacktest.Topic(t, 3), stacktest.CompactedTopic(t, 3), withEntry)
	i := p.start()
	p.put(schedule(1, 1))
	p.settled()
	body := stand(1, "AWAY")
	maria.Stop()
	if a := post(t, i, "text/xml", body); a.Status != http.StatusServiceUnavailable || a.Result != "unknown" || a.ID != 0 {
		t.Errorf("got %+v, want 503 unknown", a)
	}
	maria.Start()
	p.until("the mailbox to take it", func() (string, bool) {
		a := post(t, i, "text/xml", body)
		if a.ID != 0 {
			p.posted(a.ID, body)
		}
		return a.Detail, a.ID != 0
	})
	p.settled()
}

// A standby puts the row into the mailbox and enqueues nothing; the active instance does.
func TestTheEntryOfAStandby(t *testing.T) {
	t.Parallel()
	p := newPlace(t, withEntry)
	active := p.start("instance=first")
	p.leads(active)
	standby := p.start("instance=second")
	p.until("the second to stand by", func() (string, bool) { return standby.logs.String(), standby.logs.count("standing by") > 0 })
	body := schedule(1, 1)
	a := post(t, standby, "text/xml", body)
	if a.Status != http.StatusAccepted || !strings.Contains(a.Detail, "stands by") {
		t.Fatalf("got %+v, want 202 accepted, as it stands by", a)
	}
	p.posted(a.ID, body)
	p.settled()
}

// A process that dies between the steps, or before its answer, loses nothing, and a client that repeats doubles nothing.
func TestTheEntryOfAnInstanceThatDies(t *testing.T) {
	t.Parallel()
	p := newPlace(t, withEntry, "pipeline.poll-interval=1s")
	p.crashed = true
	plan := schedule(1, 1)
	p.put(plan)
	one := p.start()
	p.settled()
	// The row is there and the record is not: the state that dying between the steps leaves.
	if err := one.end(); err != nil {
		t.Fatal(err)
	}
	body := stand(1, "12")
	p.put(body)
	two := p.start()
	p.leads(two)
	a := post(t, two, "text/xml", body) // the client has had no answer
	p.posted(a.ID, body)
	p.settled()
	if got, want := p.query("SELECT skip_reason FROM proc_state WHERE msg_id = $1", a.ID), fmt.Sprintf("duplicate-of:%d", a.ID-1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
