package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// full is a settlement that writes to every table a decision can reach.
func full(t *testing.T, msgID int64) decision.Settlement {
	s := succeed(msgID, fullFlight(testCatalogue(t), flight.ID(msgID)))
	s.Kind = "SCHD-DNLD"
	s.Scope = &decision.ScheduleScope{FirstDay: "2026-03-04", Declared: 1, Carried: 1}
	s.Effects.Refs = []decision.RefChange{
		{Type: "SLST", Key: "S1", Op: decision.RefUpsert, Value: json.RawMessage(`{"b": 1, "a": [2]}`)},
		{Type: "SLST", Key: "S0", Op: decision.RefDelete},
	}
	s.Effects.Outbound = []decision.Outbound{{Request: "RQFD", Fields: map[string]string{"STDB": "2026-03-04T00:00:00+08:00"}}}
	s.Effects.Notes = []decision.Note{{FLID: 7, Reason: "flight-unknown"}}
	return s
}

func TestDecideStoresEverythingTogether(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 2)
	before := rowCounts(t, s)
	want := full(t, 1)

	boom := errors.New("boom")
	err := w.Decide(t.Context(), claimOf(want), func(decision.Claimed) (decision.Settlement, error) { return want, boom })
	if !errors.Is(err, boom) {
		t.Fatalf("error of judge: got %v, want %v", err, boom)
	}
	// A statement that the database refuses takes everything with it.
	broken := full(t, 1)
	broken.Effects.Advances[0].After.Fields["FLNO"] = strings.Repeat("x", 13)
	err = w.Decide(t.Context(), claimOf(broken), func(decision.Claimed) (decision.Settlement, error) { return broken, nil })
	if err == nil || errors.Is(err, fault.ErrUnavailable) || errors.Is(err, fault.ErrCommitInDoubt) {
		t.Fatalf("a value beyond its bound: got %v, want an error of the message's own", err)
	}
	if diff := cmp.Diff(before, rowCounts(t, s)); diff != "" {
		t.Errorf("rows after two rollbacks (-before +after):\n%s", diff)
	}
	if r, err := s.Message(t.Context(), 1); err != nil || r.State != message.Pending || r.Identity != "" {
		t.Errorf("message 1 after two rollbacks: %+v, %v, want PENDING without identity", r, err)
	}

	decide(t, w, want)
	after := rowCounts(t, s)
	for table, n := range map[string]int{
		"proc_state": 2, "raw_message": 1, "flight_schd": 1, "flight_gtdt": 3, "flight_route_point": 6, "flight_vipf": 3,
		"flight_vipt": 4, "flight_change": 1, "msg_event": 2, "ref_master": 1, "req_track": 1, "schd_snap_log": 1,
	} {
		if after[table] != n {
			t.Errorf("rows in %s: got %d, want %d", table, after[table], n)
		}
	}
	checkRecord(t, s, want)
}

func checkRecord(t *testing.T, s *Store, want decision.Settlement) {
	t.Helper()
	r, err := s.Message(t.Context(), want.MsgID)
	if err != nil {
		t.Fatal(err)
	}
	wanted := Record{
		MsgID: want.MsgID, State: message.Succeeded, Identity: want.Identity, Kind: want.Kind, SHA256: want.SHA256, DecisionNo: 1,
		Decided: RecordDecision{Ruleset: testRuleset, Script: "flop@1", Notes: want.Effects.Notes},
		Times:   RecordTimes{Received: noon.Add(-time.Minute), Enqueued: noon, Started: noon, Updated: noon},
		Mark:    RecordMark{Owed: true, NextAt: noon},
	}
	changes, events := r.Changes, r.Events
	r.Changes, r.Events, r.Actions = nil, nil, nil
	if diff := cmp.Diff(wanted, r); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if len(changes) != 1 || len(events) != 2 || changes[0].Version != 1 || events[0].Target != string(event.Msg) {
		t.Errorf("changes %+v and events %+v, want one change and an event for each target, msg first", changes, events)
	}
	raw, found, err := s.RawCopy(t.Context(), want.MsgID)
	if diff := cmp.Diff(*want.Raw, raw); err != nil || !found || diff != "" {
		t.Errorf("our copy: found %v, %v (-want +got):\n%s", found, err, diff)
	}
	if value := query[string](t, s, "SELECT value::text FROM ref_master WHERE rkey = 'S1'"); value != `{"b": 1, "a": [2]}` {
		t.Errorf("reference record: got %s, want it as it was given", value)
	}
}

