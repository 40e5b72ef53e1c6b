package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"msgx/engine/failpoint"
	"msgx/tools/feed"
)

// options of one run. The same seed gives the same messages, ends and troubles in the same order; when exactly each
// of them meets the others is up to the machine.
type options struct {
	seed     uint64
	kills    int
	messages int           // a day's worth at least
	points   []string      // the fail points, in turn
	troubles int           // at least, 0 for none
	doubt    int           // one commit in so many breaks; 0 for none
	pace     time.Duration // between two lots of messages
	random   int           // one end in so many is at a moment at random; 0 for none
}

// run is one run of the harness.
type run struct {
	*place
	o    options
	over chan struct{} // closed when there have been enough kills

	mu           sync.Mutex
	ends         *rand.Rand
	begun        int // ends handed out
	turn         int // those of them at a point
	total        int // kills
	kills        map[string]int
	troubles     map[string]int
	holder       string // who leads
	head         int64  // the message that was decided last when somebody looked
	gap          gap
	gaps         map[string][]time.Duration // from the end of a leader to the next one, by how it ended
	brokerFrozen time.Time
	wrongRules   bool // is the next text of the rules to be
	journal      []string
	faults       []string
	closed       bool
	inserted     int
}

func newRun(p *place, o options) *run {
	return &run{place: p, o: o, over: make(chan struct{}), ends: rand.New(rand.NewPCG(o.seed, 1)), kills: map[string]int{}, troubles: map[string]int{}, gaps: map[string][]time.Duration{}}
}

// leaseRanOut stands for how a leader ended where nobody took its lease from it.
const leaseRanOut = "any, and its lease ran out by itself"

// note writes down what was done, with where the line was, so that something that is found can be traced to what was done at that time.
func (r *run) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.journal = append(r.journal, fmt.Sprintf("%s  message %d  ", time.Now().UTC().Format("15:04:05.000"), r.head)+fmt.Sprintf(format, args...))
}

// passes is up to which pass of a boundary a process is let go on, where that is more than a few.
var passes = map[failpoint.Boundary]int{
	failpoint.Decide: 30, failpoint.Advance: 2, failpoint.Produce: 6, failpoint.ConfirmEvent: 6,
	failpoint.Mark: 3, failpoint.HoldMarks: 3,
}

// atRandom is an end at a moment at random.
func (e end) atRandom(rng *rand.Rand) end {
	e.point, e.after = "", time.Duration(rng.IntN(300)+1)*time.Millisecond
	e.since = []since{starting, leading, leading, working, working, working}[rng.IntN(6)]
	return e
}

// next is how the next process is to end; false when there have been enough.
func (r *run) next() (end, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.faults) > 0 {
		return end{}, false
	}
	e := end{no: r.begun}
	r.begun++
	if r.o.random > 0 && e.no%r.o.random == r.o.random-1 {
		return e.atRandom(r.ends), true
	}
	e.point = r.o.points[r.turn%len(r.o.points)]
	r.turn++
	e.pass = 1 + r.ends.IntN(max(1, passes[boundaryOf(e.point)]))
	return e, true
}

// fail notes that the run has failed, and ends it.
func (r *run) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
	r.finish()
}

// finish ends the disturbed part. The caller holds mu.
func (r *run) finish() {
	if !r.closed {
		r.closed = true
		close(r.over)
	}
}

// enough tells that the disturbed part may end.
func (r *run) enough() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	troubles := 0
	for _, n := range r.troubles {
		troubles += n
	}
	return r.closed || (r.total >= r.o.kills && troubles >= r.o.troubles && r.inserted >= r.o.messages)
}

