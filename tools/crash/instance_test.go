package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"msgx/engine/failpoint"
)

// end is how one instance is to end.
type end struct {
	no    int
	point string        // a fail point, such as "decide/after"; "" for a moment at random
	pass  int           // at which pass of the point
	after time.Duration // the moment
	since since         // from when the moment is counted
}

// since is from when a moment is counted.
type since string

const (
	starting since = "starting or standing by"
	leading  since = "beginning to lead" // which may be in the middle of proving a rule set
	working  since = "at work"
)

func (e end) String() string {
	if e.point == "" {
		return fmt.Sprintf("kill %d %s after %s", e.no, e.since, e.after)
	}
	return fmt.Sprintf("kill %d at %s:%d", e.no, e.point, e.pass)
}

const (
	lookEvery = 10 * time.Millisecond
	// enterBound is how long an instance may take to begin to work once it leads.
	enterBound = 20 * time.Second
	// reachBound is how long an instance may work without coming to its point.
	reachBound = 1500 * time.Millisecond
	// patientBound is the same where it comes to it once in a while only.
	patientBound = 4 * time.Second
)

// rare are boundaries that a leader comes to once in a while.
var rare = map[failpoint.Boundary]bool{
	failpoint.Resolve: true, failpoint.DeferEvent: true, failpoint.ShadowFound: true, failpoint.ShadowNow: true,
	failpoint.RefuseRules: true, failpoint.KeepRuleset: true, failpoint.Settle: true,
}

// instance is one process of the daemon.
type instance struct {
	name   string
	cmd    *exec.Cmd
	log    *os.File
	exited chan error
}

func (r *run) start(slot string, e end, armed bool) (*instance, error) {
	i := &instance{name: fmt.Sprintf("%s%d", slot, e.no), exited: make(chan error, 1)}
	if !armed {
		i.name = slot + "-last"
	}
	// Not the test's context: it ends in its own way, and is waited for.
	i.cmd = r.command(context.WithoutCancel(r.t.Context()), []string{"serve"}, append(r.through(true), "instance="+i.name)...)
	i.cmd.Env = os.Environ()
	if armed && e.point != "" {
		i.cmd.Env = append(i.cmd.Env, fmt.Sprintf("FAILPOINT=%s:%d", e.point, e.pass))
	}
	var err error
	if i.log, err = os.Create(filepath.Join(r.dir, i.name+".log")); err != nil {
		return nil, err
	}
	i.cmd.Stderr, i.cmd.Stdout = i.log, i.log
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := i.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { i.exited <- i.cmd.Wait() }()
	return i, nil
}

// kill ends the process and waits for it.
func (i *instance) kill() {
	_ = i.cmd.Process.Kill()
	<-i.exited
	_ = i.log.Close()
}

// tail is the end of what it logged.
func (i *instance) tail() string {
	data, err := os.ReadFile(i.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-30):], []byte("\n")))
}

// keep keeps an instance alive in its slot, each with an end of its own, until there have been enough.
func (r *run) keep(slot string) {
	for {
		e, more := r.next()
		if !more {
			return
		}
		i, err := r.start(slot, e, true)
		if err != nil {
			r.fail("start %s: %v", slot, err)
			return
		}
		if !r.await(i, e) {
			return
		}
		_ = os.Remove(i.log.Name())
	}
}

