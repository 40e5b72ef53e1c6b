package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const term = 10 * time.Second

// row is the lease row of a pretended database; its clock is the bubble's.
type row struct {
	mu        sync.Mutex
	epoch     int64
	holder    string
	heartbeat time.Time
	free      bool
}

// link is one instance's way to the row. It can be cut, and it can hang.
type link struct {
	row *row
	mu  sync.Mutex
	err error
	// hang makes calls wait for their context.
	hang  bool
	calls int
}

func (l *link) cut(err error) { l.mu.Lock(); l.err = err; l.mu.Unlock() }
func (l *link) freeze()       { l.mu.Lock(); l.hang = true; l.mu.Unlock() }

func (l *link) pass(ctx context.Context) error {
	l.mu.Lock()
	err, hang := l.err, l.hang
	l.calls++
	l.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	return ctx.Err()
}

func (l *link) ClaimLease(ctx context.Context, holder string, d time.Duration) (int64, bool, error) {
	if err := l.pass(ctx); err != nil {
		return 0, false, err
	}
	l.row.mu.Lock()
	defer l.row.mu.Unlock()
	now := clock.System{}.Now()
	if l.row.epoch > 0 && !l.row.free && now.Sub(l.row.heartbeat) <= d {
		return l.row.epoch, false, nil
	}
	l.row.epoch++
	l.row.holder, l.row.heartbeat, l.row.free = holder, now, false
	return l.row.epoch, true, nil
}

func (l *link) BeatLease(ctx context.Context, epoch int64, holder string) error {
	return l.change(ctx, epoch, holder, func() { l.row.heartbeat = clock.System{}.Now() })
}

func (l *link) ReleaseLease(ctx context.Context, epoch int64, holder string) error {
	return l.change(ctx, epoch, holder, func() { l.row.free = true })
}

func (l *link) change(ctx context.Context, epoch int64, holder string, fn func()) error {
	if err := l.pass(ctx); err != nil {
		return err
	}
	l.row.mu.Lock()
	defer l.row.mu.Unlock()
	if l.row.epoch != epoch || l.row.holder != holder || l.row.free {
		return fault.ErrFenced
	}
	fn()
	return nil
}

// steal is what a takeover by somebody else does to the row.
func (r *row) steal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.holder, r.heartbeat = "thief", clock.System{}.Now()
}

// instance runs a lease and records what its lead saw.
type instance struct {
	link  *link
	lease *lease.Lease
	reg   *prometheus.Registry
	log   *strings.Builder
	stop  context.CancelFunc
	done  chan error

	mu      sync.Mutex
	epochs  []int64
	causes  []error
	leading bool
	since   time.Time
	// drain is how long lead takes to return once it was cancelled.
	drain time.Duration
}

func start(t *testing.T, r *row, name string) *instance {
	t.Helper()
	return startWith(t, r, name, 0)
}

func startWith(t *testing.T, r *row, name string, drain time.Duration) *instance {
	t.Helper()
	i := &instance{link: &link{row: r}, reg: prometheus.NewRegistry(), log: &strings.Builder{}, done: make(chan error, 1), drain: drain}
	i.lease = lease.New(i.link, lease.Options{Holder: name, Lease: term, Registerer: i.reg,
		Log: slog.New(slog.NewTextHandler(i.log, nil))})
	ctx, stop := context.WithCancel(t.Context())
	i.stop = stop
	go func() { i.done <- i.lease.Run(ctx, i.lead) }()
	return i
}

func (i *instance) lead(ctx context.Context, epoch int64) error {
	i.set(func() { i.epochs = append(i.epochs, epoch); i.leading = true; i.since = clock.System{}.Now() })
	<-ctx.Done()
	i.set(func() { i.causes = append(i.causes, context.Cause(ctx)) })
	_ = clock.Sleep(context.WithoutCancel(ctx), clock.System{}, i.drain)
	i.set(func() { i.leading = false })
	return nil
}

func (i *instance) set(fn func()) { i.mu.Lock(); defer i.mu.Unlock(); fn() }

func (i *instance) leads() bool { i.mu.Lock(); defer i.mu.Unlock(); return i.leading }

func (i *instance) lastCause() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.causes) == 0 {
		return nil
	}
	return i.causes[len(i.causes)-1]
}

