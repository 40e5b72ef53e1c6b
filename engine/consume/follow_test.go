package consume_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"msgx/engine/consume"
	"msgx/engine/evidence"
	"msgx/engine/fault"
	"msgx/engine/flight"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a topic in memory: partitions, each with what it holds and its first offset.
type memory struct {
	partitions [][]evidence.Record
	first      []int64
	fail       func() error // asked before each record
}

func (m *memory) append(partition int, r evidence.Record) {
	r.Landing.Partition, r.Landing.Offset = partition, m.end(partition)
	m.partitions[partition] = append(m.partitions[partition], r)
}

func (m *memory) end(partition int) int64 {
	return m.first[partition] + int64(len(m.partitions[partition]))
}

func (m *memory) Next(_ context.Context, p evidence.Position, tell func(evidence.Record) error) error {
	for i, records := range m.partitions {
		for _, r := range records {
			if r.Landing.Offset < p[i] {
				continue
			}
			if err := m.fail(); err != nil {
				return err
			}
			if err := tell(r); err != nil {
				return err
			}
			p[i] = r.Landing.Offset + 1
		}
	}
	return nil
}

var errCrash = errors.New("crash")

// TestFollowerLosesNothing: whatever fails, and however often its owner crashes and begins again where it last kept the
// position, every record is told, each partition in order but for what is repeated after a crash; Latest and Feed come to
// what an undisturbed reader comes to.
func TestFollowerLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		topic := &memory{partitions: make([][]evidence.Record, 3), first: make([]int64, 3)}
		want := map[string]bool{}
		versions := map[flight.ID]int64{}
		for range rapid.IntRange(0, 30).Draw(rt, "records") {
			id := flight.ID(rapid.Int64Range(1, 4).Draw(rt, "flight"))
			versions[id]++
			value := `{"schema_version":1}`
			if rapid.IntRange(0, 4).Draw(rt, "gone") == 0 {
				value = ""
			}
			topic.append(int(id)%3, record(id, versions[id], value))
			want[fmt.Sprintf("%d v%d", id, versions[id])] = true
		}
		bad := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 60).Draw(rt, "failures")
		trouble := func(n int) bool { // the next of the drawn ones
			if len(bad) == 0 {
				return false
			}
			next := bad[0]
			bad = bad[1:]
			return next == n
		}
		topic.fail = func() error {
			if trouble(1) {
				return fmt.Errorf("no leader: %w", fault.ErrUnavailable)
			}
			return nil
		}

		kept := evidence.Position{}
		var latest consume.Latest
		var feed consume.Feed
		told := map[string]bool{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := errors.New("all is read")
		f := consume.Follow(topic)
		f.Pause, f.Waits = 0, []time.Duration{0}
		f.Keep = func(p evidence.Position) error {
			kept = p
			for i := range topic.partitions {
				if p[i] != topic.end(i) {
					return nil
				}
			}
			return done
		}
		for {
			err := f.Run(ctx, consume.From(kept), func(r evidence.Record) error {
				if trouble(2) {
					return errCrash
				}
				e, err := consume.Understand(r)
				if err != nil {
					return err
				}
				latest.Take(e)
				before := told[fmt.Sprintf("%d v%d", e.FLID, e.Version)]
				arrival, missing := feed.Take(e.FLID, e.Version)
				if before != (arrival == consume.Repeat) || missing != 0 {
					return fmt.Errorf("flight %d version %d arrived as %s with %d missing, was told before: %t", e.FLID, e.Version, arrival, missing, before)
				}
				told[fmt.Sprintf("%d v%d", e.FLID, e.Version)] = true
				return nil
			})
			if errors.Is(err, done) {
				break
			}
			if !errors.Is(err, errCrash) {
				rt.Fatal(err)
			}
		}
		if !maps.Equal(want, told) {
			rt.Fatalf("told %v, want %v", slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(want)))
		}
		for id, v := range versions {
			if latest.Version(id) != v {
				rt.Fatalf("flight %d is at version %d, want %d", id, latest.Version(id), v)
			}
		}
	})
}

// TestWhoeverIsToldIsNotTheBroker: an outage of the consumer's own store ends the following, as every other error of its own.
func TestWhoeverIsToldIsNotTheBroker(t *testing.T) {
	topic := &memory{partitions: make([][]evidence.Record, 1), first: make([]int64, 1), fail: func() error { return nil }}
	topic.append(0, record(1, 1, ""))
	store := fmt.Errorf("our store: %w", fault.ErrUnavailable)
	f := consume.Follow(topic)
	if err := f.Run(t.Context(), consume.From(nil), func(evidence.Record) error { return store }); !errors.Is(err, store) {
		t.Errorf("got %v, want %v", err, store)
	}
	// Refusals end it, too.
	topic.fail = func() error { return errCrash }
	if err := f.Run(t.Context(), consume.From(nil), nil); !errors.Is(err, errCrash) {
		t.Errorf("got %v, want %v", err, errCrash)
	}
	ctx, cancel := context.WithCancel(t.Context())
	topic.fail = func() error { cancel(); return nil }
	if err := f.Run(ctx, consume.From(nil), func(evidence.Record) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestAnOutageIsToldOnceAndBacksOff: one call each way, however long it lasts; "now" is asked for until there is an answer.
func TestAnOutageIsToldOnceAndBacksOff(t *testing.T) {
	topic := &memory{partitions: make([][]evidence.Record, 1), first: make([]int64, 1), fail: func() error { return nil }}
	topic.append(0, record(1, 1, ""))
	down, gone, back := 5, 0, 0
	f := consume.Follow(topic)
	f.Pause, f.Waits = time.Millisecond, []time.Duration{time.Millisecond, 2 * time.Millisecond}
	f.Away, f.Back = func(error) { gone++ }, func() { back++ }
	enough := errors.New("enough")
	f.Keep = func(p evidence.Position) error {
		if back > 0 && p[0] == 2 {
			return enough
		}
		if p[0] == 1 { // kept before anything has come
			topic.append(0, record(1, 2, ""))
			topic.fail = func() error {
				if down--; down > -5 {
					return fault.ErrUnavailable
				}
				topic.fail = func() error { return nil }
				return nil
			}
		}
		return nil
	}
	var seen []int64
	err := f.Run(t.Context(), func(context.Context) (evidence.Position, error) {
		if down--; down > 0 {
			return nil, fault.ErrUnavailable
		}
		return evidence.Position{0: 1}, nil
	}, func(r evidence.Record) error {
		seen = append(seen, r.Landing.Offset)
		back++
		return nil
	})
	if !errors.Is(err, enough) || gone != 2 || !slices.Equal(seen, []int64{1}) {
		t.Errorf("got %v, %d outages, records %v; want %v, 2, [1]", err, gone, seen, enough)
	}
}
