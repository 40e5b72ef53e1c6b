package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/event"
	"msgx/engine/failpoint"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
)

const (
	// Each list has its index; the others are read from the newest id down.
	sqlEvents = `
SELECT e.event_id, e.target, e.partition_key, e.event_type, e.flid, e.state_version, e.msg_id, e.kind, e.state, e.attempts,
    e.next_attempt_at, COALESCE(e.last_error, ''), e.created_at, e.sent_at, e.dead_at, COALESCE(e.topic, ''), COALESCE(e.topic_partition, 0), COALESCE(e.topic_offset, 0)
FROM msg_event e
WHERE ($1 = '' OR e.state = $1) AND ($2 = '' OR e.target = $2) AND ($3::bigint IS NULL OR e.flid = $3) AND ($4::bigint[] IS NULL OR e.event_id = ANY ($4))
    AND (NOT $5 OR e.next_attempt_at IS NOT NULL)
ORDER BY e.event_id DESC
LIMIT $6`

	// A dead event is sent again under its id, behind what is in its lane by then; one that backs off is due at once. Both keep a
	// time, though one that has come: what has none may be taken for what a dispatcher has in hand (NextMsgEvents).
	sqlRetryEvents = `
WITH before AS (
    SELECT e.event_id, e.target, e.flid, e.state_version, e.state, e.attempts, e.last_error, e.next_attempt_at
    FROM msg_event e WHERE e.event_id = ANY ($1::bigint[]) AND (e.state = 'DEAD' OR (e.state = 'PENDING' AND e.next_attempt_at IS NOT NULL))
    ORDER BY e.event_id FOR UPDATE
), changed AS (
    UPDATE msg_event e SET state = 'PENDING', attempts = CASE WHEN b.state = 'DEAD' THEN 0 ELSE e.attempts END, next_attempt_at = e.created_at, dead_at = NULL,
        resent = e.resent OR b.state = 'DEAD'
    FROM before b WHERE e.event_id = b.event_id
    RETURNING e.event_id
)
INSERT INTO operator_log (at, who, action, subject, reason, details)
SELECT $2, $3, 'outbox retry', 'event ' || b.event_id, $4, json_build_object('target', b.target, 'flid', b.flid::text, 'state_version', b.state_version,
    'before', json_build_object('state', b.state, 'attempts', b.attempts, 'text', b.last_error, 'next_attempt_at', b.next_attempt_at))
FROM before b JOIN changed c ON c.event_id = b.event_id
ORDER BY b.event_id
RETURNING substr(subject, 7)::bigint`

	// What is given up stays as a dead letter, and frees its lane.
	sqlDropEvents = `
WITH before AS (
    SELECT e.event_id, e.target, e.flid, e.state_version, e.attempts, e.last_error
    FROM msg_event e WHERE e.event_id = ANY ($1::bigint[]) AND e.state = 'PENDING'
    ORDER BY e.event_id FOR UPDATE
), changed AS (
    UPDATE msg_event e SET state = 'DEAD', dead_at = $2, next_attempt_at = NULL, last_error = 'given up by ' || $3::text || ': ' || $4::text
    FROM before b WHERE e.event_id = b.event_id
    RETURNING e.event_id
)
INSERT INTO operator_log (at, who, action, subject, reason, details)
SELECT $2, $3, 'outbox drop', 'event ' || b.event_id, $4, json_build_object('target', b.target, 'flid', b.flid::text, 'state_version', b.state_version,
    'before', json_build_object('state', 'PENDING', 'attempts', b.attempts, 'text', b.last_error))
FROM before b JOIN changed c ON c.event_id = b.event_id
ORDER BY b.event_id
RETURNING substr(subject, 7)::bigint`

	// The row keeps payload and version; its new id is that of a new event. What is unsent goes out anyway.
	sqlResync = `
WITH chosen AS (
    SELECT e.flid, e.event_id, e.state FROM msg_event e LEFT JOIN flight_schd f ON f.flid = e.flid
    WHERE e.target = 'KAFKA:schd' AND e.flid > $1 AND ($2::bigint[] IS NULL OR e.flid = ANY ($2)) AND ($3::date IS NULL OR f.operation_day = $3)
    ORDER BY e.flid LIMIT $4
), changed AS (
    UPDATE msg_event e SET event_id = nextval('msg_event_id'), state = 'PENDING', attempts = 0, next_attempt_at = NULL, last_error = NULL, resent = true,
        sent_at = NULL, dead_at = NULL, topic = NULL, topic_partition = NULL, topic_offset = NULL
    FROM chosen c WHERE e.event_id = c.event_id AND c.state <> 'PENDING'
    RETURNING e.flid
)
SELECT (SELECT count(*) FROM chosen), (SELECT count(*) FROM changed), COALESCE((SELECT min(flid) FROM chosen), 0), COALESCE((SELECT max(flid) FROM chosen), 0)`

	sqlCountResync = `
SELECT count(*), count(*) FILTER (WHERE e.state <> 'PENDING') FROM msg_event e LEFT JOIN flight_schd f ON f.flid = e.flid
WHERE e.target = 'KAFKA:schd' AND ($1::bigint[] IS NULL OR e.flid = ANY ($1)) AND ($2::date IS NULL OR f.operation_day = $2)`
)