func TestOnlyTheHeadIsDecided(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 3)
	never := func(decision.Claimed) (decision.Settlement, error) {
		t.Error("judge was called")
		return decision.Settlement{}, errors.New("not the head")
	}
	for _, id := range []int64{2, 3, 99} {
		if err := w.Decide(t.Context(), decision.Claim{MsgID: id}, never); !errors.Is(err, fault.ErrMoved) {
			t.Errorf("message %d behind the head: got %v, want ErrMoved", id, err)
		}
	}
	// A row above the watermark waits for it, even as the smallest unfinished.
	if _, err := s.pool.Exec(t.Context(), "INSERT INTO proc_state (msg_id, enqueued_at, updated_at) VALUES (9, now(), now())"); err != nil {
		t.Fatal(err)
	}
	for id := int64(1); id <= 3; id++ {
		decide(t, w, succeed(id))
	}
	if err := w.Decide(t.Context(), decision.Claim{MsgID: 9}, never); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("message above the watermark: got %v, want ErrMoved", err)
	}
	if err := w.Decide(t.Context(), decision.Claim{MsgID: 2}, never); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("finished message: got %v, want ErrMoved", err)
	}
	heads, mark, beyond, err := s.Heads(t.Context(), 10)
	if err != nil || len(heads) != 0 || mark != 3 || beyond != 9 {
		t.Errorf("heads %v, watermark %d, beyond %d, %v, want none, 3, 9", heads, mark, beyond, err)
	}
}

func TestHeadsAreUnfinishedInOrder(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 5)
	decide(t, w, succeed(1))
	failed := decision.Settlement{
		MsgID: 2, Identity: "A|B|C|2", Outcome: message.Outcome{State: message.Failed, Class: message.Infra, Reason: "disk"},
		Attempts: 2, NextAt: noon.Add(time.Second), At: noon, OwesMark: true,
	}
	if err := w.Settle(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	heads, _, _, err := s.Heads(t.Context(), 2)
	want := []message.Head{
		{MsgID: 2, State: message.Failed, Attempts: 2, NextAttemptAt: noon.Add(time.Second), Identity: "A|B|C|2", EnqueuedAt: noon, Class: message.Infra, LastError: "disk"},
		{MsgID: 3, State: message.Pending, EnqueuedAt: noon},
	}
	if diff := cmp.Diff(want, heads); err != nil || diff != "" {
		t.Errorf("heads: %v (-want +got):\n%s", err, diff)
	}
}

func TestDecisionNumbersHaveNoGaps(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 6)
	number := int64(0)
	for id := int64(1); id <= 6; id++ {
		settlement := succeed(id, created(flight.ID(id), flight.Fields{}))
		if id%3 == 0 {
			settlement.Effects = decision.Effects{}
			settlement.Outcome = message.Outcome{State: message.Skipped, Reason: "ignored:LDM-*"}
		}
		if id == 4 { // a try that fails takes no number
			_ = w.Decide(t.Context(), claimOf(settlement), func(decision.Claimed) (decision.Settlement, error) { return settlement, errors.New("no") })
		}
		found := decide(t, w, settlement)
		if found.DecisionNo != number {
			t.Errorf("message %d: last decision %d, want %d", id, found.DecisionNo, number)
		}
		if id%3 != 0 {
			number++
		}
		if got := query[*int64](t, s, "SELECT decision_no FROM proc_state WHERE msg_id = $1", id); (id%3 == 0) != (got == nil) || got != nil && *got != number {
			t.Errorf("message %d: decision_no %v, want %d, or none when skipped", id, got, number)
		}
	}
}

func TestViewHoldsTheFamily(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 4)
	child := func(id flight.ID, master string, status flight.Status) decision.Advance {
		a := created(id, flight.Fields{"FLNO": fmt.Sprintf("ZH%d", id), "MAID": master})
		a.After.Status = status
		return a
	}
	decide(t, w, succeed(1,
		created(10, flight.Fields{"FLNO": "CA10"}),
		child(13, "10", flight.Active), child(12, "10", flight.Active), child(11, "10", flight.Deleted),
		created(20, flight.Fields{"FLNO": "CA20"}), child(21, "20", flight.Active),
		created(30, flight.Fields{}), child(40, "40", flight.Active), child(51, "50", flight.Active)))

	// Named is child 12, moving to master 20.
	var view decision.View
	err := w.Decide(t.Context(), decision.Claim{MsgID: 2, Flights: []flight.ID{12, 40, 99}, Masters: []flight.ID{20}}, func(c decision.Claimed) (decision.Settlement, error) {
		view = c.View
		return succeed(2), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	members := map[flight.ID][]flight.Member{}
	for id, state := range view.Flights {
		members[id] = state.Members
	}
	want := map[flight.ID][]flight.Member{
		10: {{FLID: 12, FLNO: "ZH12"}, {FLID: 13, FLNO: "ZH13"}}, 11: nil, 12: nil, 13: nil,
		20: {{FLID: 21, FLNO: "ZH21"}}, 21: nil, 40: nil,
	}
	if diff := cmp.Diff(want, members); diff != "" {
		t.Errorf("flights and members in the view (-want +got):\n%s", diff)
	}
	// A dangling MAID: the master that appears later gets its members.
	decide(t, w, succeed(3, created(50, flight.Fields{})))
	if diff := cmp.Diff([]flight.Member{{FLID: 51, FLNO: "ZH51"}}, load(t, s, 50).Members); diff != "" {
		t.Errorf("members of the late master (-want +got):\n%s", diff)
	}
}

func TestLastVersionOfARemovedFlight(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 3)
	first := created(1, flight.Fields{})
	decide(t, w, succeed(1, first))
	decide(t, w, succeed(2, next(first.After, flight.Fields{"STND": "1"})))
	if _, err := s.pool.Exec(t.Context(), "DELETE FROM flight_schd"); err != nil {
		t.Fatal(err)
	}
	found := decide(t, w, succeed(3, func() decision.Advance { a := created(1, flight.Fields{}); a.After.Version = 3; return a }()))
	if diff := cmp.Diff(map[flight.ID]int64{1: 2}, found.View.LastVersions); diff != "" {
		t.Errorf("last versions (-want +got):\n%s", diff)
	}
	if len(found.View.Flights) != 0 {
		t.Errorf("flights: got %v, want none", found.View.Flights)
	}
}

