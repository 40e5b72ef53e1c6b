package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/decision"
	"msgx/engine/evidence"
	"msgx/engine/flight"
)

const (
	// Those that a message of a range touched.
	sqlAuditTouchedIDs = `
SELECT k.flid FROM (
    SELECT c.flid FROM flight_change c WHERE c.msg_id BETWEEN $2 AND $3 AND c.flid > $1
    UNION
    SELECT e.flid FROM msg_event e WHERE e.msg_id BETWEEN $2 AND $3 AND e.flid > $1
) k
ORDER BY k.flid LIMIT $4`

	// One part of all flights: those whose number falls on part $2 of $3.
	sqlAuditSample = `
SELECT f.flid FROM flight_schd f WHERE f.flid > $1 AND mod(f.flid, $3) = $2 ORDER BY f.flid LIMIT $4`

	sqlAuditRemoved = `
SELECT h.flid, max(h.state_version) FROM flight_hst h WHERE h.flid = ANY ($1::bigint[]) GROUP BY h.flid`

	sqlAuditVersions = `
SELECT c.flid, c.state_version, c.msg_id, c.kind, c.op, c.ruleset, c.script, c.changed_at, c.changed::text,
    COALESCE(h.state, p.state, ''), COALESCE(h.error_class, p.error_class, ''), COALESCE(h.decision_no, p.decision_no, 0)
FROM flight_change c
LEFT JOIN proc_state p ON p.msg_id = c.msg_id
LEFT JOIN proc_state_hst h ON h.msg_id = c.msg_id
WHERE c.flid = ANY ($1::bigint[])
ORDER BY c.flid, c.state_version`

	sqlAuditEvents = `
SELECT e.event_id, e.target, e.partition_key, e.event_type, e.flid, e.state_version, e.msg_id, e.kind, e.ruleset,
    e.payload::text, e.attempts, e.created_at, e.resent,
    e.state, e.sent_at, COALESCE(e.topic, ''), COALESCE(e.topic_partition, 0), COALESCE(e.topic_offset, 0)
FROM msg_event e
WHERE e.flid = ANY ($1::bigint[])
ORDER BY e.flid, e.target, e.state_version, e.event_id`

	sqlAuditEventsByID = `
SELECT e.event_id, e.target, e.partition_key, e.event_type, e.flid, e.state_version, e.msg_id, e.kind, e.ruleset,
    e.payload::text, e.attempts, e.created_at, e.resent,
    e.state, e.sent_at, COALESCE(e.topic, ''), COALESCE(e.topic_partition, 0), COALESCE(e.topic_offset, 0)
FROM msg_event e
WHERE e.event_id = ANY ($1::bigint[])
ORDER BY e.event_id`

	sqlAuditSent = `
SELECT e.event_id FROM msg_event e
WHERE e.target = 'KAFKA:msg' AND e.state = 'SENT' AND e.event_id > $1
ORDER BY e.event_id LIMIT $2`
)

// FlightIDs are flights above after, ascending, that anything is known of. first and last
// bound the messages that must have touched them; first 0 asks for all flights.
func (s *Snapshot) FlightIDs(ctx context.Context, after flight.ID, first, last int64, limit int) ([]flight.ID, error) {
	op := fmt.Sprintf("read flights after %d", after)
	if first == 0 {
		return rowsOf(ctx, s, op, s.store.flights.known, pgx.RowTo[flight.ID], int64(after), limit)
	}
	return rowsOf(ctx, s, op, sqlAuditTouchedIDs, pgx.RowTo[flight.ID], int64(after), first, last, limit)
}

// FlightSample are current flights above after, ascending, that fall on one part of so many.
func (s *Snapshot) FlightSample(ctx context.Context, after flight.ID, part, parts int64, limit int) ([]flight.ID, error) {
	return rowsOf(ctx, s, fmt.Sprintf("read a sample of flights after %d", after), sqlAuditSample, pgx.RowTo[flight.ID], int64(after), part, parts, limit)
}