func (i *instance) metric(t *testing.T, name string) float64 {
	t.Helper()
	families, err := i.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// after lets the given time pass and everything settle.
func after(d time.Duration) {
	<-clock.System{}.NewTimer(d).C()
	synctest.Wait()
}

func TestOneLeadsTheOtherStandsBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &row{}
		a := start(t, r, "a")
		after(time.Millisecond)
		b := start(t, r, "b")
		after(5 * term)
		if !a.leads() || b.leads() {
			t.Fatalf("after five terms a leads %v, b leads %v; want a alone", a.leads(), b.leads())
		}
		if !a.lease.Valid() || !errors.Is(b.lease.Held(), lease.ErrStandby) {
			t.Errorf("a.Held() = %v, b.Held() = %v; want nil and ErrStandby", a.lease.Held(), b.lease.Held())
		}
		if a.metric(t, "msgx_lease_leading") != 1 || b.metric(t, "msgx_lease_leading") != 0 || a.metric(t, "msgx_lease_epoch") != 1 {
			t.Error("metrics do not tell that a leads in epoch 1 and b does not")
		}
		if n := strings.Count(b.log.String(), "standing by"); n != 1 {
			t.Errorf("b logged %d times that it stands by, want once:\n%s", n, b.log)
		}

		// A clean stop hands over at once, not after the lease.
		stopped := clock.System{}.Now()
		a.stop()
		after(time.Second + time.Millisecond)
		if err := <-a.done; err != nil {
			t.Errorf("Run of a = %v, want nil", err)
		}
		if !b.leads() {
			t.Fatalf("b does not lead %v after a's clean stop", clock.System{}.Now().Sub(stopped))
		}
		if b.metric(t, "msgx_lease_epoch") != 2 {
			t.Errorf("epoch of b is %v, want 2", b.metric(t, "msgx_lease_epoch"))
		}
		b.stop()
		<-b.done
	})
}

func TestKilledLeaderIsReplacedWithinLeasePlusASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &row{}
		a := start(t, r, "a")
		after(time.Millisecond)
		b := start(t, r, "b")
		after(term + 7*time.Second)
		killed := clock.System{}.Now()
		a.link.freeze() // a killed process neither beats nor releases
		after(term + time.Second)
		if !b.leads() {
			t.Fatal("b does not lead a lease and a second after a fell silent")
		}
		if b.since.Sub(killed) > term+time.Second {
			t.Errorf("takeover after %v, want at most %v", b.since.Sub(killed), term+time.Second)
		}
		// a gave up before b could take over: they never overlapped.
		if a.leads() || a.lease.Valid() {
			t.Error("a believes that it still leads")
		}
		if !errors.Is(a.lastCause(), lease.ErrExpired) {
			t.Errorf("a was cancelled with %v, want ErrExpired", a.lastCause())
		}
		a.stop()
		b.stop()
		<-a.done
		<-b.done
	})
}

func TestFencedBeatEndsLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &row{}
		a := start(t, r, "a")
		after(time.Millisecond)
		r.steal()
		after(term/3 + time.Millisecond)
		if a.leads() || !errors.Is(a.lastCause(), fault.ErrFenced) {
			t.Fatalf("a leads %v, cause %v; want cancelled with ErrFenced within a third of the lease", a.leads(), a.lastCause())
		}
		if a.metric(t, "msgx_lease_leading") != 0 {
			t.Error("msgx_lease_leading is still 1")
		}
		// The thief falls silent too; a leads again, in a newer epoch.
		after(term + time.Second)
		if !a.leads() || a.metric(t, "msgx_lease_epoch") != 3 {
			t.Errorf("a leads %v in epoch %v, want again in 3", a.leads(), a.metric(t, "msgx_lease_epoch"))
		}
		a.stop()
		<-a.done
	})
}

func TestShortOutageKeepsLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &row{}
		a := start(t, r, "a")
		after(time.Millisecond)
		a.link.cut(fault.ErrUnavailable)
		after(term / 2)
		if !a.leads() || !a.lease.Valid() {
			t.Fatal("an outage of half a lease ended leadership")
		}
		a.link.cut(nil)
		after(5 * term)
		if !a.leads() || len(a.epochs) != 1 {
			t.Errorf("leads %v in epochs %v, want still in the first", a.leads(), a.epochs)
		}
		text := a.log.String()
		if strings.Count(text, "lease not renewed") != 1 || strings.Count(text, "lease renewed again") != 1 {
			t.Errorf("want one line when the database went and one when it was back:\n%s", text)
		}
		a.stop()
		<-a.done
	})
}

