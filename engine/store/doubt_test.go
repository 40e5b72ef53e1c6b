package store

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/tools/stack/stacktest"
)

// proxy stands between a store and its server. While silent it still carries what
// the store says, but loses every reply and then cuts the connection.
type proxy struct {
	listener net.Listener
	server   string
	silent   atomic.Bool
	dead     atomic.Bool // loses what the store says, too
}

func startProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, server: server}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.carry(client)
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return p
}

func (p *proxy) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := client.Read(buffer)
			if n > 0 && !p.dead.Load() {
				if _, err := server.Write(buffer[:n]); err != nil {
					return
				}
			}
			if err != nil || p.dead.Load() {
				server.Close()
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || p.silent.Load() {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// throughProxy opens a second store on the database of url, through a proxy.
func throughProxy(t *testing.T, address string) (*Store, *proxy) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := startProxy(t, u.Host)
	u.Host = p.listener.Addr().String()
	return openURL(t, u.String(), func(c *Config) { c.StatementTimeout = time.Second }), p
}

func TestCommitInDoubtIsResolvedByReading(t *testing.T) {
	address := stacktest.Postgres(t)
	if _, _, err := Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	direct := openURL(t, address)
	w := lead(t, direct)
	enqueue(t, w, 1, 5)
	for _, tt := range []struct {
		name  string
		msgID int64
		cut   func(*proxy)
		want  message.State
	}{
		{"the reply is lost", 2, func(p *proxy) { p.silent.Store(true) }, message.Succeeded},
		{"the request is lost", 4, func(p *proxy) { p.dead.Store(true) }, message.Pending},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cut, p := throughProxy(t, address)
			// A first decision has the connection prepare its statements.
			decide(t, cut.Writer(w.Epoch()), succeed(tt.msgID-1, created(flight.ID(tt.msgID-1), flight.Fields{})))
			err := cut.Writer(w.Epoch()).Decide(t.Context(), decision.Claim{MsgID: tt.msgID}, func(decision.Claimed) (decision.Settlement, error) {
				tt.cut(p)
				return succeed(tt.msgID, created(flight.ID(tt.msgID), flight.Fields{})), nil
			})
			if !errors.Is(err, fault.ErrCommitInDoubt) || errors.Is(err, fault.ErrUnavailable) {
				t.Fatalf("decide: got %v, want ErrCommitInDoubt", err)
			}
			state, err := w.Resolve(t.Context(), tt.msgID)
			if err != nil || state != tt.want {
				t.Errorf("resolve: got %s, %v, want %s", state, err, tt.want)
			}
		})
	}

	// A settlement of its own is in doubt in the same way; any other write may be repeated.
	cut, p := throughProxy(t, address)
	p.silent.Store(true)
	settlement := settlementOf(4, message.Outcome{State: message.Skipped, Reason: "x"})
	if err := cut.Check(t.Context()); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("check through a silent proxy: got %v, want ErrUnavailable", err)
	}
	p.silent.Store(false)
	failed := settlementOf(4, message.Outcome{State: message.Failed, Class: message.Infra, Reason: "x"})
	if err := cut.Writer(w.Epoch()).Settle(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	p.silent.Store(true)
	if err := cut.Writer(w.Epoch()).Settle(t.Context(), settlement); !errors.Is(err, fault.ErrCommitInDoubt) {
		t.Errorf("settle: got %v, want ErrCommitInDoubt", err)
	}
	if _, err := w.Resolve(t.Context(), 77); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("resolve a message that is not there: got %v, want ErrNotFound", err)
	}
}

func TestAServerThatIsAwayIsNobodysFault(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 2)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "postgres://postgres@" + closed.Addr().String() + "/x?sslmode=disable"
	closed.Close()
	away := openURL(t, address)
	if _, _, _, err := away.Heads(t.Context(), 1); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("connection refused: got %v, want ErrUnavailable", err)
	}
	// The driver lists what it tried line by line; a log and a terminal want one line.
	if err := away.Check(t.Context()); strings.ContainsAny(err.Error(), "\n\t") || strings.Count(err.Error(), "connection refused") != 1 {
		t.Errorf("connection refused: got %q, want it told once, in one line", err)
	}
	if err := away.Writer(1).Settle(t.Context(), settlementOf(1, message.Outcome{State: message.Skipped, Reason: "x"})); !errors.Is(err, fault.ErrUnavailable) || errors.Is(err, fault.ErrCommitInDoubt) {
		t.Errorf("settle, connection refused: got %v, want ErrUnavailable", err)
	}

	// A server that shuts sessions down in the middle of a decision.
	decide(t, w, succeed(1))
	err = w.Decide(t.Context(), decision.Claim{MsgID: 2}, func(decision.Claimed) (decision.Settlement, error) {
		if n := query[int](t, s, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'"); n != 1 {
			t.Errorf("ended %d sessions, want 1", n)
		}
		return succeed(2), nil
	})
	if !errors.Is(err, fault.ErrCommitInDoubt) {
		t.Errorf("session ended: got %v, want ErrCommitInDoubt", err)
	}
	if state, err := w.Resolve(t.Context(), 2); err != nil || state != message.Pending {
		t.Errorf("resolve: got %s, %v, want PENDING", state, err)
	}

	// A caller that gives up is no unavailable server.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := s.Heads(ctx, 1); !errors.Is(err, context.Canceled) || errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("cancelled call: got %v, want context.Canceled alone", err)
	}
}

