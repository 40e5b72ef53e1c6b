package consume_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"msgx/engine/consume"
	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/flight"
)

func record(id flight.ID, version int64, value string) evidence.Record {
	r := evidence.Record{Key: id.String(), Headers: map[string]string{
		"event_id": "9", "flid": id.String(), "state_version": fmt.Sprint(version), "type": "UPSERT", "kind": "FLOP-STND", "msg_id": "7"}}
	if value != "" {
		r.Value = []byte(value)
	}
	return r
}

// TestLatestIsTheLatest: whatever is repeated, however late, and whatever compaction left out, the table is that of the
// latest versions that were there.
func TestLatestIsTheLatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type told struct {
			id      flight.ID
			version int64
			gone    bool
		}
		// What was sent: each flight's versions in order, some deletions among them; what compaction left of it.
		var sent []told
		want := map[flight.ID]told{}
		for id := flight.ID(1); id <= 4; id++ {
			n := rapid.Int64Range(0, 6).Draw(t, "versions")
			for v := int64(1); v <= n; v++ {
				e := told{id, v, rapid.IntRange(0, 3).Draw(t, "gone") == 0}
				want[id] = e
				if v == n || rapid.Bool().Draw(t, "kept") {
					sent = append(sent, e)
				}
			}
		}
		// Flights are interleaved at will, each in its order, and anything sent may come again at any later time.
		queues := map[flight.ID][]told{}
		for _, e := range sent {
			queues[e.id] = append(queues[e.id], e)
		}
		var order []told
		for _, e := range rapid.Permutation(sent).Draw(t, "order") {
			order, queues[e.id] = append(order, queues[e.id][0]), queues[e.id][1:]
		}
		var stream []told
		var latest consume.Latest
		for _, e := range order {
			stream = append(stream, e)
			for rapid.IntRange(0, 2).Draw(t, "again") == 0 {
				stream = append(stream, rapid.SampledFrom(stream).Draw(t, "which"))
			}
		}
		for _, e := range stream {
			value := fmt.Sprintf(`{"schema_version":1,"v":%d}`, e.version)
			if e.gone {
				value = ""
			}
			understood, err := consume.Understand(record(e.id, e.version, value))
			if err != nil {
				t.Fatal(err)
			}
			latest.Take(understood)
		}
		there := 0
		for id, e := range want {
			state, ok := latest.State(id)
			if ok == e.gone || latest.Version(id) != e.version || (ok && string(state) != fmt.Sprintf(`{"schema_version":1,"v":%d}`, e.version)) {
				t.Fatalf("flight %s: got %s %v at version %d, want version %d, gone %v", id, state, ok, latest.Version(id), e.version, e.gone)
			}
			if !e.gone {
				there++
			}
		}
		if latest.Len() != there {
			t.Fatalf("%d flights, want %d", latest.Len(), there)
		}
	})
}

// TestFeedTellsArrivalsApart holds the feed to a slow and obvious model, the set of versions that were seen of each flight, over
// any order of any versions of several flights: repeats, gaps and what comes from two partitions.
func TestFeedTellsArrivalsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var feed consume.Feed
		seen, highest := map[flight.ID]map[int64]bool{}, map[flight.ID]int64{}
		for range rapid.IntRange(0, 80).Draw(t, "records") {
			id, v := flight.ID(rapid.Int64Range(1, 3).Draw(t, "flight")), rapid.Int64Range(1, 30).Draw(t, "version")
			want, gap := consume.Repeat, int64(0)
			switch {
			case highest[id] == 0:
				want, seen[id] = consume.New, map[int64]bool{}
				for before := int64(1); before < v; before++ {
					seen[id][before] = true // what was before the beginning is nobody's loss
				}
			case v > highest[id]:
				want, gap = consume.New, v-highest[id]-1
			case !seen[id][v]:
				want = consume.Late
			}
			seen[id][v], highest[id] = true, max(highest[id], v)
			if got, missing := feed.Take(id, v); got != want || missing != gap {
				t.Fatalf("flight %s version %d: got %s with %d missing, want %s with %d", id, v, got, missing, want, gap)
			}
		}
		for id := range seen {
			missing := 0
			for v := int64(1); v <= highest[id]; v++ {
				if !seen[id][v] {
					missing++
				}
			}
			if feed.Missing(id) != missing {
				t.Fatalf("flight %s: %d missing, want %d", id, feed.Missing(id), missing)
			}
		}
	})
}