func TestTrustEndsBeforeTheLease(t *testing.T) {
	for _, cut := range []struct {
		name string
		do   func(*link)
	}{
		{"connection refused", func(l *link) { l.cut(fault.ErrUnavailable) }},
		{"beat hangs", func(l *link) { l.freeze() }},
	} {
		t.Run(cut.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &row{}
				a := start(t, r, "a")
				after(time.Millisecond)
				cut.do(a.link)
				after(term - 2*time.Second - 2*time.Millisecond)
				if !a.lease.Valid() {
					t.Error("trust ended before lease minus margin")
				}
				after(2 * time.Millisecond)
				if a.lease.Valid() || a.leads() || !errors.Is(a.lastCause(), lease.ErrExpired) {
					t.Errorf("lease minus margin after the claim: Valid %v, leads %v, cause %v; want given up with ErrExpired",
						a.lease.Valid(), a.leads(), a.lastCause())
				}
				a.stop()
				<-a.done
			})
		})
	}
}

func TestLeaseIsHeldWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &row{}
		a := startWith(t, r, "a", 3*term)
		after(time.Millisecond)
		b := start(t, r, "b")
		a.stop()
		after(3*term - time.Second)
		if b.leads() || !a.lease.Valid() {
			t.Fatalf("while a drains: b leads %v, a.Held() %v; want a to hold the lease", b.leads(), a.lease.Held())
		}
		after(2*time.Second + time.Millisecond)
		if !b.leads() {
			t.Error("b does not lead a second after a had drained")
		}
		<-a.done
		b.stop()
		<-b.done
	})
}

func TestLeadsOwnErrorEndsRun(t *testing.T) {
	broken := errors.New("port in use")
	tests := []struct {
		name    string
		err     error
		want    error
		retries bool
	}{
		{"own error", broken, broken, false},
		{"no error", nil, nil, false},
		{"fenced", fault.ErrFenced, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := lease.New(&link{row: &row{}}, lease.Options{Holder: "a", Lease: term})
				ctx, cancel := context.WithCancel(t.Context())
				leads := 0
				err := l.Run(ctx, func(context.Context, int64) error {
					leads++
					if leads == 2 {
						cancel()
					}
					return tt.err
				})
				if !errors.Is(err, tt.want) || (leads == 2) != tt.retries {
					t.Errorf("Run = %v after leading %d times, want %v, leading again %v", err, leads, tt.want, tt.retries)
				}
				cancel()
			})
		})
	}
}

func TestClaimThatSucceedsDuringShutdownIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &lateClaim{link: link{row: &row{}}, cancel: cancel}
		err := lease.New(s, lease.Options{Holder: "a", Lease: term}).Run(ctx, func(context.Context, int64) error {
			t.Error("lead was called after the end")
			return nil
		})
		if err != nil || !s.row.free {
			t.Errorf("Run = %v, lease free %v; want nil and released", err, s.row.free)
		}
	})
}

// lateClaim is a claim whose answer arrives after the instance was stopped.
type lateClaim struct {
	link
	cancel context.CancelFunc
}

func (l *lateClaim) ClaimLease(ctx context.Context, holder string, d time.Duration) (int64, bool, error) {
	epoch, ok, err := l.link.ClaimLease(ctx, holder, d)
	l.cancel()
	return epoch, ok, err
}

func TestStandbyLogsAnOutageOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &row{}
		i := &instance{link: &link{row: r, err: fault.ErrUnavailable}, log: &strings.Builder{}, done: make(chan error, 1)}
		i.lease = lease.New(i.link, lease.Options{Holder: "a", Lease: term, Log: slog.New(slog.NewTextHandler(i.log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { i.done <- i.lease.Run(ctx, i.lead) }()
		after(time.Minute)
		i.link.cut(nil)
		after(2 * time.Second)
		if !i.leads() {
			t.Error("does not lead two seconds after the database came back")
		}
		text := i.log.String()
		if strings.Count(text, "cannot ask for the lease") != 1 || strings.Count(text, "can be asked for again") != 1 {
			t.Errorf("want one line when the database went and one when it was back:\n%s", text)
		}
		cancel()
		<-i.done
	})
}