// EventFilter selects events; zero fields select all.
type EventFilter struct {
	State   event.State
	Target  event.Target
	FLID    flight.ID
	HasFLID bool
	IDs     []int64
	Waiting bool // only those that back off
}

// Events lists events, the newest first.
func (s *Store) Events(ctx context.Context, f EventFilter, limit int) ([]event.Standing, error) {
	var flid *int64
	if f.HasFLID {
		id := int64(f.FLID)
		flid = &id
	}
	return list(ctx, s, "list events", sqlEvents, scanEventStanding, string(f.State), string(f.Target), flid, f.IDs, f.Waiting, limit)
}

func scanEventStanding(row pgx.CollectableRow) (e event.Standing, err error) {
	var next, sent, dead *time.Time
	err = row.Scan(&e.EventID, &e.Target, &e.Key, &e.Type, &e.FLID, &e.Version, &e.MsgID, &e.Kind, &e.State, &e.Attempts,
		&next, &e.LastError, &e.CreatedAt, &sent, &dead, &e.Landing.Topic, &e.Landing.Partition, &e.Landing.Offset)
	e.CreatedAt, e.NextAttemptAt, e.SentAt, e.DeadAt = e.CreatedAt.UTC(), moment(next), moment(sent), moment(dead)
	return e, err
}

// RetryEvents has dead events sent again, and those that back off sent at once; it returns the ids that it changed.
func (s *Store) RetryEvents(ctx context.Context, ids []int64, o message.Order) (done []int64, err error) {
	return s.onEvents(ctx, "send events again", sqlRetryEvents, ids, o)
}

// DropEvents gives unsent events up, as dead letters; it returns the ids that it changed.
func (s *Store) DropEvents(ctx context.Context, ids []int64, o message.Order) (done []int64, err error) {
	return s.onEvents(ctx, "give events up", sqlDropEvents, ids, o)
}

// onEvents runs one manual action on events in one transaction, with its entries in operator_log. It holds the pipeline, as
// no new event of their lanes may come in between; an event that a dispatcher has in hand is confirmed only if it is still unsent.
func (s *Store) onEvents(ctx context.Context, op, sql string, ids []int64, o message.Order) (done []int64, err error) {
	who, why := safe(o.Who, nameLimit), safe(o.Reason, reasonLimit)
	if who == "" || why == "" {
		return nil, fmt.Errorf("store: %s: %w: it needs a name and a reason", op, fault.ErrRefused)
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	err = s.InTx(ctx, failpoint.Operate, func(tx *Tx) error {
		var b pgx.Batch
		b.Queue(sqlLockPipeline)
		b.Queue(sql, ids, o.At, who, why).Query(func(rows pgx.Rows) (err error) {
			done, err = pgx.CollectRows(rows, pgx.RowTo[int64])
			return err
		})
		return tx.Send(ctx, &b)
	})
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", op, err)
	}
	return done, nil
}

// ResyncScope is which flights a resync is of; zero fields select all.
type ResyncScope struct {
	Flights []int64
	Day     string // operation day, YYYY-MM-DD
}

// Resynced is what one step of a resync came to.
type Resynced struct {
	Flights, Events int   // looked at, and put out again; what was unsent goes out anyway
	Last            int64 // the highest FLID of the step: where the next begins
}

// Resync puts out the latest state of the next flights above after once more: events with new ids and the versions and payloads
// that they had. A step holds the pipeline for as long as it takes, so that it stays small.
func (s *Store) Resync(ctx context.Context, scope ResyncScope, after int64, limit int, o message.Order) (r Resynced, err error) {
	who, why := safe(o.Who, nameLimit), safe(o.Reason, reasonLimit)
	if who == "" || why == "" {
		return r, fmt.Errorf("store: resync: %w: it needs a name and a reason", fault.ErrRefused)
	}
	err = s.InTx(ctx, failpoint.Operate, func(tx *Tx) error {
		var b pgx.Batch
		var first int64
		b.Queue(sqlLockPipeline)
		b.Queue(sqlResync, after, scope.Flights, optional(scope.Day), limit).QueryRow(func(row pgx.Row) error { return row.Scan(&r.Flights, &r.Events, &first, &r.Last) })
		if err := tx.Send(ctx, &b); err != nil {
			return err
		}
		if r.Events > 0 {
			tx.Finally(sqlLogOperator, o.At, who, "resync", fmt.Sprintf("%d flights from %d to %d", r.Events, first, r.Last), why)
		}
		return nil
	})
	if err != nil {
		return Resynced{}, fmt.Errorf("store: resync: %w", err)
	}
	return r, nil
}

// CountResync is what a resync would look at, and put out.
func (s *Store) CountResync(ctx context.Context, scope ResyncScope) (r Resynced, err error) {
	err = s.read(ctx, "count for a resync", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, sqlCountResync, scope.Flights, optional(scope.Day)).Scan(&r.Flights, &r.Events)
	})
	return r, err
}