// disturbed runs the first part: daemons that are killed, servers in trouble, producers at work.
func (r *run) disturbed(bound time.Duration) {
	r.t.Helper()
	deadline := time.Now().Add(bound)
	var others, instances sync.WaitGroup
	others.Add(3)
	go r.watchLeader(&others)
	go r.produce(&others)
	go r.changeRules(&others)
	for _, slot := range []string{"a", "b", "c"} {
		instances.Add(1)
		go func() {
			defer instances.Done()
			r.keep(slot)
		}()
	}
	trouble := newTrouble(r)
	r.wire.breaks(r.o.doubt)
	said := time.Now()
	for !r.enough() {
		if time.Since(said) > time.Minute {
			said = time.Now()
			r.say()
		}
		if time.Now().After(deadline) {
			r.fail("%d of %d kills, %d of %d messages and these troubles within %s: %v", r.total, r.o.kills, r.inserted, r.o.messages, bound, r.troubles)
		}
		if r.o.troubles == 0 {
			r.pause(lookEvery)
			continue
		}
		trouble.one()
	}
	r.mu.Lock()
	r.finish()
	r.mu.Unlock()
	instances.Wait()
	others.Wait()
	trouble.heal()
}

// say tells somebody who waits how far it is.
func (r *run) say() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Logf("%d of %d kills, %d messages", r.total, r.o.kills, r.inserted)
}

// pause waits, or not so long when the disturbed part is over.
func (r *run) pause(d time.Duration) {
	select {
	case <-r.over:
	case <-time.After(d):
	}
}

// produce writes the day into the mailbox, several writers at once, with commits out of order and ids given up, and
// goes on with the next day until there have been enough kills. A writer whose server went away tries again.
func (r *run) produce(done *sync.WaitGroup) {
	defer done.Done()
	zone := time.FixedZone("", 8*3600)
	for day := time.Date(2026, 3, 1, 0, 0, 0, 0, zone); ; day = day.AddDate(0, 0, 1) {
		messages, err := feed.Generate(feed.Options{Seed: r.o.seed, Date: day, Zone: zone, Flights: 60, Operations: 900, Holding: -1, BadPerMille: 40})
		if err != nil {
			r.fail("feed: %v", err)
			return
		}
		for len(messages) > 0 {
			select {
			case <-r.over:
				return
			default:
			}
			if r.backlog() > 300 {
				r.pause(50 * time.Millisecond)
				continue
			}
			some := messages[:min(20, len(messages))]
			messages = messages[len(some):]
			r.insert(some, uint64(day.Unix())+uint64(len(messages)), 2)
			r.pause(r.o.pace)
		}
	}
}

// insert puts messages in, those again whose fate is unknown: the second is a duplicate, as an upstream's would be.
func (r *run) insert(messages []feed.Message, seed uint64, rolledBack int) {
	for len(messages) > 0 {
		ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
		in := map[int]bool{}
		_, err := feed.Insert(ctx, r.mailbox, messages, feed.Inserting{Seed: seed, Writers: 4, OutOfOrder: true, RolledBack: rolledBack,
			Done: func(m feed.Message, _ int64) { in[m.Seq] = true }})
		cancel()
		messages = slices.DeleteFunc(messages, func(m feed.Message) bool { return in[m.Seq] })
		r.mu.Lock()
		r.inserted += len(in)
		r.mu.Unlock()
		if err != nil {
			r.pause(100 * time.Millisecond)
			if r.isOver() {
				return
			}
		}
	}
}

func (r *run) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// backlog is how many messages are undecided; many when it cannot be told.
func (r *run) backlog() int {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
	defer cancel()
	var watermark, unfinished, highest int64
	err := r.pg.QueryRow(ctx, `SELECT COALESCE((SELECT watermark FROM inbox_cursor), 0), (SELECT count(*) FROM proc_state WHERE state IN ('PENDING', 'FAILED'))`).Scan(&watermark, &unfinished)
	if err == nil {
		err = r.mailbox.QueryRowContext(ctx, "SELECT COALESCE(MAX(CMINMSGS_ID), 0) FROM CMINMSGS").Scan(&highest)
	}
	if err != nil {
		return 1 << 20
	}
	return int(highest - watermark + unfinished)
}

// rulesEvery is how long a text of the rules stays. A leader that finds a new one proves it before it begins.
const rulesEvery = 12 * time.Second

