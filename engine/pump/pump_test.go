package pump_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/pump"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a pump at work on a model.
type running struct {
	*model
	pump   *pump.Pump
	log    *strings.Builder
	reg    *prometheus.Registry
	cancel context.CancelFunc
	done   chan error
	woken  map[string]int
}

func start(t testing.TB, m *model, o pump.Options) *running {
	t.Helper()
	r := &running{model: m, log: &strings.Builder{}, reg: prometheus.NewRegistry(), done: make(chan error, 1), woken: map[string]int{}}
	o.Kinds = []string{"FLOP-STND"}
	o.WakeBackfill = func() { r.woken["backfill"]++ }
	o.WakeOutbox = func() { r.woken["outbox"]++ }
	r.pump = pump.New(pump.Parts{Line: m, Writer: writer{m, m.epoch}, Mailbox: m, Decoder: m, Judge: m,
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Metrics: r.reg}, o)
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	go func() { r.done <- r.pump.Run(ctx) }()
	return r
}

// stop ends the pump and returns what Run said.
func (r *running) stop() error {
	r.cancel()
	return <-r.done
}

// after lets the given time pass and everything settle.
func after(d time.Duration) {
	<-clock.System{}.NewTimer(d).C()
	synctest.Wait()
}

func (m *model) snapshot() map[int64]row {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[int64]row{}
	for id, r := range m.rows {
		out[id] = *r
	}
	return out
}

var rowDiff = cmp.Options{cmpopts.IgnoreUnexported(row{})}

func (r *running) check(t *testing.T, want map[int64]row) {
	t.Helper()
	if diff := cmp.Diff(want, r.snapshot(), rowDiff); diff != "" {
		t.Errorf("rows (-want +got):\n%s\nlog:\n%s", diff, r.log)
	}
	for _, v := range r.violations {
		t.Error("violation:", v)
	}
}

// succeeded is what becomes of the neighbours.
var succeeded = row{State: message.Succeeded}

func dead(class message.ErrorClass, reason string, attempts int) row {
	return row{State: message.Dead, Class: class, Reason: reason, Attempts: attempts}
}

// TestFailureTable sends a message of each fate between two good ones: it ends
// as the table says, and the next message flows.
func TestFailureTable(t *testing.T) {
	const backOff = 15 * time.Second // 1 + 2 + 4 + 8
	tests := []struct {
		name   string
		script script
		want   row
		takes  time.Duration
	}{
		{"good", script{fates: []fate{succeed}}, succeeded, 0},
		{"skipped", script{fates: []fate{skip}}, row{State: message.Skipped, Reason: "no match"}, 0},
		{"raw in neither place", script{fates: []fate{absent}}, dead(message.Malformed, "raw-missing", 1), 0},
		{"raw in our own copies only", script{fates: []fate{copied, succeed}}, succeeded, 0},
		{"malformed", script{fates: []fate{malformed}}, dead(message.Malformed, "codec: MALFORMED", 1), 0},
		{"protocol", script{fates: []fate{protocol}}, dead(message.Protocol, "count", 1), 0},
		{"codec error to the end", script{fates: []fate{codecError}},
			dead(message.Exhausted, "CODEC_ERROR: codec: CODEC_ERROR", 5), backOff},
		{"codec error once", script{fates: []fate{codecError, succeed}},
			row{State: message.Succeeded, Attempts: 1}, time.Second},
		{"unsupported", script{fates: []fate{unsupported}}, dead(message.Exhausted, "UNSUPPORTED: kind", 5), backOff},
		{"rule error", script{fates: []fate{ruleError}}, dead(message.Exhausted, "RULE_ERROR: x.lua:1", 5), backOff},
		{"rule error, then dead", script{fates: []fate{ruleError, ruleError, protocol}},
			dead(message.Protocol, "count", 3), 3 * time.Second},
		{"transaction fails", script{fates: []fate{infra}}, dead(message.Exhausted, "INFRA: constraint violated", 5), backOff},
		{"transaction fails once", script{fates: []fate{infra, succeed}}, row{State: message.Succeeded, Attempts: 1}, time.Second},
		{"body unreadable", script{fates: []fate{unreadable}},
			dead(message.Exhausted, "INFRA: read body: body cannot be read\uFFFD", 5), backOff},
		{"body unreadable twice", script{fates: []fate{unreadable, unreadable, succeed}},
			row{State: message.Succeeded, Attempts: 2}, 3 * time.Second},
		{"decoder panics", script{fates: []fate{decodePanic}},
			dead(message.Exhausted, "CODEC_ERROR: decoder panicked: decoder bug\uFFFD", 5), backOff},
		{"judge panics", script{fates: []fate{judgePanic}},
			dead(message.Exhausted, "RULE_ERROR: judge panicked: rule host bug", 5), backOff},
		{"claim panics", script{fates: []fate{claimPanic}},
			dead(message.Exhausted, "RULE_ERROR: judge panicked: claim bug", 5), backOff},
		{"away while deciding", script{fates: []fate{succeed}, hiccups: []hiccup{away, away, away}}, succeeded, 1750 * time.Millisecond},
		{"away while settling", script{fates: []fate{malformed}, hiccups: []hiccup{away}},
			dead(message.Malformed, "codec: MALFORMED", 1), 250 * time.Millisecond},
		{"moved", script{fates: []fate{succeed}, hiccups: []hiccup{moved}}, succeeded, 0},
		{"moved again and again", script{fates: []fate{succeed}, hiccups: []hiccup{moved, moved, moved}}, succeeded, 500 * time.Millisecond},
		{"commit in doubt, committed", script{fates: []fate{succeed}, hiccups: []hiccup{doubtCommitted}}, succeeded, 0},
		{"commit in doubt, lost", script{fates: []fate{succeed}, hiccups: []hiccup{doubtLost, doubtLost}}, succeeded, 0},
		{"failure in doubt, committed", script{fates: []fate{ruleError, succeed}, hiccups: []hiccup{doubtCommitted}},
			row{State: message.Succeeded, Attempts: 1}, time.Second},
		{"settlement in doubt, lost", script{fates: []fate{malformed}, hiccups: []hiccup{doubtLost}},
			dead(message.Malformed, "codec: MALFORMED", 1), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				good := script{fates: []fate{succeed}}
				r := start(t, newModel(3, map[int64]script{1: good, 2: tt.script, 3: good}), pump.Options{})
				after(tt.takes + 100*time.Millisecond)
				want := map[int64]row{1: succeeded, 2: tt.want, 3: succeeded}
				r.check(t, want)
				if err := r.stop(); err != nil {
					t.Errorf("Run = %v, want nil", err)
				}
				if !slices.IsSorted(r.order) {
					t.Errorf("order %v, want ascending", r.order)
				}
				for _, id := range []int64{1, 3} {
					if r.rows[id].Attempts != 0 {
						t.Errorf("message %d has %d attempts, want 0: the failure was not its own", id, r.rows[id].Attempts)
					}
				}
			})
		})
	}
}

func TestNothingOvertakesAFailedHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newModel(2, map[int64]script{1: {fates: []fate{ruleError, ruleError, succeed}}, 2: {fates: []fate{succeed}}}), pump.Options{})
		after(2900 * time.Millisecond)
		if got := r.snapshot(); got[1].State != message.Failed || got[1].Attempts != 2 || got[2].State != message.Pending {
			t.Errorf("2.9 s after the first failure: %+v, want 1 FAILED twice, 2 PENDING", got)
		}
		after(200 * time.Millisecond)
		if diff := cmp.Diff([]int64{1, 1, 1, 2}, r.order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		r.stop()
	})
}

func TestExhaustedHeadFoundAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(2, map[int64]script{1: {fates: []fate{succeed}}, 2: {fates: []fate{succeed}}})
		*m.rows[1] = row{State: message.Failed, Class: message.Infra, Reason: "timeout", Attempts: 5, next: now().Add(time.Hour)}
		m.rows[1].next = now() // the model minds an early attempt; whether it is due plays no part here
		r := start(t, m, pump.Options{})
		after(100 * time.Millisecond)
		r.check(t, map[int64]row{1: dead(message.Exhausted, "INFRA: timeout", 5), 2: succeeded})
		r.stop()
	})
}

func TestServerAwayIsLoggedOnceAndCountsNothing(t *testing.T) {
	cuts := map[string]func(m *model, down bool){
		"postgres": func(m *model, down bool) { m.down = down },
		"mailbox":  func(m *model, down bool) { m.downMail = down },
		// Out of disk: what can be read does not mean that it is back.
		"postgres, for writing": func(m *model, full bool) { m.full = full },
	}
	for _, name := range slices.Sorted(maps.Keys(cuts)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(1, map[int64]script{1: {fates: []fate{succeed}}})
				cuts[name](m, true)
				r := start(t, m, pump.Options{})
				after(time.Hour)
				server, _, _ := strings.Cut(name, ",")
				if n := max(m.calls["heads"], m.calls["paused"]); n > 2*3600/5+40 {
					t.Errorf("asked %d times in an hour, want at most twice every 5 s", n)
				}
				m.do(func() { cuts[name](m, false) })
				after(6 * time.Second)
				r.check(t, map[int64]row{1: succeeded})
				text := r.log.String()
				if strings.Count(text, "server is away") != 1 || strings.Count(text, "server is back") != 1 ||
					!strings.Contains(text, "server="+server) {
					t.Errorf("want one line each way naming %s:\n%s", name, text)
				}
				r.stop()
			})
		})
	}
}

