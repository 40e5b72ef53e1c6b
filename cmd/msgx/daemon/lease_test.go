package daemon_test

import (
	"syscall"
	"testing"
	"time"
)

const shortLease = "lease.duration=4s"

const leader = `SELECT holder FROM instance_lease`

// pair are two instances, each in a process of its own.
func (p *place) pair() map[string]*process {
	p.t.Helper()
	first := p.spawn("instance=first")
	p.await("first", leader)
	second := p.spawn("instance=second")
	p.until("the second to stand by", func() (string, bool) {
		return second.logs.String(), second.logs.count("standing by") > 0
	})
	return map[string]*process{"first": first, "second": second}
}

// A leader that is stopped in good order hands over at once, not when its lease has run out.
func TestACleanStopHandsOverAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.backlog(700)
	two := p.pair()
	if got := p.query(leader); got != "first" {
		t.Fatalf("%s leads, want the first while it is at work", got)
	}
	p.more(two["first"].logs)
	stopped := time.Now()
	two["first"].signal(syscall.SIGTERM)
	p.await("second", leader)
	if took, lease := time.Since(stopped), p.config().Lease.Duration; took > lease/3 {
		t.Errorf("taken over after %s, want at once and not after the lease of %s", took, lease)
	}
	p.settled()
	if got := two["second"].logs.count("msg=leading"); got != 1 {
		t.Errorf("the second began to lead %d times, want once", got)
	}
}

// A leader that falls silent in the middle of its work is replaced within the
// lease and a little more; woken up, it finds itself fenced, writes nothing and stands by.
func TestASilentLeaderIsReplacedAndFenced(t *testing.T) {
	t.Parallel()
	p := newPlace(t, shortLease)
	p.crashed = true
	p.backlog(1000)
	two := p.pair()
	other := map[string]string{"first": "second", "second": "first"}
	lease := p.config().Lease.Duration
	for round := 1; round <= 2; round++ {
		silent := p.query(leader)
		logs := two[silent].logs
		p.more(logs)
		two[silent].signal(syscall.SIGSTOP)
		frozen := time.Now()
		p.await(other[silent], leader)
		if took := time.Since(frozen); took < lease/3 || took > lease+3*time.Second {
			t.Errorf("round %d: taken over after %s, want about the lease of %s", round, took, lease)
		}
		p.more(two[other[silent]].logs)
		lost, waits := logs.count("leadership lost"), logs.count("standing by")
		two[silent].signal(syscall.SIGCONT)
		p.until("the woken one to find itself fenced, and to stand by", func() (string, bool) {
			return logs.String(), logs.count("leadership lost") > lost && logs.count("standing by") > waits
		})
		if got := p.query(leader); got != other[silent] {
			t.Errorf("round %d: %s leads after the woken one stands by, want %s", round, got, other[silent])
		}
	}
	if got := p.query(`SELECT epoch FROM instance_lease`); got != "3" {
		t.Errorf("epoch %s after two changes of leader, want 3", got)
	}
	p.put(schedule(900001, 900001))
	p.put(stand(900001, "LAST"))
	p.settled()
	if got := p.query(`SELECT stnd FROM flight_schd WHERE flid = 900001`); got != "LAST" {
		t.Errorf("the last message left %q", got)
	}
}

// A leader that falls silent within a transaction holds locks that its successor needs. The server ends the
// transaction sooner than the lease runs out, so that nobody waits longer for it.
func TestALeaderThatFallsSilentWithinATransaction(t *testing.T) {
	t.Parallel()
	p := newPlace(t, shortLease)
	p.crashed = true
	p.put(schedule(900001, 900001))
	two := p.pair()
	p.await("1", decided)
	lease := p.config().Lease.Duration

	// Somebody holds the pipeline, so that the leader's transaction is under way and waits.
	hold, err := p.pg.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Rollback(t.Context())
	if _, err := hold.Exec(t.Context(), `SELECT FROM pipeline_lock FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	p.put(stand(900001, "A1"))
	const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	p.await("1", waiting)
	silent := p.query(leader)
	two[silent].signal(syscall.SIGSTOP)
	frozen := time.Now()
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	const within = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'msgx' AND state = 'idle in transaction'`
	p.await("1", within) // with the pipeline and the epoch locked
	other := map[string]string{"first": "second", "second": "first"}[silent]
	p.await(other, leader)
	took := time.Since(frozen)
	t.Logf("taken over %s after the leader fell silent within a transaction, with a lease of %s", took.Round(10*time.Millisecond), lease)
	if took > lease+3*time.Second {
		t.Errorf("taken over after %s, want within the lease of %s and a second", took, lease)
	}
	two[silent].signal(syscall.SIGCONT)
	p.until("the woken one to find itself fenced", func() (string, bool) {
		return two[silent].logs.String(), two[silent].logs.count("leadership lost") > 0
	})
	p.put(stand(900001, "LAST"))
	p.settled()
	if got := p.query(`SELECT stnd || ' ' || state_version FROM flight_schd WHERE flid = 900001`); got != "LAST 3" {
		t.Errorf("the last message left %q, want LAST at version 3", got)
	}
}

// Whatever the leader of three is doing when its sessions are cut, nothing is lost or done twice, and nothing of
// it counts as a message's failure.
func TestTheSessionsOfALeaderAreCut(t *testing.T) {
	t.Parallel()
	p := newPlace(t, shortLease)
	p.crashed = true
	p.backlog(1200)
	three := p.pair()
	third := p.spawn("instance=third")
	p.until("the third to stand by", func() (string, bool) { return third.logs.String(), third.logs.count("standing by") > 0 })
	three["third"] = third
	for range 12 {
		p.more(three[p.query(leader)].logs)
		p.query(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'msgx'`)
	}
	// And the leader is killed at the end: one of the two others goes on.
	first := p.query(leader)
	three[first].signal(syscall.SIGKILL)
	p.until("another one to lead", func() (string, bool) {
		got, err := p.tryQuery(leader)
		return got, err == nil && got != first
	})
	p.settled()
	if got := p.query(`SELECT count(*) FROM proc_state WHERE attempts > 1`); got != "0" {
		t.Errorf("%s messages took more than one attempt, want none: a cut session is nobody's failure", got)
	}
}
