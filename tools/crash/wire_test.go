package crash

import (
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// wire stands between the daemon and PostgreSQL, understands what is said, and breaks some connections at a COMMIT,
// or at a statement that commits by itself.
type wire struct {
	t        *testing.T
	listener net.Listener
	server   string
	closing  sync.WaitGroup

	mu    sync.Mutex
	rng   *rand.Rand
	every int            // one commit in so many is broken; 0 for none
	sure  bool           // the first three of a kind break, each in another way
	seen  map[string]int // commits by what they are of
	done  map[string]int // broken commits, by what they are of and how
	open  map[net.Conn]bool
}

// How a commit can break.
const (
	requestLost = "request lost"
	replyLost   = "done, and its reply lost"
	cutMidway   = "cut while it is under way"
)

func newWire(t *testing.T, server string, seed uint64) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, listener: listener, server: server, rng: rand.New(rand.NewPCG(seed, 5)), seen: map[string]int{}, done: map[string]int{}, open: map[net.Conn]bool{}}
	w.closing.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			w.closing.Go(func() { w.carry(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.mu.Lock()
		for c := range w.open {
			_ = c.Close()
		}
		w.mu.Unlock()
		w.closing.Wait()
	})
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

// breaks lets one commit in so many break from now on; 0 for none.
func (w *wire) breaks(every int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.every = every
}

func (w *wire) hold(c net.Conn) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[c] = true
	return func() {
		_ = c.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, c)
	}
}

// draw says how a commit breaks, "" for not at all.
func (w *wire) draw(of string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[of]++
	sure := w.sure && w.seen[of] <= 3
	if w.every == 0 || (!sure && w.rng.IntN(w.every) > 0) {
		return ""
	}
	how := []string{requestLost, replyLost, cutMidway}[w.rng.IntN(3)]
	if sure {
		how = []string{requestLost, replyLost, cutMidway}[w.seen[of]-1]
	}
	w.done[of+": "+how]++
	return how
}

// carry is one connection.
func (w *wire) carry(client net.Conn) {
	defer w.hold(client)()
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer w.hold(server)()
	backend := pgproto3.NewBackend(client, client)
	start, err := backend.ReceiveStartupMessage()
	if err != nil {
		return
	}
	first, err := start.Encode(nil)
	if err != nil {
		return
	}
	if _, err := server.Write(first); err != nil {
		return
	}
	var mu sync.Mutex
	silent := false
	replied := make(chan struct{})
	go func() {
		defer close(replied)
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			mu.Lock()
			lost := silent
			mu.Unlock()
			if lost && n > 0 {
				_ = client.Close()
				_, _ = io.Copy(io.Discard, server) // the server says all it has to say
				return
			}
			if n > 0 {
				if _, err := client.Write(buffer[:n]); err != nil {
					return
				}
			}
			if err != nil {
				_ = client.Close()
				return
			}
		}
	}()
	defer func() { _ = server.Close(); <-replied }()

	statements := map[string]string{}
	of, commits, within := "", false, false
	var pending []byte
	for {
		message, err := backend.Receive()
		if err != nil {
			return
		}
		said := ""
		switch m := message.(type) {
		case *pgproto3.Parse:
			statements[m.Name] = m.Query
		case *pgproto3.Bind:
			said = statements[m.PreparedStatement]
		case *pgproto3.Query:
			said = m.String
		}
		switch {
		case said == "BEGIN":
			of, within = "", true
		case said == "ROLLBACK":
			within = false
		case said == "COMMIT":
			commits, within = true, false
		case within:
			of = better(of, said)
		case alone(said) != "":
			of, commits = alone(said), true
		}
		if pending, err = message.Encode(pending); err != nil {
			return
		}
		switch message.(type) {
		case *pgproto3.Bind, *pgproto3.Parse, *pgproto3.Describe, *pgproto3.Execute, *pgproto3.Close:
			continue // until Sync
		}
		how := ""
		if commits {
			how = w.draw(of)
		}
		switch how {
		case requestLost:
			return
		case replyLost:
			mu.Lock()
			silent = true
			mu.Unlock()
		}
		if _, err := server.Write(pending); err != nil {
			return
		}
		if how == cutMidway {
			return
		}
		if how == replyLost {
			<-replied
			return
		}
		pending, commits = pending[:0], false
	}
}

// transactions are told apart by a statement that only they have, the more telling ones first.
var transactions = []struct{ text, name string }{
	{"INSERT INTO flight_change", "a decision"},
	{"INSERT INTO proc_state", "a round of the inbox"},
	{"INSERT INTO inbox_cursor", "a step of the inbox, or the seed"},
	{"sent_at = $1", "confirmed events"},
	{"next_attempt_at = $5, last_error = $6", "an event that backs off"},
	{"backfill_at", "marks"},
	{"UPDATE instance_lease", "a takeover"},
	{"INSERT INTO ruleset_live", "a rule set goes live"},
	{"INSERT INTO ruleset_refusal", "a rule set is refused"},
	{"shadow", "the shadow"},
	{"INSERT INTO instance_fact", "a fact"},
	{"SELECT state FROM proc_state", "how a commit in doubt ended"},
}

// alone is what a statement is that commits by itself, "" for one that only reads.
func alone(statement string) string {
	switch {
	case strings.Contains(statement, "UPDATE instance_heartbeat"):
		return "the lease is kept or given back"
	case strings.Contains(statement, "UPDATE proc_state p SET"):
		return "an outcome without a flight"
	case strings.Contains(statement, "UPDATE ") || strings.Contains(statement, "INSERT INTO ") || strings.Contains(statement, "DELETE FROM "):
		return "other: " + short(statement)[:min(len(short(statement)), 60)]
	}
	return ""
}

// better is the more telling of what is known of a transaction and of one more statement.
func better(of, statement string) string {
	for _, t := range transactions {
		if of == t.name {
			return of
		}
		if strings.Contains(statement, t.text) {
			return t.name
		}
	}
	if of == "" && statement != "" {
		return "other: " + short(statement)[:min(len(short(statement)), 60)]
	}
	return of
}
