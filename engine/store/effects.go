package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/flight"
)

const (
	sqlRecordChanges = `
INSERT INTO flight_change (flid, state_version, msg_id, kind, op, ruleset, script, changed_at, changed)
SELECT c.flid, c.state_version, $4, $5, c.op, $6, $7, $8, c.changed::json
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $9::text[]) AS c (flid, state_version, op, changed)`

	// Ids are taken in the given order. A KAFKA:schd row of the key is replaced under a new id, only
	// forward; rows of KAFKA:msg are in no unique index and never conflict.
	sqlInsertEvents = `
INSERT INTO msg_event (target, partition_key, event_type, flid, state_version, msg_id, kind, ruleset, payload, created_at)
SELECT e.target, e.partition_key, e.event_type, e.flid, e.state_version, $7, $8, $9, e.payload::json, $10
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) WITH ORDINALITY
    AS e (target, partition_key, event_type, flid, state_version, payload, place)
ORDER BY e.place
ON CONFLICT (partition_key) WHERE target = 'KAFKA:schd' DO UPDATE SET
    event_id = excluded.event_id, event_type = excluded.event_type, flid = excluded.flid,
    state_version = excluded.state_version, msg_id = excluded.msg_id, kind = excluded.kind, ruleset = excluded.ruleset,
    payload = excluded.payload, created_at = excluded.created_at,
    state = 'PENDING', attempts = 0, next_attempt_at = NULL, last_error = NULL, resent = false,
    sent_at = NULL, dead_at = NULL, topic = NULL, topic_partition = NULL, topic_offset = NULL
WHERE excluded.state_version >= msg_event.state_version`

	sqlUpsertReferences = `
INSERT INTO ref_master (rtype, rkey, value, msg_id, updated_at)
SELECT r.rtype, r.rkey, r.value::json, $4, $5 FROM unnest($1::text[], $2::text[], $3::text[]) AS r (rtype, rkey, value)
ON CONFLICT (rtype, rkey) DO UPDATE SET value = excluded.value, msg_id = excluded.msg_id, updated_at = excluded.updated_at`

	sqlDeleteReferences = `
DELETE FROM ref_master m USING unnest($1::text[], $2::text[]) AS r (rtype, rkey) WHERE m.rtype = r.rtype AND m.rkey = r.rkey`

	// A new request of a kind, day and sender closes the one that is open.
	sqlExpireRequest = `
UPDATE req_track SET state = 'EXPIRED', closed_at = $3
WHERE answered AND state IN ('PENDING', 'SENT') AND request = $1 AND covered_day IS NOT DISTINCT FROM $2 AND sender = ''`

	sqlInsertRequest = `
INSERT INTO req_track (request, covered_day, fields, answered, msg_id, created_at) VALUES ($1, $2, $3::json, $4, $5, $6)`
)

// chunk bounds the flights of one statement, so that a schedule of any size
// makes statements of bounded size.
const chunk = 500

