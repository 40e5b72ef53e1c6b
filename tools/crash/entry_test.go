package crash

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"msgx/engine/failpoint"
	"msgx/tools/feed"
)

// TestEntryIsKilled kills the daemon on both sides of each step of the compatible entry, while a client sends one message
// again and again until it has an answer.
func TestEntryIsKilled(t *testing.T) {
	p := newPlace(t, build(t, ""))
	p.prepare()
	r := newRun(p, options{seed: *seed})
	r.feedWith(feed.Options{Flights: 10, Operations: 20}, 10)
	p.settled(r, "first")

	const body = `<MSG><META><SNDR>AODB</SNDR><SEQN>990001</SEQN><TYPE>FLOP</TYPE><STYP>STND</STYP></META><FLOP><FLID>990001</FLID><STND>1</STND></FLOP></MSG>`
	const bound, records = `SELECT count(*) FROM proc_state WHERE identity_key = 'AODB|FLOP|STND|990001'`, `SELECT count(*) FROM proc_state`
	began := r.count(records)
	for i, c := range []struct {
		at   failpoint.Boundary
		side string
		rows int // that this one adds
	}{
		{failpoint.Insert, "before", 0}, {failpoint.Insert, "after", 1},
		{failpoint.EntryEnqueue, "before", 1}, {failpoint.EntryEnqueue, "after", 1},
	} {
		rows, known := r.rows(), r.count(records)
		address := free(t)
		client := r.keepsSending(address, body)
		r.killedAt(c.at, c.side, 1, "compat.auth=none", "http.listen="+address)
		if answers := client(); answers != 0 {
			t.Errorf("%s/%s: the client had %d answers, want none", c.at, c.side, answers)
		}
		if got := r.rows() - rows; got != c.rows {
			t.Errorf("%s/%s: %d rows, want %d", c.at, c.side, got, c.rows)
		}
		if c.at == failpoint.EntryEnqueue && c.side == "after" && r.count(records) < known+1 {
			t.Errorf("%s/%s: no record, want one", c.at, c.side)
		}
		p.settled(r, fmt.Sprintf("healed-%d", i))
	}
	r.want("messages that hold the identity", bound, 1)
	r.want("duplicates of it", `SELECT count(*) FROM proc_state WHERE skip_reason LIKE 'duplicate-of:%'`, 2)
	r.want("records in all", records, began+3)
	if found := r.audit(); found != "" {
		t.Error(found)
	}
}

// rows counts those of the mailbox.
func (r *run) rows() (n int) {
	r.t.Helper()
	if err := r.mailbox.QueryRowContext(r.t.Context(), "SELECT COUNT(*) FROM CMINMSGS").Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// free is an address that nobody listens on now.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// keepsSending sends a message once the server is there and leads; the function that it returns ends that and tells how many answers came.
func (r *run) keepsSending(address, body string) (end func() int) {
	ended, answers := make(chan struct{}), make(chan int, 1)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	leads := func() bool {
		response, err := client.Get("http://" + address + "/metrics")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		var text strings.Builder
		_ = response.Write(&text)
		// Figures of the stages: they run, and the inbox has looked.
		return strings.Contains(text.String(), "msgx_inbox_mailbox_up 1")
	}
	go func() {
		n, sent := 0, false
		defer func() { answers <- n }()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			if sent || !leads() {
				continue
			}
			sent = true
			if response, err := client.Post("http://"+address+"/cminmsgs/send", "text/xml", strings.NewReader(body)); err == nil {
				_ = response.Body.Close()
				n++
			}
		}
	}()
	return func() int { close(ended); return <-answers }
}
