package pump_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/pump"
)

// scenario is a run of a pump in a world full of trouble.
type scenario struct {
	scripts   map[int64]script
	late      map[int64]bool // ids that turn up in the middle of the run
	watermark int64
	disturbs  []disturbance
	lenient   bool
	options   pump.Options
}

// disturbance is something that happens at a moment of the run.
type disturbance struct {
	after time.Duration
	what  string
	id    int64
}

var everyFate = []fate{succeed, succeed, succeed, skip, malformed, protocol, codecError, decodePanic, unsupported,
	ruleError, judgePanic, claimPanic, infra, unreadable, absent, copied}

var everyDisturbance = []string{"restart", "replay", "replay", "skip", "late", "watermark", "pause", "resume",
	"database down", "database up", "mailbox down", "mailbox up", "takeover", "poke"}

func drawScenario(t *rapid.T) scenario {
	n := rapid.Int64Range(1, 25).Draw(t, "messages")
	s := scenario{scripts: map[int64]script{}, late: map[int64]bool{},
		watermark: rapid.Int64Range(0, n).Draw(t, "watermark"), lenient: rapid.Bool().Draw(t, "lenient settle"),
		options: pump.Options{Ahead: rapid.IntRange(1, 8).Draw(t, "ahead"),
			AheadBytes: rapid.Int64Range(1, 60).Draw(t, "ahead bytes"), KeepRaw: true}}
	for id := int64(1); id <= n; id++ {
		s.scripts[id] = script{
			fates: rapid.SliceOfN(rapid.SampledFrom(everyFate), 1, 6).Draw(t, fmt.Sprintf("fates of %d", id)),
			hiccups: rapid.SliceOfN(rapid.SampledFrom([]hiccup{none, none, away, doubtCommitted, doubtLost, moved}), 0, 3).
				Draw(t, fmt.Sprintf("hiccups of %d", id)),
		}
		s.late[id] = rapid.IntRange(0, 9).Draw(t, fmt.Sprintf("late %d", id)) == 0
	}
	for i := range rapid.IntRange(0, 25).Draw(t, "disturbances") {
		s.disturbs = append(s.disturbs, disturbance{
			after: time.Duration(rapid.IntRange(0, 4000).Draw(t, fmt.Sprintf("after %d ms", i))) * time.Millisecond / 2,
			what:  rapid.SampledFrom(everyDisturbance).Draw(t, "what"),
			id:    rapid.Int64Range(1, n).Draw(t, "id"),
		})
	}
	return s
}

// expected is where a message ends that nobody interferes with.
func expected(s script) row {
	var last row
	for attempts := range 5 {
		f := s.at(attempts)
		failed := func(class message.ErrorClass, reason string) row {
			if attempts == 4 {
				return row{State: message.Dead, Class: message.Exhausted, Reason: string(class) + ": " + reason, Attempts: 5}
			}
			return row{State: message.Failed}
		}
		switch f {
		case succeed, copied:
			last = row{State: message.Succeeded, Attempts: attempts}
		case skip:
			last = row{State: message.Skipped, Reason: "no match", Attempts: attempts}
		case malformed:
			last = dead(message.Malformed, "codec: MALFORMED", attempts+1)
		case protocol:
			last = dead(message.Protocol, "count", attempts+1)
		case absent:
			last = dead(message.Malformed, pump.RawMissing, attempts+1)
		case codecError:
			last = failed(message.CodecError, "codec: CODEC_ERROR")
		case decodePanic:
			last = failed(message.CodecError, "decoder panicked: decoder bug\uFFFD")
		case unsupported:
			last = failed(message.UnsupportedErr, "kind")
		case ruleError:
			last = failed(message.RuleError, "x.lua:1")
		case judgePanic:
			last = failed(message.RuleError, "judge panicked: rule host bug")
		case claimPanic:
			last = failed(message.RuleError, "judge panicked: claim bug")
		case infra:
			last = failed(message.Infra, "constraint violated")
		case unreadable:
			last = failed(message.Infra, "read body: body cannot be read\uFFFD")
		}
		if last.State != message.Failed {
			break
		}
	}
	return last
}