// changeRules has the leader take another text of the same rules from time to time, and refuse one that is wrong.
func (r *run) changeRules(done *sync.WaitGroup) {
	defer done.Done()
	path := filepath.Join(r.dir, "rules", "handlers.lua")
	text, err := os.ReadFile(path)
	if err != nil {
		r.fail("%v", err)
		return
	}
	for n := 0; !r.isOver(); n++ {
		asked := r.awaitRules()
		changed := append(slices.Clone(text), fmt.Sprintf("-- text %d\n", n)...)
		if (asked || n%4 == 3) && r.hasRules() {
			changed = append(changed, "return nonsense\n"...)
		}
		if err := os.WriteFile(path, changed, 0o644); err != nil {
			r.fail("%v", err)
			return
		}
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		r.fail("%v", err)
	}
}

// awaitRules waits until it is time for another text, or until a wrong one is asked for.
func (r *run) awaitRules() (wrong bool) {
	for began := time.Now(); time.Since(began) < rulesEvery && !r.isOver(); r.pause(lookEvery) {
		r.mu.Lock()
		wrong, r.wrongRules = r.wrongRules, false
		r.mu.Unlock()
		if wrong {
			return true
		}
	}
	return false
}

// hasRules tells whether a rule set is live. Until then one that is wrong ends the daemon, as it has to.
func (r *run) hasRules() bool {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
	defer cancel()
	var live bool
	err := r.pg.QueryRow(ctx, `SELECT EXISTS (SELECT FROM ruleset_live)`).Scan(&live)
	return err == nil && live
}

// settled is the second part: an instance that nothing happens to works off what is left.
func (p *place) settled(r *run, slot string) {
	p.t.Helper()
	i, err := r.start(slot, end{}, false)
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.stop(i)
	const standstill = 45 * time.Second
	last, since := "", time.Now()
	for {
		left := p.left()
		switch {
		case left == "" && i.works():
			return
		case left == "":
			left = "nothing, and it has not begun to work"
		}
		if left != last {
			last, since = left, time.Now()
		}
		if time.Since(since) > standstill {
			p.t.Fatalf("nothing has changed for %s; left: %s\n%s", standstill, left, i.tail())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// left says what is left to do, "" when there is nothing.
func (p *place) left() string {
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	var highest, watermark, unfinished, unmarked, unsent int64
	if err := p.mailbox.QueryRowContext(ctx, "SELECT COALESCE(MAX(CMINMSGS_ID), 0) FROM CMINMSGS").Scan(&highest); err != nil {
		return err.Error()
	}
	if err := p.pg.QueryRow(ctx, `SELECT COALESCE((SELECT watermark FROM inbox_cursor), 0),
		(SELECT count(*) FROM proc_state WHERE state IN ('PENDING', 'FAILED')),
		(SELECT count(*) FROM proc_state WHERE backfill_at IS NULL AND backfill_abandoned_at IS NULL),
		(SELECT count(*) FROM msg_event WHERE state = 'PENDING')`).Scan(&watermark, &unfinished, &unmarked, &unsent); err != nil {
		return err.Error()
	}
	if highest == watermark && unfinished+unmarked+unsent == 0 {
		return ""
	}
	return fmt.Sprintf("%d ids above the watermark %d, %d messages unfinished, %d unmarked, %d events unsent", highest-watermark, watermark, unfinished, unmarked, unsent)
}

// crash runs the disturbed part, and lets what is left be worked off.
func crash(t *testing.T, program string, o options, bound time.Duration) *run {
	t.Helper()
	p := newPlace(t, program)
	p.prepare()
	r := newRun(p, o)
	begun := time.Now()
	r.disturbed(bound)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d; what was done, each with the head of the line at that time:\n%s", o.seed, strings.Join(r.journal, "\n"))
		}
	})
	if len(r.faults) > 0 {
		t.Fatalf("seed %d, after %d kills: %s", o.seed, r.total, strings.Join(r.faults, "\n"))
	}
	disturbed := time.Since(begun)
	p.settled(r, "z")
	t.Log("\n" + r.table(disturbed))
	return r
}