// Flights reads the current state of flights, in the given order.
func (s *Snapshot) Flights(ctx context.Context, ids []flight.ID) ([]evidence.Flight, error) {
	var view decision.View
	removed, orphans := map[flight.ID]int64{}, map[flight.ID][]string{}
	err := s.store.read(ctx, "read flights", func(ctx context.Context) error {
		var b pgx.Batch
		s.store.flights.queueLoad(&b, ids, nil, &view)
		b.Queue(sqlAuditRemoved, bigints(ids)).Query(func(rows pgx.Rows) error {
			var id flight.ID
			var version int64
			_, err := pgx.ForEachRow(rows, []any{&id, &version}, func() error { removed[id] = version; return nil })
			return err
		})
		b.Queue(s.store.flights.orphans, bigints(ids)).Query(func(rows pgx.Rows) error {
			var id flight.ID
			var table string
			_, err := pgx.ForEachRow(rows, []any{&id, &table}, func() error { orphans[id] = append(orphans[id], table); return nil })
			return err
		})
		return s.conn.SendBatch(ctx, &b).Close()
	})
	out := make([]evidence.Flight, len(ids))
	for i, id := range ids {
		out[i] = evidence.Flight{ID: id, State: view.Flights[id], RemovedVersion: removed[id], Orphans: orphans[id]}
	}
	return out, err
}

// knownStatement lists every flight that anything is known of, in order. $1: after, $2: limit
func (t *flightTables) knownStatement() string {
	arm := "(SELECT DISTINCT d.flid FROM %s d WHERE d.flid > $1 ORDER BY d.flid LIMIT $2)"
	var arms []string
	for _, table := range append([]string{"flight_schd", "flight_change", "msg_event"}, t.tables()...) {
		arms = append(arms, fmt.Sprintf(arm, table))
	}
	return "SELECT k.flid FROM (\n" + strings.Join(arms, "\nUNION\n") + "\n) k\nORDER BY k.flid LIMIT $2"
}

// tables are those of the lists, each once.
func (t *flightTables) tables() (names []string) {
	var add func(lists []*listTable)
	add = func(lists []*listTable) {
		for _, l := range lists {
			if !slices.Contains(names, l.list.Table) {
				names = append(names, l.list.Table)
			}
			add(l.nested)
		}
	}
	add(t.lists)
	return names
}

// orphansStatement finds the list tables that hold rows of flights without a row of their own. $1: flights
func (t *flightTables) orphansStatement() string {
	var parts []string
	for _, table := range t.tables() {
		parts = append(parts, fmt.Sprintf(
			"SELECT DISTINCT d.flid, '%s' AS place FROM %s d WHERE d.flid = ANY ($1::bigint[]) AND NOT EXISTS (SELECT FROM flight_schd f WHERE f.flid = d.flid)", table, table))
	}
	return strings.Join(parts, "\nUNION ALL\n") + "\nORDER BY flid, place"
}

// Versions is the history of flights, by flight and version.
func (s *Snapshot) Versions(ctx context.Context, ids []flight.ID) ([]evidence.Version, error) {
	return rowsOf(ctx, s, "read histories", sqlAuditVersions, func(row pgx.CollectableRow) (v evidence.Version, err error) {
		var changed string
		err = row.Scan(&v.FLID, &v.Version, &v.MsgID, &v.Kind, &v.Op, &v.Ruleset, &v.Script, &v.At, &changed, &v.MsgState, &v.MsgClass, &v.DecisionNo)
		v.At = v.At.UTC()
		if err != nil {
			return v, err
		}
		return v, json.Unmarshal([]byte(changed), &v.Changed)
	}, bigints(ids))
}

// Events are the outbox rows of flights, by flight, target and version.
func (s *Snapshot) Events(ctx context.Context, ids []flight.ID) ([]evidence.Event, error) {
	return rowsOf(ctx, s, "read events", sqlAuditEvents, scanAuditEvent, bigints(ids))
}

// SentEvents are the ids of events of KAFKA:msg above after that a broker has acknowledged, ascending.
func (s *Snapshot) SentEvents(ctx context.Context, after int64, limit int) ([]int64, error) {
	return rowsOf(ctx, s, fmt.Sprintf("read sent events after %d", after), sqlAuditSent, pgx.RowTo[int64], after, limit)
}

// EventsByID are outbox rows by their ids, ascending, as they are now.
func (s *Store) EventsByID(ctx context.Context, ids []int64) ([]evidence.Event, error) {
	return list(ctx, s, "read events by id", sqlAuditEventsByID, scanAuditEvent, ids)
}

func scanAuditEvent(row pgx.CollectableRow) (e evidence.Event, err error) {
	var payload *string
	var sent *time.Time
	err = row.Scan(&e.ID, &e.Target, &e.Key, &e.Type, &e.FLID, &e.Version, &e.MsgID, &e.Kind, &e.Ruleset,
		&payload, &e.Attempts, &e.CreatedAt, &e.Resent, &e.State, &sent, &e.Landing.Topic, &e.Landing.Partition, &e.Landing.Offset)
	e.CreatedAt, e.SentAt = e.CreatedAt.UTC(), moment(sent)
	if payload != nil {
		e.Payload = json.RawMessage(*payload)
	}
	return e, err
}