// TestOrderAndOutcomeInTrouble: whatever goes wrong around it, the pump never
// decides anything but the head, never early, never twice, and every message
// ends where its own attempts lead. The model refuses and records the rest.
func TestOrderAndOutcomeInTrouble(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		var problem string
		synctest.Test(t, func(t *testing.T) { problem = s.run(t) })
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// life is one run of a scenario.
type life struct {
	*model
	options pump.Options
	pump    *pump.Pump
	cancel  context.CancelFunc
	done    chan error
	want    map[int64]row
	problem string
}

func (l *life) start(t *testing.T) {
	l.pump = pump.New(pump.Parts{Line: l, Writer: writer{l.model, l.epoch}, Mailbox: l, Decoder: l, Judge: l,
		Log: slog.New(slog.DiscardHandler)}, l.options)
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel, l.done = cancel, make(chan error, 1)
	go func(done chan<- error, p *pump.Pump) { done <- p.Run(ctx) }(l.done, l.pump)
}

func (l *life) stop(fenced bool) {
	l.cancel()
	if err := <-l.done; err != nil && (!fenced || !errors.Is(err, fault.ErrFenced)) {
		l.problem = fmt.Sprintf("Run = %v", err)
	}
}

func (s scenario) run(t *testing.T) string {
	l := &life{model: newModel(s.watermark, map[int64]script{}), options: s.options, want: map[int64]row{}}
	l.lenient = s.lenient
	for id, script := range s.scripts {
		l.scripts[id] = script
		l.want[id] = expected(script)
		if !s.late[id] {
			l.rows[id] = &row{State: message.Pending}
		}
	}
	l.start(t)
	for _, d := range s.disturbs {
		<-clock.System{}.NewTimer(d.after).C()
		l.disturb(t, d)
	}
	// Peace: everything arrives, everything is up.
	l.do(func() {
		for id := range s.scripts {
			if l.rows[id] == nil {
				l.rows[id] = &row{State: message.Pending}
			}
		}
		l.down, l.downMail, l.paused, l.watermark = false, false, time.Time{}, int64(len(s.scripts))
	})
	<-clock.System{}.NewTimer(time.Hour).C()
	l.stop(false)
	if l.problem != "" {
		return l.problem
	}
	if len(l.violations) > 0 {
		return fmt.Sprint("violations: ", l.violations)
	}
	if diff := cmp.Diff(l.want, l.snapshot(), rowDiff); diff != "" {
		return "rows (-want +got):\n" + diff
	}
	for id, r := range l.rows {
		if r.State == message.Succeeded && r.applied != 1 {
			return fmt.Sprintf("message %d was applied %d times", id, r.applied)
		}
		if wantID := fmt.Sprint("id|", id); r.identity != "" && r.identity != wantID {
			return fmt.Sprintf("message %d bound %q", id, r.identity)
		}
	}
	return ""
}

func (l *life) disturb(t *testing.T, d disturbance) {
	switch d.what {
	case "restart":
		l.stop(false)
		l.start(t)
		return
	case "takeover":
		l.do(func() { l.epoch++ })
		l.stop(true)
		l.start(t)
		return
	case "poke":
		l.pump.Poke()
		return
	}
	l.do(func() { l.change(d) })
}

// change is what operators, servers and the inbox do to the rows.
func (l *life) change(d disturbance) {
	r := l.rows[d.id]
	switch d.what {
	case "replay":
		if r != nil && (r.State.Terminal() || r.State == message.Failed) && l.want[d.id].Reason != "operator" {
			*r = row{State: message.Pending, identity: r.identity}
		}
	case "skip":
		if r != nil && !r.State.Terminal() {
			*r = row{State: message.Skipped, Reason: "operator"}
			l.want[d.id] = *r
		}
	case "late":
		if r == nil {
			l.rows[d.id] = &row{State: message.Pending}
		}
	case "watermark":
		l.watermark = max(l.watermark, d.id)
	case "pause":
		if l.paused.IsZero() {
			l.paused = now()
		}
	case "resume":
		l.paused = time.Time{}
	case "database down", "database up":
		l.down = d.what == "database down"
	case "mailbox down", "mailbox up":
		l.downMail = d.what == "mailbox down"
	}
}

// TestOrderFollowsTheLine: without anything from outside, the order of commits
// is the order of ids, failures repeated in place.
func TestOrderFollowsTheLine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		s.disturbs, s.late = nil, map[int64]bool{}
		var order []int64
		synctest.Test(t, func(t *testing.T) {
			m := newModel(int64(len(s.scripts)), s.scripts)
			m.lenient = s.lenient
			r := start(t, m, s.options)
			<-clock.System{}.NewTimer(time.Hour).C()
			r.stop()
			order = r.order
		})
		if !slices.IsSorted(order) {
			rt.Fatalf("committed in the order %v", order)
		}
		if len(slices.Compact(slices.Clone(order))) != len(s.scripts) {
			rt.Fatalf("committed %v, want every id of %d", order, len(s.scripts))
		}
	})
}
