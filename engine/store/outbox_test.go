package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/flight"
)

// insertEvent puts an unsent event into the outbox by hand; wait is its back-off.
func insertEvent(t rapid.TB, s *Store, id int64, key string, flid int64, wait time.Duration, state event.State) {
	t.Helper()
	var next, sent *time.Time
	at := noon.Add(wait)
	if wait != 0 {
		next = &at
	}
	if state == event.Sent {
		sent = &at
	}
	_, err := s.pool.Exec(context.Background(), `INSERT INTO msg_event
		(event_id, target, partition_key, event_type, flid, state_version, msg_id, kind, ruleset, payload, state, next_attempt_at, created_at, sent_at)
		VALUES ($1, 'KAFKA:msg', $2, 'UPSERT', $3, 1, 1, 'X', 'r', '{}', $4, $5, $6, $7)`, id, key, flid, string(state), next, noon, sent)
	if err != nil {
		t.Fatalf("event %d: %v", id, err)
	}
}

func eventIDs(events []event.Event) []int64 {
	ids := []int64{}
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestDueMsgEventsKeepLanes(t *testing.T) {
	s, _ := fresh(t)
	for _, e := range []struct {
		id    int64
		key   string
		flid  int64
		wait  time.Duration
		state event.State
	}{
		{1, "1", 1, time.Minute, event.Pending},  // backs off
		{2, "1", 1, 0, event.Pending},            // behind it
		{3, "2", 2, 0, event.Pending},            // another lane
		{4, "3", 3, -time.Second, event.Pending}, // its back-off is over
		{5, "3", 3, 0, event.Pending},
		{6, "4", 4, 0, event.Dead}, // frees its lane
		{7, "4", 4, 0, event.Pending},
		{8, "5", 1, 0, event.Pending}, // same flight as 1 under another key
		{9, "5", 6, 0, event.Pending}, // same key as 8, which waits
		{10, "2", 2, 0, event.Sent},
		{11, "2", 2, 0, event.Pending},
	} {
		insertEvent(t, s, e.id, e.key, e.flid, e.wait, e.state)
	}
	for limit, want := range map[int][]int64{100: {3, 4, 5, 7, 11}, 3: {3, 4, 5}, 1: {3}} {
		got, err := s.DueMsgEvents(t.Context(), noon, limit)
		if diff := cmp.Diff(want, eventIDs(got)); err != nil || diff != "" {
			t.Errorf("limit %d: %v (-want +got):\n%s", limit, err, diff)
		}
	}
}

type unsent struct {
	id    int64
	waits bool
}

func following(all []unsent, after int64, limit int) []int64 {
	ids := []int64{}
	for _, u := range all {
		switch {
		case u.waits:
			return []int64{}
		case u.id > after && len(ids) < limit:
			ids = append(ids, u.id)
		}
	}
	return ids
}

// What is due follows from one rule; here it is worked out the slow way.
func TestDueMsgEventsAgainstTheRule(t *testing.T) {
	s, _ := fresh(t)
	rapid.Check(t, func(t *rapid.T) {
		if _, err := s.pool.Exec(context.Background(), "TRUNCATE msg_event"); err != nil {
			t.Fatal(err)
		}
		limit := rapid.IntRange(1, 6).Draw(t, "limit")
		keys, flights := map[string]bool{}, map[int64]bool{}
		want := []int64{}
		var all []unsent
		same := rapid.Bool().Draw(t, "keys are flights")
		events := rapid.Int64Range(1, 14).Draw(t, "events")
		for id := int64(1); id <= events; id++ {
			key := fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "key"))
			flid := rapid.Int64Range(1, 4).Draw(t, "flid")
			if same {
				key = fmt.Sprint(flid)
			}
			state := rapid.SampledFrom([]event.State{event.Pending, event.Pending, event.Pending, event.Dead, event.Sent}).Draw(t, "state")
			wait := time.Duration(rapid.SampledFrom([]int{0, 0, 0, -5, 5}).Draw(t, "wait")) * time.Second
			insertEvent(t, s, id, key, flid, wait, state)
			if state == event.Pending {
				all = append(all, unsent{id, wait != 0})
			}
			switch {
			case state != event.Pending:
			case wait > 0 || keys[key] || flights[flid]:
				keys[key], flights[flid] = true, true
			case len(want) < limit:
				want = append(want, id)
			}
		}
		after := rapid.SampledFrom([]int64{0, 0, 3, 7}).Draw(t, "after")
		next, err := s.NextMsgEvents(context.Background(), after, limit)
		if diff := cmp.Diff(following(all, after, limit), eventIDs(next)); err != nil || diff != "" {
			t.Fatalf("next after %d, limit %d: %v (-want +got):\n%s", after, limit, err, diff)
		}
		got, err := s.DueMsgEvents(context.Background(), noon, limit)
		if diff := cmp.Diff(want, eventIDs(got)); err != nil || diff != "" {
			t.Fatalf("limit %d: %v (-want +got):\n%s", limit, err, diff)
		}
	})
}

