package schemas_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/outbox"
	"msgx/schemas"
	"msgx/schemas/eventtest"
)

var update = flag.Bool("update", false, "write the sample records anew")

// TestRecordsKeepTheirBytes: what goes to the brokers for some decisions is, header by header and byte by byte, what is frozen
// for the version of the schema.
func TestRecordsKeepTheirBytes(t *testing.T) {
	got := sampleRecords(t)
	path := filepath.Join("testdata", fmt.Sprintf("events-v%d", event.SchemaVersion), "records.txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf(`records are not what they were (-frozen +now):
%s
Consumers compare, hash and store these bytes. If only a new member or header has come, which every consumer leaves out, write the samples anew with
	go test ./schemas -run TestRecordsKeepTheirBytes -update
and say so in the changelog. Anything else (order, number format, a member that is gone or means something else) breaks
consumers: take it back, or raise event.SchemaVersion and freeze schemas and records of the new version (EVENTS.md, "Compatibility").`, d)
	}
}

// sampleRecords decides some messages about a master and its child, and writes down what is sent.
func sampleRecords(t *testing.T) string {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	text := func(pairs ...string) map[string]decision.Value {
		out := map[string]decision.Value{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = decision.Value{Text: pairs[i+1]}
		}
		return out
	}
	child := text("FLNO", "ZH2", "SODT", "2021-01-23T09:35:00+08:00", "MAID", "1000345", "MAXP", "180", "LBWT", "12.5", "TAID", "9007199254740993", "REMC", "天气<\u2028\"原因\"")
	child["FDIV"] = decision.Value{Object: map[string]string{"DDES": "CAN", "TEXT": "fog"}}
	steps := []struct {
		what    string
		context decision.Context
		changes []decision.Change
	}{
		{"a master", decision.Context{Kind: "SCHD-DNLD", Family: message.Schedule, Script: "schd@1", Writes: []string{"*"}},
			[]decision.Change{{FLID: 1000345, Op: decision.Create, Set: text("FLNO", "CA101", "SODT", "2021-01-23T09:35:00+08:00"),
				Lists: map[string][]flight.Record{"GTDT": {{Fields: flight.Fields{"GATE": "G1"}}, {Fields: flight.Fields{"GATE": "G2"}}}}}}},
		{"its code-share child", decision.Context{Kind: "SCHD-DNLD", Family: message.Schedule, Script: "schd@1", Writes: []string{"*"}},
			[]decision.Change{{FLID: 1000346, Op: decision.Create, Set: child}}},
		{"a stand that changes", decision.Context{Kind: "FLOP-STND", Family: message.Operation, Script: "flop-stnd@1", Writes: []string{"STND", "REMC"}},
			[]decision.Change{{FLID: 1000346, Op: decision.Update, Set: text("STND", "14L"), Clear: []string{"REMC"}}}},
		{"the master is deleted, and its child with it", decision.Context{Kind: "FDEL", Family: message.Deletion, Script: "fdel@1"},
			[]decision.Change{{FLID: 1000345, Op: decision.Delete}}},
		{"the master comes back", decision.Context{Kind: "SCHD-DNLD", Family: message.Schedule, Script: "schd@1", Writes: []string{"*"}},
			[]decision.Change{{FLID: 1000345, Op: decision.Revive, Set: text("FLNO", "CA101", "SODT", "2021-01-23T09:35:00+08:00")}}},
	}
	var b strings.Builder
	// To the microsecond, without what is nought at the end.
	fractions := []time.Duration{456789123, 0, 500 * time.Millisecond, 120 * time.Microsecond, 999}
	now := time.Date(2021, 1, 23, 1, 2, 3, 0, time.UTC)
	options := decision.Options{Zone: time.FixedZone("CST", 8*3600), CodeShareKey: decision.KeyMaster}
	view := decision.View{Flights: map[flight.ID]*flight.State{}}
	id := int64(0)
	for i, s := range steps {
		s.context.MsgID, s.context.Ruleset, s.context.Now = int64(i+1), "88b647d47943", now.Add(time.Duration(i)*time.Minute+fractions[i])
		msg := &message.Message{ID: s.context.MsgID, Family: s.context.Family}
		for _, ch := range s.changes {
			r := message.Record{FLID: ch.FLID, Elements: map[string]message.Element{}}
			if maid := ch.Set["MAID"].Text; maid != "" {
				r.Elements["MAID"] = message.Element{Text: maid}
			}
			msg.Records = append(msg.Records, r)
		}
		effects, err := decision.Apply(cat, view, msg, decision.Decision{Changes: s.changes}, s.context, options)
		if err != nil {
			t.Fatalf("%s: %v", s.what, err)
		}
		fmt.Fprintf(&b, "# %s\n\n", s.what)
		for _, a := range effects.Advances {
			view.Flights[a.After.ID] = a.After
		}
		for _, e := range effects.Events {
			id++
			e.ID = id
			writeRecord(t, &b, e)
			if id == 1 {
				e.Resent = true
				fmt.Fprintf(&b, "# the same, sent again by an operator\n\n")
				writeRecord(t, &b, e)
			}
		}
	}
	return b.String()
}

func writeRecord(t *testing.T, b *strings.Builder, e event.Event) {
	t.Helper()
	r := outbox.Record(e, e.CreatedAt)
	if err := eventtest.Check(e.Target, r.Value); err != nil {
		t.Error(err)
	}
	fmt.Fprintf(b, "target %s\nkey    %s\n", e.Target, r.Key)
	for _, h := range r.Headers {
		fmt.Fprintf(b, "header %s: %s\n", h.Key, h.Value)
	}
	value := "null"
	if r.Value != nil {
		value = string(r.Value)
	}
	fmt.Fprintf(b, "value  %s\n\n", value)
}
