package simulate_test

import (
	"context"
	"fmt"
	"sync"
	"testing/synctest"
	"time"
)

// kind is what can happen to a call.
type kind int

const (
	reads   kind = iota // of our database
	writes              // of our database, committed with the call
	begins              // a transaction of several calls
	commits             // it
	looks               // at the mailbox
	marks               // in the mailbox
	sends               // to the broker
	elects              // on the lease
)

// verdict is what happened to one.
type verdict int

const (
	through   verdict = iota
	away              // the server is: no effect
	lost              // effect, and no reply
	undone            // no effect, and no reply
	pending           // effect later or never, and no reply
	odd               // refused for a reason of its own
	brokenOff         // by the caller
	dead              // the instance has been killed
)

func (v verdict) String() string {
	return [...]string{"", "  AWAY", "  done, REPLY LOST", "  not done, REPLY LOST", "  IN DOUBT, still under way", "  REFUSED", "  broken off", "  dead"}[v]
}

// Who calls. Each has at most one call under way.
const (
	slotInbox = iota
	slotPump
	slotAhead
	slotBackfill
	slotMsg
	slotSchd
	slotMsgReading
	slotSchdReading
	slotMsgConfirming
	slotSchdConfirming
	slotLease
	slots
)

var slotNames = [slots]string{"inbox", "pump", "ahead", "backfill", "msg", "schd", "msg read", "schd read", "msg conf", "schd conf", "lease"}

// call is somebody waiting to go on.
type call struct {
	kind  kind
	name  string
	args  any
	reply chan verdict
}

// scheduler lets calls go on one by one. Everything that has an effect happens while all others wait, so
// the fakes need no locks.
type scheduler struct {
	w         *world
	instances []*instance
	trace     *[]string // nil when nobody looks

	mu      sync.Mutex // of what calls touch on their own
	calls   [2 * slots]*call
	arrived chan struct{}
	later   []func() // effects of calls that were broken off
	cut     int      // how many those were
	steps   int
}

// park waits for the verdict. A call that is not firm ends with its context.
func (s *scheduler) park(ctx context.Context, in *instance, slot int, c *call, firm bool) verdict {
	if in.dead.Load() {
		return dead
	}
	c.reply = make(chan verdict, 1) // a call may be broken off at the same moment
	s.mu.Lock()
	place := in.place*slots + slot
	s.calls[place] = c
	s.mu.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	if firm {
		return <-c.reply
	}
	select {
	case v := <-c.reply:
		return v
	case <-ctx.Done():
		s.mu.Lock()
		s.calls[place] = nil
		s.mu.Unlock()
		return brokenOff
	}
}

func (s *scheduler) note(format string, args ...any) {
	if s.trace != nil {
		*s.trace = append(*s.trace, fmt.Sprintf("%9.3fs  ", s.w.now().Seconds())+fmt.Sprintf(format, args...))
	}
}

// calm bounds, after the last choice, how long everything may take to come to rest.
const calm = 10 * time.Minute

// run goes on until the world has come to rest, or a promise is broken.
func (s *scheduler) run() {
	s.arrived = make(chan struct{}, 1)
	var quiet time.Duration
	for place := range s.w.instances {
		s.instances = append(s.instances, newInstance(s, place))
	}
	time.Sleep(s.w.opening)
	for {
		synctest.Wait()
		s.happen()
		if s.w.guilty() {
			break
		}
		waiting := s.waiting()
		if s.w.tape.over() {
			if quiet == 0 {
				quiet = s.w.now()
			}
			if s.w.now()-quiet > calm {
				s.w.violate("not at rest %s after the last trouble: %s", calm, s.w.unfinished())
				break
			}
			if len(waiting) == 0 && s.w.atRest() {
				break
			}
		}
		s.steps++
		s.step(waiting)
	}
	for _, in := range s.instances {
		s.kill(in)
	}
	synctest.Wait()
}