// TestFeedForgets: as many flights as it is told, and the one that told nothing for longest goes first; a gap wider than is
// remembered leaves the newest missing versions.
func TestFeedForgets(t *testing.T) {
	feed := consume.Feed{Flights: 2}
	for _, step := range []struct {
		id      flight.ID
		version int64
		want    consume.Arrival
		missing int64
	}{
		{1, 5, consume.New, 0}, {2, 5, consume.New, 0}, {1, 5, consume.Repeat, 0},
		{3, 1, consume.New, 0}, // flight 2 is forgotten
		{1, 7, consume.New, 1}, // flight 1 is not
		{2, 4, consume.New, 0}, // a repeat that cannot be told any more; flight 3 is forgotten
		{1, 500, consume.New, 492}, {1, 400, consume.Late, 0}, {1, 399, consume.Repeat, 0}, {1, 6, consume.Repeat, 0},
	} {
		if got, missing := feed.Take(step.id, step.version); got != step.want || missing != step.missing {
			t.Errorf("flight %d version %d: got %s with %d missing, want %s with %d", step.id, step.version, got, missing, step.want, step.missing)
		}
	}
	if feed.Missing(1) != 99 || feed.Missing(3) != 0 {
		t.Errorf("missing of 1: %d, want 99; of a forgotten one: %d, want 0", feed.Missing(1), feed.Missing(3))
	}
}

// TestLatestForgets: flights that are there are never forgotten; of the deleted, as many are remembered as it is told.
func TestLatestForgets(t *testing.T) {
	latest := consume.Latest{Gone: 1}
	take := func(id flight.ID, version int64, there, want bool) {
		t.Helper()
		e := consume.Event{FLID: id, Version: version}
		if there {
			e.Whole = []byte("{}")
		}
		if got := latest.Take(e); got != want {
			t.Errorf("flight %d version %d: changed %t, want %t", id, version, got, want)
		}
	}
	take(1, 1, true, true)
	take(1, 2, false, true)
	take(1, 1, true, false) // a late repeat does not bring it back
	take(2, 3, true, true)
	take(2, 4, false, true) // flight 1 is forgotten
	take(1, 1, true, true)  // and brought back: what forgetting means
	take(2, 3, true, false)
	take(2, 5, true, true) // revived
	take(2, 4, false, false)
	if latest.Len() != 2 || latest.Version(2) != 5 {
		t.Errorf("%d flights, flight 2 at version %d; want 2 and 5", latest.Len(), latest.Version(2))
	}
}

// TestWhatIsNotOurs: records of others and of later schemas are told, and no error of ours.
func TestWhatIsNotOurs(t *testing.T) {
	good := record(1, 2, `{"schema_version":1,"state":"ACTIVE","op":"update","changes":[{"path":"STND","before":null,"after":"12"}],"new":1}`)
	e, err := consume.Understand(good)
	if err != nil || e.FLID != 1 || e.Version != 2 || e.Op != "update" || len(e.Changes) != 1 || string(e.Changes[0].After) != `"12"` {
		t.Errorf("got %+v, %v", e, err)
	}
	for name, tt := range map[string]struct {
		change func(*evidence.Record)
		want   string
	}{
		"no headers":     {func(r *evidence.Record) { r.Headers = nil }, `header event_id is "", expected a number`},
		"no flight":      {func(r *evidence.Record) { r.Headers["flid"] = "x" }, "header flid"},
		"no JSON":        {func(r *evidence.Record) { r.Value = []byte("<a/>") }, "value: "},
		"another schema": {func(r *evidence.Record) { r.Value = []byte(`{"schema_version":2}`) }, "schema version 2, expected 1"},
	} {
		r := record(1, 2, string(good.Value))
		tt.change(&r)
		if _, err := consume.Understand(r); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
	if e.Type != event.Upsert {
		t.Errorf("type %s", e.Type)
	}
}