func TestReadOnlyServerIsUnavailable(t *testing.T) {
	s, w := fresh(t)
	if _, err := s.pool.Exec(t.Context(), "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$"); err != nil {
		t.Fatal(err)
	}
	s.pool.Reset()
	err := w.Settle(t.Context(), settlementOf(1, message.Outcome{State: message.Skipped, Reason: "x"}))
	if !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}

// How long a decision takes says more about the machine than about the message: it is bounded by the
// instructions that a script may use. So a slow one is waited for, however small the bound on idle
// transactions, and uses up no attempt.
func TestASlowDecisionIsNobodysFault(t *testing.T) {
	address := stacktest.Postgres(t)
	if _, _, err := Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	s := openURL(t, address, func(c *Config) { c.IdleInTxTimeout = 500 * time.Millisecond })
	w := lead(t, s)
	enqueue(t, w, 1, 2)
	long := "SELECT bool_and(xact_start < clock_timestamp() - interval '1200 ms') FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"
	err := w.Decide(t.Context(), decision.Claim{MsgID: 1}, func(decision.Claimed) (decision.Settlement, error) {
		waitFor(t, s, long)
		return succeed(1), nil
	})
	if err != nil {
		t.Errorf("a decision of twice the bound: %v", err)
	}

	// A process that stood still has not kept its session awake: the server gives it up, so that
	// nobody waits for it, and the message is decided again.
	s.wake = time.Hour
	err = w.Decide(t.Context(), decision.Claim{MsgID: 2}, func(decision.Claimed) (decision.Settlement, error) {
		waitFor(t, s, "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'")
		return succeed(2), nil
	})
	if !errors.Is(err, fault.ErrUnavailable) || errors.Is(err, fault.ErrCommitInDoubt) {
		t.Errorf("a session given up for idleness: got %v, want ErrUnavailable", err)
	}
	if r, err := s.Message(t.Context(), 2); err != nil || r.State != message.Pending || r.Failure.Attempts != 0 {
		t.Errorf("got %s with %d attempts, %v, want PENDING with none", r.State, r.Failure.Attempts, err)
	}
	decide(t, w, succeed(2))
}

// A lost lease or a shutdown ends the calls for patience: what is held is given up in bounded time.
func TestACallerThatGaveUpIsNotKeptAwake(t *testing.T) {
	address := stacktest.Postgres(t)
	if _, _, err := Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	s := openURL(t, address, func(c *Config) { c.IdleInTxTimeout = 200 * time.Millisecond })
	w := lead(t, s)
	enqueue(t, w, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := w.Decide(ctx, decision.Claim{MsgID: 1}, func(decision.Claimed) (decision.Settlement, error) {
		cancel()
		waitFor(t, s, "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'")
		return succeed(1), nil
	})
	if err == nil {
		t.Error("the decision was stored, want its session given up")
	}
	decide(t, w, succeed(1))
}

// The last decision is not cut off by a shutdown.
func TestACancelledCallerStillCommits(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := w.Decide(ctx, decision.Claim{MsgID: 1}, func(decision.Claimed) (decision.Settlement, error) {
		cancel()
		return succeed(1), nil
	})
	if err != nil {
		t.Errorf("decide: %v", err)
	}
	if r, err := s.Message(t.Context(), 1); err != nil || r.State != message.Succeeded {
		t.Errorf("got %s, %v, want SUCCEEDED", r.State, err)
	}
}

// Somebody else's lock is not what a message brings about, whichever it is.
func TestAWaitForTheLockIsNotTheMessagesFault(t *testing.T) {
	address := stacktest.Postgres(t)
	if _, _, err := Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	s := openURL(t, address)
	w := lead(t, s)
	enqueue(t, w, 1, 2)
	decide(t, w, succeed(1, created(7, flight.Fields{})))
	hasty := openURL(t, address, func(c *Config) { c.StatementTimeout = 100 * time.Millisecond }).Writer(w.Epoch())
	for _, tt := range []struct {
		lock string
	}{
		{"SELECT FROM pipeline_lock FOR UPDATE"},
		{"SELECT FROM proc_state FOR UPDATE"},
		{"LOCK TABLE flight_schd"},
		{"LOCK TABLE flight_change"},
		{"LOCK TABLE msg_event"},
	} {
		lock, err := s.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lock.Exec(t.Context(), tt.lock); err != nil {
			t.Fatal(err)
		}
		err = hasty.Decide(t.Context(), decision.Claim{MsgID: 2, Flights: []flight.ID{7}}, func(decision.Claimed) (decision.Settlement, error) {
			return succeed(2, created(8, flight.Fields{})), nil
		})
		if err == nil || !errors.Is(err, fault.ErrUnavailable) || errors.Is(err, fault.ErrCommitInDoubt) {
			t.Errorf("%s: got %v, want ErrUnavailable", tt.lock, err)
		}
		if err := lock.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	decide(t, w, succeed(2))
}
