package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"msgx/engine/failpoint"
	"msgx/engine/fault"
)

const sqlFence = `SELECT epoch FROM instance_lease WHERE epoch = $1 FOR SHARE`

// Writer is the engine's right to write, under one epoch of the lease. Every
// write holds the epoch shared until it commits; once another instance has taken
// over, all of them return fault.ErrFenced and write nothing.
type Writer struct {
	store *Store
	epoch int64
}

// Writer makes the writer of an epoch that ClaimLease gave.
func (s *Store) Writer(epoch int64) *Writer { return &Writer{store: s, epoch: epoch} }

// Epoch is the epoch that the writer holds.
func (w *Writer) Epoch() int64 { return w.epoch }

// fence queues the check of the epoch and returns where its outcome will be.
func (w *Writer) fence(b *pgx.Batch) *bool {
	held := new(bool)
	b.Queue(sqlFence, w.epoch).Query(func(rows pgx.Rows) error {
		*held = rows.Next()
		rows.Close()
		return rows.Err()
	})
	return held
}

// inTx runs a fenced transaction. What first queues travels with the fence, in the
// first round trip; fn sees its results and queues the rest with Finally.
//
// All that is written this way may be written again without harm, so a reply to
// COMMIT that is lost is reported as the server being away: the caller repeats.
func (w *Writer) inTx(ctx context.Context, at failpoint.Boundary, op string, first func(*pgx.Batch), fn func(*Tx) error) error {
	err := w.store.InTx(ctx, at, func(tx *Tx) error {
		var b pgx.Batch
		held := w.fence(&b)
		if first != nil {
			first(&b)
		}
		if err := tx.Send(ctx, &b); err != nil {
			return err
		}
		if !*held {
			return fault.ErrFenced
		}
		return fn(tx)
	})
	if errors.Is(err, fault.ErrCommitInDoubt) {
		return fmt.Errorf("store: %s: %w: %s", op, fault.ErrUnavailable, err.Error())
	}
	if err != nil {
		return fmt.Errorf("store: %s: %w", op, err)
	}
	return nil
}
