package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
)

const (
	sqlHolders = `
SELECT p.identity_key, p.msg_id, p.state, COALESCE(p.body_sha256, ''), p.enqueued_at
FROM proc_state p WHERE p.identity_key = ANY ($1::text[])`

	// For each flight the last messages after the given one, the newest first.
	sqlTouches = `
SELECT f.flid, t.state_version, t.msg_id, t.kind, t.changed_at, t.paths
FROM unnest($1::bigint[]) AS f (flid)
CROSS JOIN LATERAL (
    SELECT c.state_version, c.msg_id, c.kind, c.changed_at,
        ARRAY(SELECT x ->> 'path' FROM json_array_elements(c.changed) AS x) AS paths
    FROM flight_change c WHERE c.flid = f.flid AND c.msg_id > $2
    ORDER BY c.state_version DESC LIMIT $3
) AS t
ORDER BY f.flid, t.state_version DESC`

	sqlBehind = `
SELECT count(*), min(p.enqueued_at) FROM proc_state p
WHERE p.state IN ('PENDING', 'FAILED') AND p.msg_id > $1 AND p.msg_id <= COALESCE((SELECT watermark FROM inbox_cursor), 0)`
)

// Look reads what a claim names, without a lock and without changing anything: the flights and the
// reference data as they are just now.
func (s *Store) Look(ctx context.Context, c decision.Claim) (view decision.View, err error) {
	err = s.read(ctx, "look at flights", func(ctx context.Context) error {
		var b pgx.Batch
		s.flights.queueLoad(&b, c.Flights, c.Masters, &view)
		if len(c.RefTypes) > 0 {
			b.Queue(sqlReferences, c.RefTypes).Query(func(rows pgx.Rows) error { return scanReferences(rows, &view) })
		}
		if b.Len() == 0 {
			return nil
		}
		return s.pool.SendBatch(ctx, &b).Close()
	})
	return view, err
}

// Holders tells which of the identities are bound, and to which message.
func (s *Store) Holders(ctx context.Context, identities []string) (map[string]message.Binding, error) {
	keys := make([]string, len(identities))
	for i, identity := range identities {
		keys[i] = safeKey(identity)
	}
	out := map[string]message.Binding{}
	err := s.read(ctx, "read who holds identities", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, sqlHolders, keys)
		if err != nil {
			return err
		}
		var identity string
		var h message.Binding
		_, err = pgx.ForEachRow(rows, []any{&identity, &h.MsgID, &h.State, &h.BodySHA256, &h.EnqueuedAt}, func() error {
			h.EnqueuedAt = h.EnqueuedAt.UTC()
			out[identity] = h
			return nil
		})
		return err
	})
	return out, err
}

// Touches lists, for each of the flights, the last versions that messages after the given one
// brought about: at most limit for a flight, the newest first.
func (s *Store) Touches(ctx context.Context, flights []flight.ID, after int64, limit int) ([]message.Touch, error) {
	return list(ctx, s, "read which messages touched flights", sqlTouches, func(row pgx.CollectableRow) (t message.Touch, err error) {
		var id int64
		err = row.Scan(&id, &t.Version, &t.MsgID, &t.Kind, &t.At, &t.Paths)
		t.FLID, t.At = flight.ID(id), t.At.UTC()
		return t, err
	}, bigints(flights), after, limit)
}

// Behind counts the messages that wait behind one, and tells when the oldest of them was enqueued.
func (s *Store) Behind(ctx context.Context, msgID int64) (n int64, oldest time.Time, err error) {
	err = s.read(ctx, "count what waits", func(ctx context.Context) error {
		var first *time.Time
		err := s.pool.QueryRow(ctx, sqlBehind, msgID).Scan(&n, &first)
		oldest = moment(first)
		return err
	})
	return n, oldest, err
}