func TestSchdIsOneRowThatOnlyGoesForward(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 4)
	first := created(7, flight.Fields{})
	decide(t, w, succeed(1, first))
	sent, err := s.DueSchdEvents(t.Context(), noon, 0, 10)
	if err != nil || len(sent) != 1 || sent[0].Version != 1 || string(sent[0].Payload) != `{"flid":"7","version":1}` {
		t.Fatalf("due: %+v, %v", sent, err)
	}
	// A newer state takes the row over under a new id, with its attempts forgotten.
	if err := w.DeferEvent(t.Context(), sent[0], 3, noon.Add(time.Hour), "no"); err != nil {
		t.Fatal(err)
	}
	second := next(first.After, flight.Fields{"STND": "2"})
	decide(t, w, succeed(2, second))
	due, err := s.DueSchdEvents(t.Context(), noon, 0, 10)
	if err != nil || len(due) != 1 || due[0].Version != 2 || due[0].ID <= sent[0].ID || due[0].Attempts != 0 {
		t.Fatalf("due after version 2: %+v, %v", due, err)
	}
	// What was sent of the old generation confirms, defers and buries nothing.
	if err := w.ConfirmEvents(t.Context(), []event.Delivery{{Event: sent[0]}}, noon); err != nil {
		t.Error(err)
	}
	if err := w.DeferEvent(t.Context(), sent[0], 1, noon, "x"); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("defer the old generation: got %v, want ErrMoved", err)
	}
	if err := w.BuryEvent(t.Context(), sent[0], 1, "x", noon); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("bury the old generation: got %v, want ErrMoved", err)
	}
	if due, _ := s.DueSchdEvents(t.Context(), noon, 0, 10); len(due) != 1 {
		t.Fatalf("the new generation is not due any more: %+v", due)
	}
	// An older version never replaces a newer one.
	late := succeed(3)
	late.Effects.Events = []event.Event{{Target: event.Schd, Key: "7", Type: event.Upsert, FLID: 7, Version: 1, Payload: []byte(`{}`)}}
	decide(t, w, late)
	due, _ = s.DueSchdEvents(t.Context(), noon, 0, 10)
	if len(due) != 1 || due[0].Version != 2 {
		t.Errorf("after a late version 1: %+v, want version 2", due)
	}
	// The same version may: a deletion's null value.
	gone := succeed(4)
	gone.Effects.Events = []event.Event{{Target: event.Schd, Key: "7", Type: event.Tombstone, FLID: 7, Version: 2}}
	decide(t, w, gone)
	due, _ = s.DueSchdEvents(t.Context(), noon, 0, 10)
	if len(due) != 1 || due[0].Type != event.Tombstone || due[0].Payload != nil {
		t.Errorf("after the tombstone: %+v", due)
	}
}

func TestConfirmedAndBuriedEvents(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 1)
	decide(t, w, succeed(1, created(1, flight.Fields{}), created(2, flight.Fields{}), created(3, flight.Fields{})))
	due, err := s.DueMsgEvents(t.Context(), noon, 10)
	if err != nil || len(due) != 3 {
		t.Fatalf("due: %+v, %v", due, err)
	}
	if err := w.ConfirmEvents(t.Context(), []event.Delivery{{Event: due[0], Landing: event.Landing{Topic: "msgx.msg", Partition: 2, Offset: 77}}}, noon); err != nil {
		t.Fatal(err)
	}
	if err := w.BuryEvent(t.Context(), due[1], 5, "too\x00large", noon); err != nil {
		t.Fatal(err)
	}
	if err := w.DeferEvent(t.Context(), due[2], 1, noon.Add(time.Second), "refused"); err != nil {
		t.Fatal(err)
	}
	r, err := s.Message(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range r.Events {
		if e.Target == string(event.Msg) {
			got = append(got, fmt.Sprintf("%s %s %d %q %s/%d@%d", e.Key, e.State, e.Attempts, e.LastError, e.Topic, e.Partition, e.Offset))
		}
	}
	want := []string{`1 SENT 0 "" msgx.msg/2@77`, `2 DEAD 5 "too` + "\uFFFD" + `large" /0@0`, `3 PENDING 1 "refused" /0@0`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if left, _ := s.DueMsgEvents(t.Context(), noon, 10); len(left) != 0 {
		t.Errorf("still due: %+v", left)
	}
	c, err := s.Counts(t.Context())
	if err != nil || c.Unsent[event.Msg] != 1 || c.Unsent[event.Schd] != 3 || c.DeadEvents[event.Msg] != 1 || c.OldestUnsent[event.Msg] != noon {
		t.Errorf("counts: %+v, %v", c, err)
	}
}
