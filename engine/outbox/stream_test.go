package outbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/event"
	"msgx/engine/fault"
)

func streaming(limit int) Options {
	o := Defaults(event.Msg)
	o.Limit = limit
	return o
}

func TestFullSetsAreReadAhead(t *testing.T) {
	b := newBench(t, streaming(2), events("1", "2", "3", "4", "5"))
	b.rounds(60)
	if diff := cmp.Diff([]string{"0s: 1 2", "0s: 3 4", "0s: 5"}, b.broker.log); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{0, 2, 4, 0}, b.table.afters); diff != "" {
		t.Errorf("each set is read once, behind the one before it (-want +got):\n%s", diff)
	}
}

// A confirmation and a reading are under way while the broker has the next request.
func TestConfirmingAndReadingDoNotHoldUpSending(t *testing.T) {
	b := newBench(t, streaming(2), events("1", "2", "3", "4", "5", "6"))
	b.d.beside = func(work func()) { go work() }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := map[string]chan struct{}{"1": make(chan struct{}), "3": make(chan struct{})}
	await := func(id string) error {
		select {
		case <-sent[id]:
			return nil
		case <-time.After(time.Minute): // not ctx, which the last event ends
			return fmt.Errorf("event %s is not sent while this waits", id)
		}
	}
	var readings, confirmations int
	b.table.fail = func(operation string) error {
		switch operation {
		case "next":
			if readings++; readings == 2 { // ahead of the first request's end
				return await("1")
			}
		case "confirm":
			if confirmations++; confirmations == 1 { // what it confirms is 1 and 2
				return await("3")
			}
		}
		return nil
	}
	b.broker.fate = func(id string, _ int) event.Receipt {
		if c, ok := sent[id]; ok {
			close(c)
		}
		if id == "6" {
			cancel()
		}
		return event.Receipt{}
	}
	if err := b.d.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if got, want := b.table.states(), "1:SENT 2:SENT 3:SENT 4:SENT 5:SENT 6:SENT"; got != want {
		t.Errorf("states: got %s, want %s", got, want)
	}
	if log := b.log.String(); log != "" {
		t.Errorf("log: got %s, want nothing", log)
	}
}

func TestWhatWasReadAheadIsForgottenInTrouble(t *testing.T) {
	b := newBench(t, streaming(2), events("1", "2", "2", "3"))
	b.broker.fate = func(id string, n int) event.Receipt {
		if id == "2" && n == 1 {
			return receipt(event.NotStored)
		}
		return event.Receipt{}
	}
	b.rounds(60)
	// 3 is of the lane of 2: it was read ahead, and waits all the same.
	if diff := cmp.Diff([]string{"0s: 1 2", "0s: 4", "1s: 2 3"}, b.broker.log); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// Rows that come due do not wait for the end of a long backlog.
func TestAStreamEndsForWhatComesDue(t *testing.T) {
	var specs []string
	for i := range 40 {
		specs = append(specs, fmt.Sprint(i+1))
	}
	o := Defaults(event.Schd)
	o.Limit, o.Every = 2, time.Second
	b := newBench(t, o, events(specs...))
	b.table.rows[0].next = start.Add(500 * time.Millisecond)
	b.broker.fate = func(string, int) event.Receipt {
		b.clock.now = b.clock.now.Add(100 * time.Millisecond)
		return event.Receipt{}
	}
	b.rounds(60)
	if got, want := b.broker.sent["1"], 1; got != want {
		t.Fatalf("event 1 was sent %d times, want once", got)
	}
	if sent := b.table.rows[0].sentAt.Sub(start); sent > 2*time.Second {
		t.Errorf("event 1 came due after 500ms and was sent after %v, want at the next look, within 2s", sent)
	}
}

// A database that cannot confirm stops the stream; what has landed meanwhile is not sent again.
func TestAConfirmationThatFailsInAStream(t *testing.T) {
	b := newBench(t, streaming(2), events("1", "2", "3", "4", "5", "6", "7"))
	confirmations := 0
	b.table.fail = func(operation string) error {
		if operation == "confirm" {
			if confirmations++; confirmations == 2 || confirmations == 3 {
				return fmt.Errorf("confirm: %w", fault.ErrUnavailable)
			}
		}
		return nil
	}
	b.rounds(60)
	for id, n := range b.broker.sent {
		if n != 1 {
			t.Errorf("event %s was sent %d times, want once", id, n)
		}
	}
	if got, want := b.table.states(), "1:SENT 2:SENT 3:SENT 4:SENT 5:SENT 6:SENT 7:SENT"; got != want {
		t.Errorf("states: got %s, want %s", got, want)
	}
}

// What was left out of a set because something backs off is not overtaken when that is given up meanwhile.
func TestNothingFollowsASetThatLeftSomethingOut(t *testing.T) {
	b := newBench(t, streaming(2), events("1", "1", "3", "4", "1"))
	b.table.rows[0].next = start.Add(time.Hour)
	readings := 0
	b.table.fail = func(operation string) error {
		if operation == "next" {
			if readings++; readings == 2 {
				b.table.rows[0].state = event.Dead
			}
		}
		return nil
	}
	b.rounds(60)
	if diff := cmp.Diff([]string{"0s: 3 4", "0s: 2 5"}, b.broker.log); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
