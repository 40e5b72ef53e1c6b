package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"msgx/engine/failpoint"
	"msgx/engine/fault"
)

const (
	sqlHeartbeatStale = `SELECT released OR beat_at < clock_timestamp() - make_interval(secs => $1) FROM instance_heartbeat`

	sqlLockLease = `SELECT epoch FROM instance_lease FOR UPDATE`

	sqlLockHeartbeat = `
SELECT released OR beat_at < clock_timestamp() - make_interval(secs => $1) FROM instance_heartbeat FOR UPDATE`

	sqlTakeLease = `UPDATE instance_lease SET epoch = $1, holder = $2, claimed_at = clock_timestamp()`

	sqlTakeHeartbeat = `
UPDATE instance_heartbeat SET epoch = $1, holder = $2, beat_at = clock_timestamp(), released = false`

	sqlBeat = `
UPDATE instance_heartbeat SET beat_at = clock_timestamp()
WHERE epoch = $1 AND holder = $2 AND NOT released`

	sqlReleaseLease = `
UPDATE instance_heartbeat SET released = true, beat_at = clock_timestamp()
WHERE epoch = $1 AND holder = $2 AND NOT released`

	sqlLeaseHolder = `
SELECT h.epoch, h.holder, h.released, extract(epoch FROM clock_timestamp() - h.beat_at)::float8 FROM instance_heartbeat h`
)

// ClaimLease takes the lease over when its holder has released it or has not beaten for
// the lease time, by the database's clock. It waits for writes that are still held
// by the old epoch; when one of them lasts too long, it has not got the lease this time.
func (s *Store) ClaimLease(ctx context.Context, holder string, lease time.Duration) (epoch int64, ok bool, err error) {
	stale, err := s.heartbeatStale(ctx, lease)
	if err != nil || !stale {
		// A living holder is never made to wait by the locks below.
		return 0, false, err
	}
	err = s.InTx(ctx, failpoint.ClaimLease, func(tx *Tx) error {
		var b pgx.Batch
		b.Queue(sqlLockLease).QueryRow(func(row pgx.Row) error { return row.Scan(&epoch) })
		b.Queue(sqlLockHeartbeat, lease.Seconds()).QueryRow(func(row pgx.Row) error { return row.Scan(&stale) })
		if err := tx.Send(ctx, &b); err != nil {
			return err
		}
		if !stale {
			return nil
		}
		epoch++
		ok = true
		tx.Finally(sqlTakeLease, epoch, holder)
		tx.Finally(sqlTakeHeartbeat, epoch, holder)
		return nil
	})
	if heldTooLong(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("store: claim the lease: %w", err)
	}
	if !ok {
		return 0, false, nil
	}
	return epoch, true, nil
}

func (s *Store) heartbeatStale(ctx context.Context, lease time.Duration) (stale bool, err error) {
	err = s.read(ctx, "read the heartbeat", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, sqlHeartbeatStale, lease.Seconds()).Scan(&stale)
	})
	return stale, err
}

// heldTooLong tells that the statement or lock timeout ended the wait.
func heldTooLong(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && (answer.Code == "57014" || answer.Code == "55P03")
}

// BeatLease keeps the lease. It returns fault.ErrFenced when it is not ours any more.
func (s *Store) BeatLease(ctx context.Context, epoch int64, holder string) error {
	return s.onOwnHeartbeat(ctx, failpoint.BeatLease, "keep the lease", sqlBeat, epoch, holder)
}

// ReleaseLease lets another instance take over at once. It returns fault.ErrFenced when the lease is not ours any more.
func (s *Store) ReleaseLease(ctx context.Context, epoch int64, holder string) error {
	return s.onOwnHeartbeat(ctx, failpoint.ReleaseLease, "release the lease", sqlReleaseLease, epoch, holder)
}

func (s *Store) onOwnHeartbeat(ctx context.Context, at failpoint.Boundary, op, sql string, epoch int64, holder string) error {
	return s.read(ctx, op, func(ctx context.Context) error {
		failpoint.Before(at)
		tag, err := s.pool.Exec(ctx, sql, epoch, holder)
		failpoint.After(at)
		if err == nil && tag.RowsAffected() == 0 {
			err = fault.ErrFenced
		}
		return err
	})
}

// Lease is who leads, for the eye.
type Lease struct {
	Epoch    int64
	Holder   string
	Released bool
	BeatAge  time.Duration
}

// Lease reads who leads.
func (s *Store) Lease(ctx context.Context) (l Lease, err error) {
	err = s.read(ctx, "read the lease", func(ctx context.Context) error {
		var age float64
		err := s.pool.QueryRow(ctx, sqlLeaseHolder).Scan(&l.Epoch, &l.Holder, &l.Released, &age)
		l.BeatAge = time.Duration(age * float64(time.Second))
		return err
	})
	return l, err
}