func TestFencedEndsRun(t *testing.T) {
	for _, f := range []fate{succeed, malformed} {
		synctest.Test(t, func(t *testing.T) {
			m := newModel(1, map[int64]script{1: {fates: []fate{f}}})
			r := start(t, m, pump.Options{})
			m.do(func() { m.epoch++ })
			if err := <-r.done; !errors.Is(err, fault.ErrFenced) {
				t.Errorf("%s: Run = %v, want ErrFenced", f, err)
			}
			r.check(t, map[int64]row{1: {State: message.Pending}})
			r.cancel()
		})
	}
}

func TestAboveTheWatermarkWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := script{fates: []fate{succeed}}
		m := newModel(2, map[int64]script{1: good, 2: good, 5: good})
		r := start(t, m, pump.Options{})
		after(time.Minute)
		r.check(t, map[int64]row{1: succeeded, 2: succeeded, 5: {State: message.Pending}})
		if n := strings.Count(r.log.String(), "waits above the watermark"); n != 1 {
			t.Errorf("logged %d times in a minute, want once for a watermark:\n%s", n, r.log)
		}
		m.do(func() { m.watermark = 4 })
		after(time.Minute)
		if n := strings.Count(r.log.String(), "waits above the watermark"); n != 2 {
			t.Errorf("logged %d times, want once more for the new watermark", n)
		}
		m.do(func() { m.watermark = 5 })
		r.pump.Poke()
		after(100 * time.Millisecond)
		r.check(t, map[int64]row{1: succeeded, 2: succeeded, 5: succeeded})
		r.stop()
	})
}

func TestResolveGoesOnUntilItKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(1, map[int64]script{1: {fates: []fate{succeed}, hiccups: []hiccup{doubtCommitted}}})
		m.onJudged = func() { m.down = true }
		r := start(t, m, pump.Options{})
		after(time.Minute)
		if m.calls["decide"] != 1 {
			t.Errorf("decided %d times while the commit was in doubt, want once", m.calls["decide"])
		}
		m.do(func() { m.down = false })
		after(6 * time.Second)
		if m.calls["decide"] != 1 || r.woken["backfill"] != 1 || r.woken["outbox"] != 1 {
			t.Errorf("decided %d times, woken %v; want once each", m.calls["decide"], r.woken)
		}
		r.check(t, map[int64]row{1: succeeded})
		r.stop()
	})
}

func TestMetricsAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(4, map[int64]script{1: {fates: []fate{succeed}}, 2: {fates: []fate{skip}}, 3: {fates: []fate{malformed}},
			4: {fates: []fate{ruleError, ruleError, succeed}}})
		r := start(t, m, pump.Options{KeepRaw: true})
		after(2 * time.Second)
		want := strings.NewReader(`
# HELP msgx_pump_head_attempts Failures so far of the head of the line.
# TYPE msgx_pump_head_attempts gauge
msgx_pump_head_attempts 2
# HELP msgx_pump_messages_total Attempts by what became of the message, its kind and its error class.
# TYPE msgx_pump_messages_total counter
msgx_pump_messages_total{class="",kind="FLOP-STND",outcome="SKIPPED"} 1
msgx_pump_messages_total{class="",kind="FLOP-STND",outcome="SUCCEEDED"} 1
msgx_pump_messages_total{class="MALFORMED",kind="unknown",outcome="DEAD"} 1
msgx_pump_messages_total{class="RULE_ERROR",kind="FLOP-STND",outcome="FAILED"} 2
`)
		if err := testutil.GatherAndCompare(r.reg, want, "msgx_pump_messages_total", "msgx_pump_head_attempts"); err != nil {
			t.Error(err)
		}
		if r.woken["backfill"] != 3 || r.woken["outbox"] != 1 {
			t.Errorf("woken %v, want backfill 3 and outbox 1", r.woken)
		}
		for _, line := range []string{
			`level=DEBUG msg="message SUCCEEDED" msg_id=1 kind=FLOP-STND ruleset=rules`,
			`level=INFO msg="message SKIPPED" msg_id=2 kind=FLOP-STND reason="no match" ruleset=rules`,
			`level=ERROR msg="message DEAD" msg_id=3 kind="" class=MALFORMED attempts=1 reason="codec: MALFORMED"`,
			`level=WARN msg="message FAILED" msg_id=4 kind=FLOP-STND class=RULE_ERROR attempts=1 reason=x.lua:1 next_at=`,
		} {
			if !strings.Contains(r.log.String(), line) {
				t.Errorf("log lacks %q:\n%s", line, r.log)
			}
		}
		for id, row := range r.snapshot() {
			if !row.raw {
				t.Errorf("message %d: no copy of its body was kept", id)
			}
		}
		r.stop()
	})
}

func TestShadowOwesNoMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(1, map[int64]script{1: {fates: []fate{succeed}}})
		r := start(t, m, pump.Options{Shadow: true, IdentityMemory: time.Hour})
		after(time.Second)
		if m.last.OwesMark || m.last.Raw != nil || r.woken["backfill"] != 0 {
			t.Errorf("settlement %+v, woken %v; want no mark owed, no raw copy, back-fill left asleep", m.last, r.woken)
		}
		r.stop()
	})
}
