package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// trouble makes trouble for the servers and for the ways to them, one after the other. It belongs to the test's goroutine.
type trouble struct {
	r     *run
	rng   *rand.Rand
	deck  []func() // what comes next, shuffled; each once before any comes again
	names []string
}

func newTrouble(r *run) *trouble {
	return &trouble{r: r, rng: rand.New(rand.NewPCG(r.o.seed, 2))}
}

func (t *trouble) between(low, high time.Duration) time.Duration {
	return low + time.Duration(t.rng.Int64N(int64(high-low)))
}

// one makes one trouble and ends it.
func (t *trouble) one() {
	if len(t.deck) == 0 {
		t.shuffle()
	}
	next, name := t.deck[0], t.names[0]
	t.deck, t.names = t.deck[1:], t.names[1:]
	t.r.note("%s: begins", name)
	next()
	t.r.note("%s: is over", name)
	t.r.mu.Lock()
	t.r.troubles[name]++
	t.r.mu.Unlock()
	t.r.pause(t.between(time.Second, 4*time.Second))
}

func (t *trouble) shuffle() {
	add := func(name string, s *server, what func(*server)) {
		t.names = append(t.names, s.name+": "+name)
		t.deck = append(t.deck, func() { what(s) })
	}
	for _, s := range []*server{t.r.postgres, t.r.mariadb, t.r.kafka} {
		add("killed, and started again", s, t.kill)
		add("frozen", s, t.freeze)
		add("connections cut and refused", s, t.cut)
		add("connections reset", s, t.toxic(`{"type": "reset_peer", "attributes": {"timeout": 20}}`))
		add("nothing comes back", s, t.toxic(`{"type": "timeout", "attributes": {"timeout": 0}}`))
		add("nothing goes out", s, t.toxic(`{"type": "timeout", "stream": "upstream", "attributes": {"timeout": 0}}`))
		add("answers late", s, t.toxic(`{"type": "latency", "attributes": {"latency": 150, "jitter": 100}}`))
		add("answers cut in the middle", s, t.toxic(fmt.Sprintf(`{"type": "limit_data", "attributes": {"bytes": %d}}`, 200+t.rng.IntN(20_000))))
		add("requests cut in the middle", s, t.toxic(fmt.Sprintf(`{"type": "limit_data", "stream": "upstream", "attributes": {"bytes": %d}}`, 200+t.rng.IntN(20_000))))
		add("answers in small pieces", s, t.toxic(`{"type": "slicer", "attributes": {"average_size": 40, "size_variation": 30, "delay": 200}}`))
	}
	if t.r.quota {
		add("its disk full", t.r.postgres, t.full)
	}
	t.rng.Shuffle(len(t.deck), func(i, j int) {
		t.deck[i], t.deck[j], t.names[i], t.names[j] = t.deck[j], t.deck[i], t.names[j], t.names[i]
	})
}

func (t *trouble) kill(s *server) {
	s.Kill()
	t.r.pause(t.between(0, 700*time.Millisecond))
	s.Start()
}

// full fills the disk. A PostgreSQL that cannot write its log ends, and is started again when there is room.
func (t *trouble) full(s *server) {
	free := s.Fill()
	t.r.pause(t.between(300*time.Millisecond, 1500*time.Millisecond))
	free()
	s.Kill()
	s.Start()
}

// freeze stops a server for less than the commit delay that the producers keep.
func (t *trouble) freeze(s *server) {
	s.Freeze()
	if s == t.r.kafka {
		t.r.mu.Lock()
		t.r.brokerFrozen = time.Now().Add(time.Second)
		t.r.mu.Unlock()
	}
	time.Sleep(t.between(200*time.Millisecond, time.Second))
	s.Thaw()
	if s == t.r.kafka {
		t.r.mu.Lock()
		t.r.brokerFrozen = time.Now()
		t.r.mu.Unlock()
	}
}

func (t *trouble) cut(s *server) {
	s.proxy.Stop()
	t.r.pause(t.between(100*time.Millisecond, time.Second))
	if err := s.proxy.Start(); err != nil {
		t.r.t.Fatalf("proxy of %s: %v", s.name, err)
	}
}

// toxic lets the way to a server be as the description says, for a while.
func (t *trouble) toxic(description string) func(*server) {
	return func(s *server) {
		added, err := s.proxy.Toxics.AddToxicJson(strings.NewReader(description))
		if err != nil {
			t.r.t.Fatalf("proxy of %s: %s: %v", s.name, description, err)
		}
		t.r.pause(t.between(300*time.Millisecond, 1500*time.Millisecond))
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.proxy.Toxics.RemoveToxic(ctx, added.Name); err != nil {
			t.r.t.Fatalf("proxy of %s: take %s away: %v", s.name, added.Name, err)
		}
	}
}

// heal leaves nothing behind: a toxic that has swallowed bytes leaves a connection that no one can use.
func (t *trouble) heal() {
	for _, s := range []*server{t.r.postgres, t.r.mariadb, t.r.kafka} {
		s.proxy.Toxics.ResetToxics(context.Background())
	}
	t.r.wire.breaks(0)
}
