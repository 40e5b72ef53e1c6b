package consume_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"msgx/engine/consume"
	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/outbox/kafka"
	"msgx/tools/stack/stacktest"
)

// TestFollowerOnABroker: the broker is killed and comes back while a follower reads; another goes on where the first one kept
// its position, and sees what came since.
func TestFollowerOnABroker(t *testing.T) {
	server := stacktest.PrivateKafka(t)
	topic := server.Topic(2)
	settings := kafka.Config{Brokers: []string{server.URL}, RequestTimeout: 2 * time.Second}
	publisher, err := kafka.New(settings, topic)
	if err != nil {
		t.Fatal(err)
	}
	defer publisher.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	sent := 0
	publish := func(n int) {
		t.Helper()
		for range n {
			sent++
			r := event.Record{Key: fmt.Sprint(sent % 5), Value: []byte(`{"schema_version":1}`), At: time.Now(), Headers: []event.Header{
				{Key: "event_id", Value: fmt.Sprint(sent)}, {Key: "flid", Value: fmt.Sprint(sent%5 + 1)}, {Key: "state_version", Value: fmt.Sprint(sent)},
				{Key: "msg_id", Value: "1"}, {Key: "type", Value: "UPSERT"}}}
			for publisher.Publish(ctx, []event.Record{r})[0].Fate != event.Landed {
				if ctx.Err() != nil {
					t.Fatal("the broker takes nothing")
				}
			}
		}
	}
	reader, err := kafka.NewReader(settings, topic)
	if err != nil {
		t.Fatal(err)
	}

	kept, seen, outages := evidence.Position{}, map[int64]bool{}, 0
	enough := errors.New("enough")
	follow := func(start consume.Start, until int, away func()) {
		t.Helper()
		f := consume.Follow(reader)
		f.Pause = 10 * time.Millisecond
		f.Waits = []time.Duration{50 * time.Millisecond}
		f.Away = func(error) { outages++; away() }
		f.Keep = func(p evidence.Position) error {
			kept = p
			if len(seen) >= until {
				return enough
			}
			if len(seen) == 20 && outages == 0 {
				server.Kill()
			}
			return nil
		}
		err := f.Run(ctx, start, func(r evidence.Record) error {
			e, err := consume.Understand(r)
			seen[e.ID] = true // an event whose landing was in doubt comes twice
			return err
		})
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
	}
	publish(20)
	follow(reader.End, 0, func() {}) // from now: it keeps where that is
	if end, err := reader.End(ctx); err != nil || kept[0] != end[0] || kept[1] != end[1] || len(seen) != 0 {
		t.Fatalf("from now: kept %v and saw %v, the end is %v, %v", kept, seen, end, err)
	}
	follow(consume.From(nil), 40, func() { server.Start(); publish(20) })
	if outages != 1 {
		t.Errorf("%d outages, want 1", outages)
	}
	middle := time.Now()
	publish(10)
	follow(consume.From(kept), 50, func() {})
	for id := range int64(50) {
		if !seen[id+1] {
			t.Fatalf("saw %v, want 1 to 50", seen)
		}
	}
	since, err := reader.At(ctx, middle)
	if err != nil {
		t.Fatal(err)
	}
	clear(seen)
	follow(consume.From(since), 10, func() {})
	if len(seen) != 10 || !seen[41] || !seen[50] {
		t.Errorf("since the middle: saw %v, want 41 to 50", seen)
	}
}
