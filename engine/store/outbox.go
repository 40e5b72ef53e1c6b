package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/event"
	"msgx/engine/failpoint"
	"msgx/engine/fault"
)

const (
	sqlNextMsgEvents = `
SELECT e.event_id, e.target, e.partition_key, e.event_type, e.flid, e.state_version, e.msg_id, e.kind, e.ruleset,
    e.payload::text, e.attempts, e.created_at, e.resent
FROM msg_event e
WHERE e.target = 'KAFKA:msg' AND e.state = 'PENDING' AND e.event_id > $1
    AND NOT EXISTS (SELECT FROM msg_event b WHERE b.target = 'KAFKA:msg' AND b.state = 'PENDING' AND b.next_attempt_at IS NOT NULL)
ORDER BY e.event_id
LIMIT $2`

	// Unsent events that are due, without those behind an earlier event of their key or flight that
	// is backing off. next_attempt_at is set only while backing off, or when an operator has ended that.
	sqlDueMsgEvents = `
SELECT e.event_id, e.target, e.partition_key, e.event_type, e.flid, e.state_version, e.msg_id, e.kind, e.ruleset,
    e.payload::text, e.attempts, e.created_at, e.resent
FROM msg_event e
WHERE e.target = 'KAFKA:msg' AND e.state = 'PENDING' AND e.event_id > $3
    AND (e.next_attempt_at IS NULL OR e.next_attempt_at <= $1)
    AND NOT EXISTS (
        SELECT FROM msg_event b
        WHERE b.target = 'KAFKA:msg' AND b.state = 'PENDING' AND b.next_attempt_at IS NOT NULL
            AND b.partition_key = e.partition_key AND b.event_id < e.event_id AND b.next_attempt_at > $1)
    AND NOT EXISTS (
        SELECT FROM msg_event b
        WHERE b.target = 'KAFKA:msg' AND b.state = 'PENDING' AND b.next_attempt_at IS NOT NULL
            AND b.flid = e.flid AND b.event_id < e.event_id AND b.next_attempt_at > $1)
ORDER BY e.event_id
LIMIT $2`

	// Every unsent event of a range of ids, by lane, if there is any event whose key is not its flight.
	// Only then does being blocked spread from a flight to a key and on to another flight,
	// beyond what the statement above sees; as long as keys are flights, this is empty.
	sqlLanes = `
SELECT e.event_id, e.partition_key, e.flid, COALESCE(e.next_attempt_at > $1, false)
FROM msg_event e
WHERE e.target = 'KAFKA:msg' AND e.state = 'PENDING' AND e.event_id > $2 AND e.event_id <= $3
    AND EXISTS (
        SELECT FROM msg_event x
        WHERE x.target = 'KAFKA:msg' AND x.state = 'PENDING' AND x.partition_key <> x.flid::text)
ORDER BY e.event_id`

	sqlDueSchdEvents = `
SELECT e.event_id, e.target, e.partition_key, e.event_type, e.flid, e.state_version, e.msg_id, e.kind, e.ruleset,
    e.payload::text, e.attempts, e.created_at, e.resent
FROM msg_event e
WHERE e.target = 'KAFKA:schd' AND e.state = 'PENDING' AND e.event_id > $3 AND (e.next_attempt_at IS NULL OR e.next_attempt_at <= $1)
ORDER BY e.event_id
LIMIT $2`

	// A KAFKA:schd row that has been replaced meanwhile has another id and is left alone.
	sqlConfirmEvents = `
UPDATE msg_event e SET
    state = 'SENT', sent_at = $1, next_attempt_at = NULL, last_error = NULL,
    topic = d.topic, topic_partition = d.topic_partition, topic_offset = d.topic_offset
FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::integer[], $7::bigint[])
    AS d (event_id, target, state_version, topic, topic_partition, topic_offset)
WHERE e.event_id = d.event_id AND e.target = d.target AND e.state_version = d.state_version AND e.state = 'PENDING'`

	sqlDeferEvent = `
UPDATE msg_event SET attempts = $4, next_attempt_at = $5, last_error = $6
WHERE event_id = $1 AND target = $2 AND state_version = $3 AND state = 'PENDING'`

	sqlBuryEvent = `
UPDATE msg_event SET state = 'DEAD', dead_at = $6, attempts = $4, next_attempt_at = NULL, last_error = $5
WHERE event_id = $1 AND target = $2 AND state_version = $3 AND state = 'PENDING'`
)

// NextMsgEvents are the unsent events of KAFKA:msg with ids above after, ascending: none is left out. While any event
// backs off there are none, and DueMsgEvents tells which may go all the same.
func (s *Store) NextMsgEvents(ctx context.Context, after int64, limit int) ([]event.Event, error) {
	return list(ctx, s, "read next events", sqlNextMsgEvents, scanEvent, after, limit)
}

