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