func TestReferencesReachTheView(t *testing.T) {
	_, w := fresh(t)
	enqueue(t, w, 1, 2)
	decide(t, w, full(t, 1))
	claim := decision.Claim{MsgID: 2, RefTypes: []string{"SLST", "GLST"}}
	err := w.Decide(t.Context(), claim, func(c decision.Claimed) (decision.Settlement, error) {
		want := map[string]map[string]json.RawMessage{"SLST": {"S1": json.RawMessage(`{"b": 1, "a": [2]}`)}}
		if diff := cmp.Diff(want, c.View.Refs); diff != "" {
			t.Errorf("references (-want +got):\n%s", diff)
		}
		return succeed(2), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestScheduleOfManyFlights(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 2)
	cat := testCatalogue(t)
	var first, second []decision.Advance
	for id := flight.ID(1); id <= 1200; id++ {
		first = append(first, typicalFlight(cat, id))
		second = append(second, next(first[id-1].After, flight.Fields{"STND": "B7"}))
	}
	decide(t, w, succeed(1, first...))
	found := decide(t, w, succeed(2, second...))
	if len(found.View.Flights) != 1200 {
		t.Fatalf("flights in the view: got %d, want 1200", len(found.View.Flights))
	}
	if diff := cmp.Diff(first[1199].After, found.View.Flights[1200]); diff != "" {
		t.Errorf("flight 1200 (-stored +read):\n%s", diff)
	}
	if n := query[int](t, s, "SELECT count(*) FROM flight_schd WHERE state_version = 2 AND stnd = 'B7'"); n != 1200 {
		t.Errorf("flights at version 2: got %d, want 1200", n)
	}
	if n := query[int](t, s, "SELECT count(*) FROM msg_event WHERE target = 'KAFKA:schd' AND state_version = 2"); n != 1200 {
		t.Errorf("schedule events at version 2: got %d, want 1200", n)
	}
	if wrong := query[int](t, s, `SELECT count(*) FROM (SELECT flid, lag(flid) OVER (ORDER BY event_id) AS before FROM msg_event
		WHERE target = 'KAFKA:msg' AND state_version = 1) e WHERE flid <> before + 1`); wrong != 0 {
		t.Errorf("%d events have taken their ids out of order", wrong)
	}
}

// The database itself refuses what no decision may do.
func TestFlightInvariantsInTheDatabase(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 1)
	decide(t, w, succeed(1, created(1, flight.Fields{})))
	for name, sql := range map[string]string{
		"version twice":         "UPDATE flight_schd SET stnd = 'x'",
		"version back":          "UPDATE flight_schd SET state_version = 0",
		"operation day moved":   "UPDATE flight_schd SET state_version = 2, operation_day = '2026-03-05'",
		"operation day removed": "UPDATE flight_schd SET state_version = 2, operation_day = NULL",
		"success undone":        "UPDATE proc_state SET state = 'PENDING'",
		"empty text":            "UPDATE flight_schd SET state_version = 2, stnd = ''",
	} {
		if _, err := s.pool.Exec(context.Background(), sql); err == nil {
			t.Errorf("%s: %q was accepted, want an error", name, sql)
		}
	}
}

// What turns up in front of the head while it is being decided comes next. It must not part the
// terminal state from the effects that are committed with it.
func TestDecideIsWholeWhenASmallerIDTurnsUpMeanwhile(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 5, 6)
	want := succeed(5, created(70, flight.Fields{}))
	err := w.Decide(t.Context(), claimOf(want), func(decision.Claimed) (decision.Settlement, error) {
		_, err := s.pool.Exec(t.Context(), "INSERT INTO proc_state (msg_id, enqueued_at, updated_at) VALUES (2, now(), now())")
		return want, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Message(t.Context(), 5); err != nil || r.State != message.Succeeded || r.DecisionNo != 1 || r.Identity != want.Identity {
		t.Errorf("message 5: %+v, %v, want SUCCEEDED as decision 1 with its identity", r, err)
	}
	if f, err := s.Flight(t.Context(), 70); err != nil || f.Version != 1 {
		t.Errorf("flight 70: %+v, %v, want version 1", f, err)
	}
	if heads, _, _, err := s.Heads(t.Context(), 1); err != nil || len(heads) != 1 || heads[0].MsgID != 2 {
		t.Errorf("head: %+v, %v, want message 2", heads, err)
	}
}