// happen does what is due by itself.
func (s *scheduler) happen() {
	s.mu.Lock()
	later := s.later
	s.later = nil
	s.mu.Unlock()
	for _, effect := range later {
		effect()
	}
	s.w.db.settleDoubts(s.w.now())
	s.w.broker.arrive(s.w.now())
	for _, in := range s.instances {
		if in.ended() && (s.w.tape.over() || s.w.now() >= in.restart) {
			in.start()
		}
	}
}

// waiting are the places of calls that may go on.
func (s *scheduler) waiting() []int {
	var places [2 * slots]int
	list := places[:0]
	now := s.w.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.instances {
		if in.cutOff > now && !s.w.tape.over() {
			continue
		}
		for slot := range slots {
			if s.calls[in.place*slots+slot] != nil {
				list = append(list, in.place*slots+slot)
			}
		}
	}
	return list
}

// step makes one choice. Without any call there is only time to pass.
func (s *scheduler) step(waiting []int) {
	t := s.w.tape
	if len(waiting) == 0 {
		select {
		case <-s.arrived:
		case <-time.After(time.Second):
		}
		return
	}
	switch choice := t.draw(40); {
	case choice < 34:
		s.release(waiting[t.draw(len(waiting))])
	case choice < 39 || !s.w.trouble.instances:
		time.Sleep(t.pause(1, 10, 100, 1000, 3000))
	default:
		s.disturb(s.instances[t.draw(len(s.instances))])
	}
}

// release lets one call go on.
func (s *scheduler) release(place int) {
	c, in := s.take(place), s.instances[place/slots]
	v := s.verdict(c.kind)
	if s.trace != nil {
		s.note("%d/%-8s %s%v%s", in.number, slotNames[place%slots], c.name, c.args, v)
	}
	c.reply <- v
}

// take is the call that waits at a place, nil for none; it waits there no more.
func (s *scheduler) take(place int) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[place]
	s.calls[place] = nil
	return c
}

// verdict draws what happens to a call.
func (s *scheduler) verdict(k kind) verdict {
	t, trouble := s.w.tape, s.w.trouble
	database := trouble.database && t.chance(12)
	switch {
	case k <= commits || k == elects:
		if !database {
			return through
		}
		if k == writes || k == commits {
			return one(t, away, lost, undone, pending)
		}
		return away
	case k == looks && trouble.mailbox && t.chance(15):
		return away
	case k == marks && trouble.mailbox && t.chance(25):
		return one(t, away, lost, odd)
	case k == sends && trouble.broker && t.chance(15):
		return away
	}
	return through
}

// disturb does something to an instance as a whole.
func (s *scheduler) disturb(in *instance) {
	t := s.w.tape
	if in.ended() {
		return
	}
	pause := t.pause(0, 1000, 5000, 15000)
	switch t.draw(3) {
	case 0:
		s.note("%d cut off for %s", in.number, pause)
		in.cutOff = s.w.now() + pause
	case 1:
		s.note("%d stopped", in.number)
		in.restart = s.w.now() + pause
		in.cancel()
	default:
		s.note("%d killed", in.number)
		in.restart = s.w.now() + pause
		s.perish(in)
	}
}

// waits tells whether a caller of an instance waits.
func (s *scheduler) waits(in *instance, slot int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[in.place*slots+slot] != nil
}

// perish kills an instance; of what it has under way, some takes effect first.
func (s *scheduler) perish(in *instance) {
	for slot := range slots {
		if s.waits(in, slot) && s.w.tape.draw(2) > 0 {
			c := s.take(in.place*slots + slot)
			s.note("%d/%-8s %s%v%s", in.number, slotNames[slot], c.name, c.args, lost)
			c.reply <- lost
			synctest.Wait()
		}
	}
	s.kill(in)
	synctest.Wait()
}

// kill ends an instance without another effect.
func (s *scheduler) kill(in *instance) {
	in.dead.Store(true)
	for slot := range slots {
		if c := s.take(in.place*slots + slot); c != nil {
			c.reply <- dead
		}
	}
	in.cancel()
}
