package shadow_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/ruleset"
	"msgx/engine/shadow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = 10 * time.Second

// book is a shadow rule set whose judgement the test says.
type book struct {
	reads []string
	says  func(msg *message.Message) string
	late  func() bool
}

func (b *book) Claim(*message.Message) decision.Claim { return decision.Claim{RefTypes: b.reads} }

func (b *book) Judge(m *message.Message, _ decision.Claimed, _ time.Time) decision.Settlement {
	return decision.Settlement{Outcome: message.Outcome{State: message.Skipped, Reason: b.says(m)}}
}

// place is a directory and a database in memory.
type place struct {
	mu    sync.Mutex
	text  string // what lies in the directory, "" when it is away
	books map[string]*book
	fails error // what writing returns next
	found map[ruleset.Run]*ruleset.Findings
	now   ruleset.ShadowNow
}

func (p *place) write(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = text
}

func (p *place) read() (map[string][]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text == "" {
		return nil, errors.New("no such directory")
	}
	return map[string][]byte{"handlers.lua": []byte(p.text)}, nil
}

func (p *place) load(files map[string][]byte, late func() bool) (shadow.Judge, string, error) {
	text := string(files["handlers.lua"])
	b := p.books[text]
	if b == nil {
		return nil, "", errors.New("handlers.lua:1: broken")
	}
	b.late = late
	return b, text, nil
}

func (p *place) AddShadow(_ context.Context, f ruleset.Findings) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.fails; err != nil {
		p.fails = nil
		return err
	}
	all := p.found[f.Run]
	if all == nil {
		all = &ruleset.Findings{Counts: map[ruleset.Spot]int64{}}
		p.found[f.Run] = all
	}
	all.Tally.Add(f.Tally)
	for spot, n := range f.Counts {
		all.Counts[spot] += n
	}
	all.Examples = append(all.Examples, f.Examples...)
	return nil
}

func (p *place) SetShadowNow(_ context.Context, n *ruleset.ShadowNow) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = *n
	return nil
}

// outcomes compares what two settlements come to.
func outcomes(live, beside *decision.Settlement) []ruleset.Difference {
	if live.Outcome.Reason == beside.Outcome.Reason {
		return nil
	}
	return []ruleset.Difference{{Spot: ruleset.Spot{Place: "outcome"}, Live: live.Outcome.Reason, Shadow: beside.Outcome.Reason}}
}

func newPlace(text string, books map[string]*book) *place {
	return &place{text: text, books: books, found: map[ruleset.Run]*ruleset.Findings{}}
}

func (p *place) run(t *testing.T, o shadow.Options) *shadow.Shadow {
	t.Helper()
	o.Every, o.Flush = time.Millisecond, time.Millisecond
	s := shadow.New(shadow.Needs{Origin: "here", Read: p.read, Load: p.load, Compare: outcomes, Writer: p, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)}, o)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return s
}

func (p *place) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		p.mu.Lock()
		done := ok()
		now, found := p.now, p.found
		p.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s: now %+v, found %+v", patience, what, now, found)
		}
		_ = clock.Sleep(t.Context(), clock.System{}, time.Millisecond)
	}
}

func (p *place) untilLoaded(t *testing.T, hash string) {
	t.Helper()
	p.until(t, hash+" to be loaded", func() bool { return p.now.Hash == hash && (hash == "") == (p.now.Fault != "") })
}

// offer offers messages that the live rule set has decided to skip because of why.
func offer(s *shadow.Shadow, live, why string, ids ...int64) {
	for _, id := range ids {
		s.Offer(&message.Message{ID: id, Kind: "FLOP-STND", Family: message.Operation}, decision.Claim{RefTypes: []string{"SLST"}}, decision.Claimed{},
			decision.Settlement{MsgID: id, Ruleset: live, Outcome: message.Outcome{State: message.Skipped, Reason: why}})
	}
}

func says(text string) func(*message.Message) string {
	return func(*message.Message) string { return text }
}

