package simulate_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seed  = flag.Uint64("simulate.seed", 0, "run the schedule of this seed alone, and print it")
	first = flag.Uint64("simulate.first", 1, "seed of the first schedule")
	count = flag.Uint64("simulate.schedules", 4000, "how many schedules to run")
	limit = flag.Duration("simulate.for", 8*time.Second, "how long at most")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Stages hand over to each other all the time and never work at once: a second processor only
	// makes them look for each other.
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}

// tapeOf draws a schedule. Most are short, to be many; some are long, to get far.
func tapeOf(seed uint64) *tape {
	const short, long, oneIn = 300, 1500, 10
	if seed%oneIn == 0 {
		return fresh(seed, long)
	}
	return fresh(seed, short)
}

// simulate runs one schedule and returns the promise that it breaks, "" for none.
func simulate(t *tape, m mutant, trace *[]string) (*world, int) {
	w := newWorld(t, m)
	s := &scheduler{w: w, trace: trace}
	w.s = s
	s.run()
	if w.violation == "" {
		w.judge()
	}
	return w, s.steps
}

// inBubble runs fn where time stands still while somebody works.
func inBubble(t *testing.T, fn func()) { synctest.Test(t, func(*testing.T) { fn() }) }

// explain shrinks a guilty tape and tells what happens.
func explain(t *testing.T, seed uint64, guilty []uint16, m mutant) string {
	var trace []string
	var w *world
	inBubble(t, func() {
		least := shrink(guilty, func(c []uint16) bool { w, _ := simulate(play(c), m, nil); return w.violation != "" }, 3000)
		w, _ = simulate(play(least), m, &trace)
	})
	return fmt.Sprintf("seed %d breaks a promise: %s\nagain: make simulate SEED=%d\n\n%+v\n%s%s", seed, w.violation, seed, w.settings, w.lives(), strings.Join(trace, "\n"))
}

// lives tells the rows of a world.
func (w *world) lives() string {
	var b strings.Builder
	for _, r := range w.rows {
		fmt.Fprintf(&b, "row %d begun %s visible %s undone=%v late=%v purged=%s vanishes=%s fates=%v flights=%v identity=%s poison=%v\n",
			r.id, r.begun, r.visible, r.undone, r.late, r.purged, r.vanishes, r.fates, r.flights, r.identity, r.poison)
	}
	return b.String()
}

// search runs schedules until one is guilty.
func search(t *testing.T, m mutant, from, n uint64, d time.Duration) (seed uint64, guilty []uint16, ran uint64, steps int) {
	const perBubble = 100
	end := time.Now().Add(d)
	for ran < n && guilty == nil && time.Now().Before(end) {
		inBubble(t, func() {
			for i := 0; i < perBubble && ran < n && guilty == nil; i++ {
				tape := tapeOf(from + ran)
				w, took := simulate(tape, m, nil)
				ran++
				steps += took
				if w.violation != "" {
					seed, guilty = from+ran-1, tape.choices
				}
			}
		})
	}
	return seed, guilty, ran, steps
}

func TestSchedules(t *testing.T) {
	if *seed != 0 {
		tape := tapeOf(*seed)
		var w *world
		inBubble(t, func() { w, _ = simulate(tape, sound, nil) })
		if w.violation == "" {
			t.Logf("seed %d keeps every promise", *seed)
			return
		}
		t.Fatal(explain(t, *seed, tape.choices, sound))
	}
	began := time.Now()
	at, guilty, ran, steps := search(t, sound, *first, *count, *limit)
	took := time.Since(began)
	t.Logf("%d schedules of %d calls on average in %s: %.0f a minute", ran, steps/int(max(ran, 1)), took.Round(time.Millisecond), float64(ran)/took.Minutes())
	if guilty != nil {
		t.Fatal(explain(t, at, guilty, sound))
	}
}

// The simulation has teeth: it finds each deliberate breakage.
func TestMutantsAreFound(t *testing.T) {
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(string(m), " ", "-"), func(t *testing.T) {
			const enough = 20_000
			at, guilty, ran, _ := search(t, m, max(near[m], 1), enough, time.Minute)
			if guilty == nil {
				t.Fatalf("%d schedules do not find that %s", ran, m)
			}
			t.Logf("found by schedule %d", at)
			if testing.Verbose() {
				t.Log(explain(t, at, guilty, m))
			}
		})
	}
}