// await lets the instance come to its end; false when that was not the one meant for it.
func (r *run) await(i *instance, e end) bool {
	started, leads, works := time.Now(), time.Time{}, time.Time{}
	stopAfter, bound := 100*time.Millisecond, reachBound
	if rare[boundaryOf(e.point)] {
		bound = patientBound
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-i.exited:
			_ = i.log.Close()
			if !killed(err) {
				r.fail("%s ended by itself (%v), meant was: %s\n%s", i.name, err, e, i.tail())
				return false
			}
			r.died(i, e, e.point)
			return true
		case <-r.over:
			i.kill()
			return true
		case <-tick.C:
		}
		if leads.IsZero() && r.leader() == i.name {
			leads = time.Now()
			if provoke := provocations[boundaryOf(e.point)]; provoke != nil {
				provoke(r, true)
				defer provoke(r, false)
			}
		}
		if !leads.IsZero() && works.IsZero() && (i.works() || time.Since(leads) > enterBound) {
			works = time.Now()
		}
		begun := map[since]time.Time{starting: started, leading: leads}[e.since]
		if e.since == working || e.point != "" {
			begun = works
		}
		switch led := time.Since(begun); {
		case begun.IsZero():
		case e.point == "" && led >= e.after:
			i.kill()
			r.died(i, e, "at random, "+string(e.since))
			return true
		case boundaryOf(e.point) == failpoint.ReleaseLease && led >= stopAfter:
			_ = i.cmd.Process.Signal(syscall.SIGTERM) // comes to it on its way out
			stopAfter = time.Hour
		case e.point != "" && led >= bound:
			i.kill()
			r.died(i, e, "not reached: "+e.point)
			return true
		}
	}
}

// killed tells the end by SIGKILL from any other.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// works tells whether it has come to an end with the rules and begun to work.
func (i *instance) works() bool {
	data, err := os.ReadFile(i.log.Name())
	return err == nil && bytes.Contains(data, []byte(`msg="rule set live"`))
}

// boundaryOf is the boundary of a point, "" of none.
func boundaryOf(point string) failpoint.Boundary {
	boundary, _, _ := strings.Cut(point, "/")
	return failpoint.Boundary(boundary)
}

// died counts a kill. The lease of a process that is known to be dead is taken from it, so that a run need not wait
// for it, but for one in sixteen, and not while a broker that was frozen may still have a request of the dead one to read.
func (r *run) died(i *instance, e end, how string) {
	r.mu.Lock()
	r.kills[how]++
	r.total++
	taken := time.Since(r.brokerFrozen) > leaseTime && e.no%16 != 0
	if r.holder == i.name {
		r.gap = gap{how: how, from: i.name, at: time.Now(), ranOut: !taken}
	}
	r.mu.Unlock()
	r.note("killed %s (%s)", i.name, how)
	if !taken {
		return
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
	defer cancel()
	// When the database is away the lease runs out.
	_, _ = r.pg.Exec(ctx, `UPDATE instance_heartbeat SET beat_at = beat_at - interval '1 hour' WHERE holder = $1 AND NOT released`, i.name)
}

// gap is the time that nobody leads.
type gap struct {
	how, from string // how the leader ended, and who it was
	at        time.Time
	ranOut    bool // its lease was left to run out
}

// watchLeader keeps who leads, as the database says, and where the line is.
func (r *run) watchLeader(done *sync.WaitGroup) {
	defer done.Done()
	for {
		select {
		case <-r.over:
			return
		case <-time.After(lookEvery):
		}
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		var holder string
		var head int64
		err := r.pg.QueryRow(ctx, `SELECT holder, COALESCE((SELECT min(msg_id) FROM proc_state WHERE state IN ('PENDING', 'FAILED')), 0)
			FROM instance_heartbeat WHERE NOT released AND beat_at > clock_timestamp() - interval '3 seconds'`).Scan(&holder, &head)
		cancel()
		if err != nil {
			holder = ""
		}
		r.sees(holder, head)
	}
}

func (r *run) sees(holder string, head int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holder = holder
	if head > 0 {
		r.head = head
	}
	if r.gap.how == "" || holder == "" || holder == r.gap.from {
		return
	}
	how := r.gap.how
	if r.gap.ranOut {
		how = leaseRanOut
	}
	r.gaps[how] = append(r.gaps[how], time.Since(r.gap.at))
	r.gap = gap{}
}

func (r *run) leader() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holder
}

// stop ends an instance as an operator does; it has to end well.
func (r *run) stop(i *instance) {
	r.t.Helper()
	_ = i.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-i.exited:
		_ = i.log.Close()
		if err != nil {
			r.t.Errorf("%s, asked to stop: %v\n%s", i.name, err, i.tail())
		}
	case <-time.After(30 * time.Second):
		i.kill()
		r.t.Errorf("%s did not stop within 30 s\n%s", i.name, i.tail())
	}
}

// short is the beginning of a text, for one line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), 200)]
}