func TestCountsByThePairOfRuleSets(t *testing.T) {
	p := newPlace("a", map[string]*book{"a": {says: says("x")}, "b": {says: says("y"), reads: []string{"SLST"}}, "c": {says: says("x"), reads: []string{"PLST"}}})
	s := p.run(t, shadow.Options{})
	p.untilLoaded(t, "a")
	spot := ruleset.Spot{Kind: "FLOP-STND", Place: "outcome"}
	total := func(shadow, live string) ruleset.Tally {
		if f := p.found[ruleset.Run{Shadow: shadow, Live: live}]; f != nil {
			return f.Tally
		}
		return ruleset.Tally{}
	}
	offer(s, "one", "x", 1, 2)
	offer(s, "one", "z", 3)
	p.until(t, "three of one", func() bool { return total("a", "one") == ruleset.Tally{Same: 2, Different: 1} })
	offer(s, "two", "z", 4)
	p.until(t, "one of two", func() bool { return total("a", "two") == ruleset.Tally{Different: 1} })
	p.write("b")
	p.untilLoaded(t, "b")
	offer(s, "two", "y", 5)
	p.until(t, "one of b", func() bool { return total("b", "two") == ruleset.Tally{Same: 1} })
	// It looks at reference data that was not read.
	p.write("c")
	p.untilLoaded(t, "c")
	offer(s, "two", "y", 6)
	p.until(t, "one unread", func() bool { return total("c", "two") == ruleset.Tally{Unread: 1} })
	if got := s.Status().Tally; got != (ruleset.Tally{Unread: 1}) {
		t.Errorf("status counts %+v since it was loaded, want one unread", got)
	}
	got := p.found[ruleset.Run{Shadow: "a", Live: "one"}]
	if diff := cmp.Diff(map[ruleset.Spot]int64{spot: 1}, got.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	want := []ruleset.Difference{{Spot: spot, MsgID: 3, Live: "z", Shadow: "x"}}
	if diff := cmp.Diff(want, got.Examples); diff != "" {
		t.Errorf("examples (-want +got):\n%s", diff)
	}
}

// A shadow that does not load is told and harms nothing; nor does one that panics, or what nobody knows.
func TestFaultyShadows(t *testing.T) {
	p := newPlace("broken", map[string]*book{"panics": {says: func(*message.Message) string { panic("no") }}})
	s := p.run(t, shadow.Options{})
	p.untilLoaded(t, "")
	offer(s, "one", "x", 1)
	p.write("panics")
	p.untilLoaded(t, "panics")
	s.Offer(&message.Message{ID: 2, Kind: "WHAT", Family: message.Unsupported}, decision.Claim{}, decision.Claimed{}, decision.Settlement{MsgID: 2, Ruleset: "one"})
	offer(s, "one", "x", 3)
	run := ruleset.Run{Shadow: "panics", Live: "one"}
	p.until(t, "one different", func() bool { return p.found[run] != nil && p.found[run].Tally == ruleset.Tally{Different: 1} })
	if got := p.found[run].Examples[0]; got.Shadow != "panicked: no" {
		t.Errorf("example %+v, want the panic", got)
	}
	// What is loaded goes on while the directory is away.
	p.write("")
	offer(s, "one", "x", 4)
	p.until(t, "two different", func() bool { return p.found[run].Tally.Different == 2 })
	p.write("broken again")
	p.untilLoaded(t, "")
}

// However slow the shadow is, whoever offers never waits; what the queue has no room for is counted.
func TestASlowShadowDropsAndNeverHolds(t *testing.T) {
	release, deciding := make(chan struct{}), make(chan struct{}, 1000)
	p := newPlace("slow", map[string]*book{"slow": {says: func(*message.Message) string { deciding <- struct{}{}; <-release; return "x" }}})
	s := p.run(t, shadow.Options{Queue: 10, Records: 50, Time: time.Hour})
	p.untilLoaded(t, "slow")
	offer(s, "one", "x", 1)
	<-deciding // the first is being decided, and will be until released
	var ids []int64
	for id := int64(2); id <= 101; id++ {
		ids = append(ids, id)
	}
	offer(s, "one", "x", ids...) // returns at once: nobody takes anything out of the queue
	close(release)
	run := ruleset.Run{Shadow: "slow", Live: "one"}
	p.until(t, "all to be accounted for", func() bool {
		f := p.found[run]
		return f != nil && f.Tally == ruleset.Tally{Same: 11, Dropped: 90}
	})

	// A few messages of many records fill it as well, and one that is larger than all the room passes alone.
	large := &message.Message{ID: 200, Kind: "SCHD-DNLD", Family: message.Schedule, Records: make([]message.Record, 60)}
	said := decision.Settlement{MsgID: 200, Ruleset: "two", Outcome: message.Outcome{State: message.Skipped, Reason: "x"}}
	s.Offer(large, decision.Claim{}, decision.Claimed{View: decision.View{Flights: map[flight.ID]*flight.State{}}}, said)
	p.until(t, "the large one", func() bool {
		f := p.found[ruleset.Run{Shadow: "slow", Live: "two"}]
		return f != nil && f.Tally.Same == 1
	})
}

// Time of its own ends a decision.
func TestAShadowThatTakesTooLong(t *testing.T) {
	b := &book{}
	b.says = func(m *message.Message) string {
		for m.ID == 1 && !b.late() { // until it is told to stop
		}
		return "x"
	}
	p := newPlace("endless", map[string]*book{"endless": b})
	s := p.run(t, shadow.Options{Time: 20 * time.Millisecond})
	p.untilLoaded(t, "endless")
	offer(s, "one", "x", 1, 2)
	run := ruleset.Run{Shadow: "endless", Live: "one"}
	p.until(t, "one late and one not", func() bool { f := p.found[run]; return f != nil && f.Tally.Late == 1 && f.Tally.Same == 1 })
}

// What cannot be written now is written later; a lost lease ends the stage.
func TestWritingAgain(t *testing.T) {
	p := newPlace("a", map[string]*book{"a": {says: says("x")}})
	s := p.run(t, shadow.Options{})
	p.untilLoaded(t, "a")
	p.mu.Lock()
	p.fails = fault.ErrUnavailable
	p.mu.Unlock()
	offer(s, "one", "z", 1, 2, 3)
	run := ruleset.Run{Shadow: "a", Live: "one"}
	p.until(t, "three", func() bool { return p.found[run] != nil && p.found[run].Tally.Different == 3 })

	q := newPlace("a", map[string]*book{"a": {says: says("x")}})
	q.fails = fault.ErrFenced
	fenced := shadow.New(shadow.Needs{Origin: "here", Read: q.read, Load: q.load, Compare: outcomes, Writer: q, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)},
		shadow.Options{Every: time.Millisecond, Flush: time.Millisecond})
	var running sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	running.Go(func() {
		if err := fenced.Run(ctx); !errors.Is(err, fault.ErrFenced) {
			t.Errorf("ended with %v, want ErrFenced", err)
		}
		cancel()
	})
	for id := int64(1); ctx.Err() == nil; id++ {
		offer(fenced, "one", "x", id)
		_ = clock.Sleep(ctx, clock.System{}, time.Millisecond)
	}
	running.Wait()
}
