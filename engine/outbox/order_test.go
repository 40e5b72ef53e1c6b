package outbox

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"msgx/engine/event"
	"msgx/engine/fault"
)

// chaos is a broker that does what it likes within the promises of Publisher,
// and a witness of what it was sent.
type chaos struct {
	t      *rapid.T
	clock  *leap
	rows   map[int64]*row
	landed []event.Event        // first deliveries
	seen   map[int64]bool       // landed before
	quiet  map[string]time.Time // lane to the end of its quarantine
	calm   bool
}

func lanesOf(e event.Event) []string { return []string{"key " + e.Key, "flight " + e.FLID.String()} }

func (c *chaos) Publish(_ context.Context, records []event.Record) []event.Receipt {
	receipts := make([]event.Receipt, len(records))
	away := !c.calm && rapid.IntRange(0, 9).Draw(c.t, "away") == 0
	stuck := map[string]bool{}
	for i, r := range records {
		id, err := strconv.ParseInt(headerOf(r, "event_id"), 10, 64)
		if err != nil {
			c.t.Fatal(err)
		}
		e := c.rows[id].Event
		for _, lane := range lanesOf(e) {
			if c.clock.now.Before(c.quiet[lane]) {
				c.t.Fatalf("event %d sent at %v, but %s is in quarantine until %v", id, c.clock.now.Sub(start), lane, c.quiet[lane].Sub(start))
			}
		}
		fate := event.Landed
		switch {
		case away:
			fate = event.NotStored
		case stuck[r.Key]:
			fate = event.Untried
		case !c.calm:
			fate = rapid.SampledFrom([]event.Fate{event.Landed, event.Landed, event.Landed, event.Untried, event.Refused, event.RefusedForGood,
				event.NotStored, event.Unknown, event.Suspect}).Draw(c.t, fmt.Sprintf("fate of %d", id))
		}
		receipts[i] = receipt(fate)
		if away {
			receipts[i].Err = fmt.Errorf("%w: away", fault.ErrUnavailable)
		}
		switch fate {
		case event.Landed:
			if !c.seen[id] {
				c.seen[id] = true
				c.landed = append(c.landed, e)
			}
		default:
			stuck[r.Key] = true
		}
		if fate == event.Unknown {
			defer func() { // the answer comes after the whole request
				for _, lane := range lanesOf(e) {
					c.quiet[lane] = c.clock.now.Add(Defaults(event.Msg).Quarantine)
				}
			}()
		}
	}
	return receipts
}

func TestOrderHoldsWhateverTheBrokerDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := []string{"1", "2", "3", "9"}
		n := rapid.IntRange(1, 25).Draw(rt, "events")
		var specs []string
		for i := range n {
			specs = append(specs, rapid.SampledFrom(keys).Draw(rt, fmt.Sprintf("key %d", i))+"/"+rapid.SampledFrom(keys).Draw(rt, fmt.Sprintf("flight %d", i)))
		}
		o := Defaults(event.Msg)
		o.Limit = rapid.IntRange(1, 8).Draw(rt, "limit")
		b := newBench(t, o, events(specs...))
		c := &chaos{t: rt, clock: b.clock, rows: map[int64]*row{}, seen: map[int64]bool{}, quiet: map[string]time.Time{}}
		for _, r := range b.table.rows {
			c.rows[r.ID] = r
		}
		b.d.n.Publisher = c
		b.table.fail = func(operation string) error {
			if !c.calm && rapid.IntRange(0, 19).Draw(rt, "database") == 0 {
				return fmt.Errorf("%s: %w", operation, fault.ErrUnavailable)
			}
			return nil
		}
		b.rounds(rapid.IntRange(0, 40).Draw(rt, "chaotic rounds"))
		c.calm = true
		b.rounds(2000)
		if b.table.unfinished() {
			rt.Fatalf("not everything is settled: %s", b.table.states())
		}
		last := map[string]int64{}
		for _, e := range c.landed {
			for _, lane := range lanesOf(e) {
				if last[lane] > e.ID {
					rt.Fatalf("%s: event %d landed after event %d", lane, e.ID, last[lane])
				}
				last[lane] = e.ID
			}
		}
		for _, r := range b.table.rows {
			if r.state == event.Sent && !c.seen[r.ID] {
				rt.Fatalf("event %d is confirmed but never landed", r.ID)
			}
		}
	})
}
