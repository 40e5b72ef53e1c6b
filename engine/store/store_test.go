package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/watermark"
	"msgx/schemas"
	"msgx/tools/stack/stacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the moment at which the tests take place.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

const testRuleset = "00000000000000000000000000000000000000000000000000000000000000aa"

var shanghai = time.FixedZone("CST", 8*3600)

func testCatalogue(t testing.TB) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// openURL opens a store on a migrated database.
func openURL(t testing.TB, url string, adjust ...func(*Config)) *Store {
	t.Helper()
	config := Config{URL: url}
	for _, f := range adjust {
		f(&config)
	}
	s, err := Open(context.Background(), config, testCatalogue(t), shanghai)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// fresh makes a migrated database, a store on it, and a writer that holds its lease.
func fresh(t testing.TB) (*Store, *Writer) {
	t.Helper()
	url := stacktest.Postgres(t)
	if _, _, err := Migrate(context.Background(), url); err != nil {
		t.Fatal(err)
	}
	s := openURL(t, url)
	return s, lead(t, s)
}

func lead(t testing.TB, s *Store) *Writer {
	t.Helper()
	epoch, ok, err := s.ClaimLease(context.Background(), t.Name(), 0)
	if err != nil || !ok {
		t.Fatalf("claim the lease: ok %v, %v", ok, err)
	}
	return s.Writer(epoch)
}

// enqueue makes rows first to last PENDING and moves the watermark there.
func enqueue(t testing.TB, w *Writer, first, last int64) {
	t.Helper()
	var step watermark.Step
	for id := first; id <= last; id++ {
		step.Enqueue = append(step.Enqueue, watermark.Row{MsgID: id, ReceivedAt: noon.Add(-time.Minute)})
	}
	step.Cursor.Watermark = last
	n, err := w.Advance(context.Background(), step, noon)
	if err != nil || n != len(step.Enqueue) {
		t.Fatalf("enqueue %d to %d: %d enqueued, %v", first, last, n, err)
	}
}

// succeed is the settlement of a message with the given advances, each announced to both targets.
func succeed(msgID int64, advances ...decision.Advance) decision.Settlement {
	raw := message.Raw{MsgID: msgID, Body: []byte(fmt.Sprintf("<MSG>%d</MSG>", msgID)), Characters: true}
	s := decision.Settlement{
		MsgID: msgID, Identity: fmt.Sprintf("AODB|FLOP|STND|%d", msgID), Kind: "FLOP-STND", SHA256: raw.SHA256(), Raw: &raw,
		Outcome: message.Outcome{State: message.Succeeded}, Ruleset: testRuleset, Script: "flop@1",
		StartedAt: noon, At: noon, OwesMark: true, Effects: decision.Effects{Advances: advances},
	}
	for _, a := range advances {
		key := a.After.ID.String()
		payload := json.RawMessage(fmt.Sprintf(`{"flid":"%s","version":%d}`, key, a.After.Version))
		s.Effects.Events = append(s.Effects.Events,
			event.Event{Target: event.Msg, Key: key, Type: event.Upsert, FLID: a.After.ID, Version: a.After.Version, Payload: payload},
			event.Event{Target: event.Schd, Key: key, Type: event.Upsert, FLID: a.After.ID, Version: a.After.Version, Payload: payload})
	}
	return s
}

// decide settles a message whatever the transaction finds.
func decide(t testing.TB, w *Writer, s decision.Settlement) decision.Claimed {
	t.Helper()
	var found decision.Claimed
	err := w.Decide(context.Background(), claimOf(s), func(c decision.Claimed) (decision.Settlement, error) {
		found = c
		return s, nil
	})
	if err != nil {
		t.Fatalf("decide message %d: %v", s.MsgID, err)
	}
	return found
}

func claimOf(s decision.Settlement) decision.Claim {
	c := decision.Claim{MsgID: s.MsgID, Identity: s.Identity, IdentitySince: noon.Add(-30 * 24 * time.Hour)}
	for _, a := range s.Effects.Advances {
		c.Flights = append(c.Flights, a.After.ID)
		if m, ok := a.After.Master(); ok {
			c.Masters = append(c.Masters, m)
		}
	}
	return c
}

// created is the first version of a flight.
func created(id flight.ID, fields flight.Fields) decision.Advance {
	after := &flight.State{
		ID: id, Status: flight.Active, Version: 1, OperationDay: "2026-03-04", LastMsgID: 1,
		CreatedAt: noon, UpdatedAt: noon, Fields: fields, Lists: map[string][]flight.Record{},
	}
	return decision.Advance{After: after, Op: decision.Create, Changed: []decision.FieldChange{{Path: "STATE", After: json.RawMessage(`"ACTIVE"`)}}}
}

// next is the following version of a flight with some fields set.
func next(before *flight.State, fields flight.Fields) decision.Advance {
	after := before.Clone()
	after.Version++
	after.UpdatedAt = after.UpdatedAt.Add(time.Second)
	a := decision.Advance{Before: before, After: after, Op: decision.Update}
	for path, value := range fields {
		after.Fields[path] = value
		encoded, _ := json.Marshal(value)
		a.Changed = append(a.Changed, decision.FieldChange{Path: path, After: encoded})
	}
	return a
}

// rowCounts counts the rows of every table.
func rowCounts(t testing.TB, s *Store) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, table := range tableNames(t, s) {
		var n int
		if err := s.pool.QueryRow(context.Background(), "SELECT count(*) FROM "+pgx.Identifier{table}.Sanitize()).Scan(&n); err != nil {
			t.Fatal(err)
		}
		out[table] = n
	}
	return out
}

func tableNames(t testing.TB, s *Store) []string {
	t.Helper()
	rows, err := s.pool.Query(context.Background(),
		"SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version' ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// query reads one value.
func query[T any](t testing.TB, s *Store, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := s.pool.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", strings.TrimSpace(sql), err)
	}
	return v
}