// DueMsgEvents are unsent events of KAFKA:msg by id, each only when every earlier unsent event
// of the same key or the same flight is in the result before it. An event that backs
// off holds up its lane and nothing else; a dead one holds up nothing.
func (s *Store) DueMsgEvents(ctx context.Context, now time.Time, limit int) ([]event.Event, error) {
	var out []event.Event
	blocked := lanes{keys: map[string]bool{}, flights: map[int64]bool{}}
	for after := int64(0); len(out) < limit; {
		due, err := list(ctx, s, "read due events", sqlDueMsgEvents, scanEvent, now, limit, after)
		if err != nil || len(due) == 0 {
			return out, err
		}
		last := due[len(due)-1].ID
		others, err := list(ctx, s, "read lanes", sqlLanes, scanLane, now, after, last)
		if err != nil {
			return nil, err
		}
		after = last
		out = append(out, blocked.pass(due, others)...)
		if len(due) < limit {
			break
		}
	}
	return out[:min(len(out), limit)], nil
}

// lanes are the keys and flights that have an unsent event outside the result. Key and flight
// of an event may differ, so being blocked spreads: what waits behind a blocked event waits too.
type lanes struct {
	keys    map[string]bool
	flights map[int64]bool
}

// lane is one unsent event as far as lanes are concerned.
type lane struct {
	id      int64
	key     string
	flid    int64
	waiting bool
}

func (l lanes) blocks(key string, flid int64) bool { return l.keys[key] || l.flights[flid] }

func (l lanes) block(key string, flid int64) { l.keys[key], l.flights[flid] = true, true }

// pass walks due events and others by id and lets those due through whose lanes are free.
func (l lanes) pass(due []event.Event, others []lane) []event.Event {
	var free []event.Event
	for _, e := range due {
		for len(others) > 0 && others[0].id < e.ID {
			if o := others[0]; o.waiting || l.blocks(o.key, o.flid) {
				l.block(o.key, o.flid)
			}
			others = others[1:]
		}
		if l.blocks(e.Key, int64(e.FLID)) {
			l.block(e.Key, int64(e.FLID))
			continue
		}
		free = append(free, e)
	}
	return free
}

func scanLane(row pgx.CollectableRow) (l lane, err error) {
	err = row.Scan(&l.id, &l.key, &l.flid, &l.waiting)
	return l, err
}

// DueSchdEvents are the unsent rows of KAFKA:schd with ids above after, oldest first.
func (s *Store) DueSchdEvents(ctx context.Context, now time.Time, after int64, limit int) ([]event.Event, error) {
	return list(ctx, s, "read due schedule events", sqlDueSchdEvents, scanEvent, now, limit, after)
}

func scanEvent(row pgx.CollectableRow) (e event.Event, err error) {
	var payload *string
	err = row.Scan(&e.ID, &e.Target, &e.Key, &e.Type, &e.FLID, &e.Version, &e.MsgID, &e.Kind, &e.Ruleset,
		&payload, &e.Attempts, &e.CreatedAt, &e.Resent)
	e.CreatedAt = e.CreatedAt.UTC()
	if payload != nil {
		e.Payload = json.RawMessage(*payload)
	}
	return e, err
}

// ConfirmEvents marks events as sent and keeps where they landed. A KAFKA:schd row is
// confirmed only in the generation that was sent; a newer one stays unsent.
func (w *Writer) ConfirmEvents(ctx context.Context, sent []event.Delivery, at time.Time) error {
	if len(sent) == 0 {
		return nil
	}
	n := len(sent)
	ids, targets, versions := make([]int64, n), make([]string, n), make([]int64, n)
	topics, partitions, offsets := make([]string, n), make([]int32, n), make([]int64, n)
	for i, d := range sent {
		ids[i], targets[i], versions[i] = d.Event.ID, string(d.Event.Target), d.Event.Version
		topics[i], partitions[i], offsets[i] = d.Landing.Topic, int32(d.Landing.Partition), d.Landing.Offset
	}
	return w.inTx(ctx, failpoint.ConfirmEvent, "confirm events", nil, func(tx *Tx) error {
		tx.Finally(sqlConfirmEvents, at, ids, targets, versions, topics, partitions, offsets)
		return nil
	})
}

// DeferEvent lets an event back off until next. fault.ErrMoved: it is not unsent in that generation any more.
func (w *Writer) DeferEvent(ctx context.Context, e event.Event, attempts int, next time.Time, reason string) error {
	return w.onEvent(ctx, failpoint.DeferEvent, fmt.Sprintf("defer event %d", e.ID), sqlDeferEvent,
		e.ID, string(e.Target), e.Version, attempts, next, safe(reason, reasonLimit))
}

// BuryEvent gives an event up; it stays as a dead letter and frees its lane. fault.ErrMoved as for DeferEvent.
func (w *Writer) BuryEvent(ctx context.Context, e event.Event, attempts int, reason string, at time.Time) error {
	return w.onEvent(ctx, failpoint.BuryEvent, fmt.Sprintf("bury event %d", e.ID), sqlBuryEvent,
		e.ID, string(e.Target), e.Version, attempts, safe(reason, reasonLimit), at)
}

// onEvent changes one unsent event.
func (w *Writer) onEvent(ctx context.Context, at failpoint.Boundary, op, sql string, args ...any) error {
	var changed int
	first := func(b *pgx.Batch) { b.Queue(sql, args...).Exec(countInto(&changed)) }
	return w.inTx(ctx, at, op, first, func(*Tx) error {
		if changed == 0 {
			return fault.ErrMoved
		}
		return nil
	})
}