// queueEffects queues everything that a success changes.
func (w *Writer) queueEffects(tx *Tx, s decision.Settlement) error {
	for part := range slices.Chunk(s.Effects.Advances, chunk) {
		if err := w.store.flights.queueWrite(tx, part); err != nil {
			return err
		}
		if err := queueChanges(tx, s, part); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(latestSchd(s.Effects.Events), 2*chunk) {
		queueEvents(tx, s, part)
	}
	queueReferences(tx, s)
	return w.queueRequests(tx, s)
}

// queueWrite replaces the rows of flights, and those of their lists that differ.
func (t *flightTables) queueWrite(tx *Tx, advances []decision.Advance) error {
	rows := make([]map[string]any, len(advances))
	for i, a := range advances {
		rows[i] = t.row(a.After)
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("flight rows: %w", err)
	}
	tx.Finally(t.upsert, string(encoded))
	for _, l := range t.lists {
		if err := l.queueWrite(tx, advances); err != nil {
			return err
		}
	}
	return nil
}

func (t *flightTables) row(s *flight.State) map[string]any {
	row := make(map[string]any, len(s.Fields)+len(ownColumns))
	for _, c := range t.columns {
		if text, ok := s.Fields[c.path]; ok {
			row[c.name] = text
		}
	}
	row["flid"], row["state"], row["state_version"] = s.ID.String(), string(s.Status), s.Version
	row["last_msg_id"], row["created_at"], row["updated_at"] = s.LastMsgID, timestamp(s.CreatedAt), timestamp(s.UpdatedAt)
	if s.OperationDay != "" {
		row["operation_day"] = s.OperationDay
	}
	return row
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// queueWrite deletes and inserts the list of those flights where it differs.
func (t *listTable) queueWrite(tx *Tx, advances []decision.Advance) error {
	var removed []int64
	rows := map[*listTable][]map[string]any{}
	for _, a := range advances {
		if !slices.Contains(a.Lists, t.list.Tag) {
			continue
		}
		if a.Before != nil || a.Op == decision.Revive {
			removed = append(removed, int64(a.After.ID))
		}
		t.rows(a.After.ID, 0, a.After.Lists[t.list.Tag], rows)
	}
	return t.queueReplace(tx, removed, rows)
}

// queueReplace queues the statements of a list and of those nested in it.
func (t *listTable) queueReplace(tx *Tx, removed []int64, rows map[*listTable][]map[string]any) error {
	if len(removed) > 0 {
		tx.Finally(t.remove, removed)
	}
	if len(rows[t]) > 0 {
		encoded, err := json.Marshal(rows[t])
		if err != nil {
			return fmt.Errorf("%s rows: %w", t.list.Tag, err)
		}
		tx.Finally(t.insert, string(encoded))
	}
	for _, n := range t.nested {
		if err := n.queueReplace(tx, removed, rows); err != nil {
			return err
		}
	}
	return nil
}

// rows turns the entries of a list, and what is nested in them, into table rows.
func (t *listTable) rows(id flight.ID, parent int, records []flight.Record, out map[*listTable][]map[string]any) {
	for i, r := range records {
		row := make(map[string]any, len(t.columns)+3)
		for _, c := range t.columns {
			if text, ok := r.Fields[c.path]; ok {
				row[c.name] = text
			}
		}
		row["flid"], row["ordinal"] = id.String(), i+1
		if t.list.Discriminator != "" {
			row["route_kind"] = t.list.Discriminator
		}
		if t.parent != "" {
			row["parent_ordinal"] = parent
		}
		out[t] = append(out[t], row)
		for _, n := range t.nested {
			n.rows(id, i+1, r.Lists[n.list.Tag], out)
		}
	}
}

func queueChanges(tx *Tx, s decision.Settlement, advances []decision.Advance) error {
	ids, versions := make([]int64, len(advances)), make([]int64, len(advances))
	ops, changed := make([]string, len(advances)), make([]string, len(advances))
	for i, a := range advances {
		encoded, err := json.Marshal(a.Changed)
		if err != nil {
			return fmt.Errorf("flight %d: changes: %w", a.After.ID, err)
		}
		if a.Changed == nil {
			encoded = []byte("[]")
		}
		ids[i], versions[i], ops[i], changed[i] = int64(a.After.ID), a.After.Version, string(a.Op), string(encoded)
	}
	tx.Finally(sqlRecordChanges, ids, versions, ops, s.MsgID, safe(s.Kind, nameLimit), s.Ruleset, s.Script, s.At, changed)
	return nil
}

// latestSchd keeps the last KAFKA:schd event of each key: one statement cannot replace a row twice.
func latestSchd(events []event.Event) []event.Event {
	last := map[string]int{}
	for i, e := range events {
		if e.Target == event.Schd {
			last[e.Key] = i
		}
	}
	out := make([]event.Event, 0, len(events))
	for i, e := range events {
		if e.Target != event.Schd || last[e.Key] == i {
			out = append(out, e)
		}
	}
	return out
}

func queueEvents(tx *Tx, s decision.Settlement, events []event.Event) {
	n := len(events)
	targets, keys, types := make([]string, n), make([]string, n), make([]string, n)
	ids, versions, payloads := make([]int64, n), make([]int64, n), make([]*string, n)
	for i, e := range events {
		targets[i], keys[i], types[i] = string(e.Target), e.Key, string(e.Type)
		ids[i], versions[i], payloads[i] = int64(e.FLID), e.Version, jsonText(e.Payload)
	}
	tx.Finally(sqlInsertEvents, targets, keys, types, ids, versions, payloads, s.MsgID, safe(s.Kind, nameLimit), s.Ruleset, s.At)
}

// queueReferences writes the last change of each reference key.
func queueReferences(tx *Tx, s decision.Settlement) {
	type key struct{ typ, key string }
	last := map[key]int{}
	for i, r := range s.Effects.Refs {
		last[key{r.Type, r.Key}] = i
	}
	var types, keys, values, goneTypes, goneKeys []string
	for i, r := range s.Effects.Refs {
		switch {
		case last[key{r.Type, r.Key}] != i:
		case r.Op == decision.RefDelete:
			goneTypes, goneKeys = append(goneTypes, r.Type), append(goneKeys, r.Key)
		default:
			types, keys, values = append(types, r.Type), append(keys, r.Key), append(values, string(r.Value))
		}
	}
	if len(types) > 0 {
		tx.Finally(sqlUpsertReferences, types, keys, values, s.MsgID, s.At)
	}
	if len(goneTypes) > 0 {
		tx.Finally(sqlDeleteReferences, goneTypes, goneKeys)
	}
}

// queueRequests registers what the decision wants sent upstream.
func (w *Writer) queueRequests(tx *Tx, s decision.Settlement) error {
	for _, o := range s.Effects.Outbound {
		encoded, err := json.Marshal(o.Fields)
		if err != nil {
			return fmt.Errorf("request %s: %w", o.Request, err)
		}
		answered := w.store.answered[o.Request]
		day := coveredDay(o.Fields)
		if answered {
			tx.Finally(sqlExpireRequest, o.Request, day, s.At)
		}
		tx.Finally(sqlInsertRequest, o.Request, day, string(encoded), answered, s.MsgID, s.At)
	}
	return nil
}

// coveredDay is the day that a schedule request begins with, NULL for the others.
func coveredDay(fields map[string]string) *string {
	const day = len("2006-01-02")
	begin := fields["STDB"]
	if len(begin) < day {
		return nil
	}
	begin = begin[:day]
	return &begin
}
