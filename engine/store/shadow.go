package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/failpoint"
	"msgx/engine/ruleset"
)

const (
	sqlShadowRun = `
INSERT INTO shadow_run (hash, live, first_at, last_at, same, different, unread, late, dropped)
VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8)
ON CONFLICT (hash, live) DO UPDATE SET last_at = excluded.last_at, same = shadow_run.same + excluded.same,
    different = shadow_run.different + excluded.different, unread = shadow_run.unread + excluded.unread,
    late = shadow_run.late + excluded.late, dropped = shadow_run.dropped + excluded.dropped`

	sqlShadowCount = `
INSERT INTO shadow_count (hash, live, kind, place, messages)
SELECT $1, $2, c.kind, c.place, c.messages FROM unnest($3::text[], $4::text[], $5::bigint[]) AS c (kind, place, messages)
ON CONFLICT (hash, live, kind, place) DO UPDATE SET messages = shadow_count.messages + excluded.messages`

	sqlShadowDifference = `
INSERT INTO shadow_difference (hash, live, msg_id, kind, place, flid, live_said, shadow_said, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

	// The latest of each spot stay.
	sqlForgetDifferences = `
DELETE FROM shadow_difference WHERE difference_id IN (
    SELECT r.difference_id FROM (
        SELECT d.difference_id, row_number() OVER (PARTITION BY d.kind, d.place ORDER BY d.difference_id DESC) AS nth
        FROM shadow_difference d WHERE d.hash = $1 AND d.live = $2) AS r
    WHERE r.nth > $3)`

	// And the latest of a run.
	sqlForgetMoreDifferences = `
DELETE FROM shadow_difference WHERE hash = $1 AND live = $2 AND difference_id <= (
    SELECT d.difference_id FROM shadow_difference d WHERE d.hash = $1 AND d.live = $2 ORDER BY d.difference_id DESC OFFSET $3 LIMIT 1)`

	sqlForgetRuns = `
DELETE FROM shadow_run WHERE last_at <= (SELECT r.last_at FROM shadow_run r ORDER BY r.last_at DESC OFFSET $1 LIMIT 1)`

	sqlSetShadowNow = `
INSERT INTO shadow_now (origin, hash, fault, at) VALUES ($1, $2, $3, $4)
ON CONFLICT (only_row) DO UPDATE SET origin = excluded.origin, hash = excluded.hash, fault = excluded.fault, at = excluded.at`

	sqlNoShadowNow = `DELETE FROM shadow_now`

	sqlShadowNow = `SELECT n.origin, n.hash, n.fault, n.at FROM shadow_now n`

	sqlShadowRuns = `
SELECT r.hash, r.live, r.first_at, r.last_at, r.same, r.different, r.unread, r.late, r.dropped
FROM shadow_run r ORDER BY r.last_at DESC LIMIT $1`

	sqlShadowCounts = `
SELECT c.kind, c.place, c.messages FROM shadow_count c WHERE c.hash = $1 AND c.live = $2 ORDER BY c.messages DESC, c.kind, c.place`

	sqlShadowDifferences = `
SELECT d.kind, d.place, d.msg_id, d.flid, d.live_said, d.shadow_said, d.at
FROM shadow_difference d WHERE d.hash = $1 AND d.live = $2 ORDER BY d.difference_id DESC LIMIT $3`
)

const (
	keptRuns             = 20    // pairs of a shadow and what was live
	keptDifferences      = 1_000 // of a run
	keptDifferencesASpot = 20    // of a kind in one place
	saidLimit            = 1_000 // characters of what was said
)

// AddShadow adds what a shadow has found to its run, and drops what is beyond the bounds.
// It is not repeated after an error: a tally is for judging a candidate, not for accounting.
func (w *Writer) AddShadow(ctx context.Context, f ruleset.Findings) error {
	var kinds, places []string
	var counts []int64
	spots := slices.SortedFunc(maps.Keys(f.Counts), func(a, b ruleset.Spot) int {
		return strings.Compare(a.Kind+" "+a.Place, b.Kind+" "+b.Place)
	})
	for _, spot := range spots {
		kinds, places, counts = append(kinds, spot.Kind), append(places, spot.Place), append(counts, f.Counts[spot])
	}
	t, hash, live := f.Tally, f.Run.Shadow, f.Run.Live
	return w.inTx(ctx, failpoint.ShadowFound, "add what the shadow found", nil, func(tx *Tx) error {
		tx.Finally(sqlShadowRun, hash, live, f.At, t.Same, t.Different, t.Unread, t.Late, t.Dropped)
		tx.Finally(sqlShadowCount, hash, live, kinds, places, counts)
		for _, d := range f.Examples {
			tx.Finally(sqlShadowDifference, hash, live, d.MsgID, d.Kind, d.Place, d.FLID, safe(d.Live, saidLimit), safe(d.Shadow, saidLimit), d.At)
		}
		if len(f.Examples) > 0 {
			tx.Finally(sqlForgetDifferences, hash, live, keptDifferencesASpot)
			tx.Finally(sqlForgetMoreDifferences, hash, live, keptDifferences)
		}
		tx.Finally(sqlForgetRuns, keptRuns)
		return nil
	})
}

// SetShadowNow says what the leader's shadow is; nil that it has none.
func (w *Writer) SetShadowNow(ctx context.Context, n *ruleset.ShadowNow) error {
	return w.inTx(ctx, failpoint.ShadowNow, "record the shadow", nil, func(tx *Tx) error {
		if n == nil {
			tx.Finally(sqlNoShadowNow)
			return nil
		}
		tx.Finally(sqlSetShadowNow, n.Origin, n.Hash, safeLines(n.Fault), n.At)
		return nil
	})
}

// ShadowNow is what the leader's shadow is; false when it has none.
func (s *Store) ShadowNow(ctx context.Context) (n ruleset.ShadowNow, found bool, err error) {
	rows, err := list(ctx, s, "read the shadow", sqlShadowNow, func(row pgx.CollectableRow) (n ruleset.ShadowNow, err error) {
		err = row.Scan(&n.Origin, &n.Hash, &n.Fault, &n.At)
		n.At = n.At.UTC()
		return n, err
	})
	if err != nil || len(rows) == 0 {
		return n, false, err
	}
	return rows[0], true, nil
}

// ShadowReports are the latest runs, the latest first, each with its latest examples.
func (s *Store) ShadowReports(ctx context.Context, runs, examples int) ([]ruleset.ShadowReport, error) {
	reports, err := list(ctx, s, "read the runs of shadows", sqlShadowRuns, func(row pgx.CollectableRow) (r ruleset.ShadowReport, err error) {
		err = row.Scan(&r.Shadow, &r.Live, &r.First, &r.Last, &r.Tally.Same, &r.Tally.Different, &r.Tally.Unread, &r.Tally.Late, &r.Tally.Dropped)
		r.First, r.Last = r.First.UTC(), r.Last.UTC()
		return r, err
	}, runs)
	if err != nil {
		return nil, err
	}
	for i := range reports {
		r := &reports[i]
		op := fmt.Sprintf("read what shadow %.12s found", r.Shadow)
		r.Counts, err = list(ctx, s, op, sqlShadowCounts, func(row pgx.CollectableRow) (c ruleset.SpotCount, err error) {
			err = row.Scan(&c.Kind, &c.Place, &c.Messages)
			return c, err
		}, r.Shadow, r.Live)
		if err != nil {
			return nil, err
		}
		r.Latest, err = list(ctx, s, op, sqlShadowDifferences, func(row pgx.CollectableRow) (d ruleset.Difference, err error) {
			var at time.Time
			err = row.Scan(&d.Kind, &d.Place, &d.MsgID, &d.FLID, &d.Live, &d.Shadow, &at)
			d.At = at.UTC()
			return d, err
		}, r.Shadow, r.Live, examples)
		if err != nil {
			return nil, err
		}
	}
	return reports, nil
}
