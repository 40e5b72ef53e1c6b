package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"msgx/engine/failpoint"
	"msgx/engine/fault"
)

// Tx is one transaction, made for few round trips: the first Send carries BEGIN with
// it, and what is given to Finally travels with COMMIT.
type Tx struct {
	store *Store
	conn  *pgxpool.Conn
	begun bool
	last  pgx.Batch
}

// Send runs statements at once, in one round trip, and their callbacks in order.
func (t *Tx) Send(ctx context.Context, b *pgx.Batch) error {
	if !t.begun {
		b.QueuedQueries = slices.Insert(b.QueuedQueries, 0, &pgx.QueuedQuery{SQL: "BEGIN"})
		t.begun = true
	}
	ctx, cancel := context.WithTimeout(ctx, t.store.patience)
	defer cancel()
	return t.conn.SendBatch(ctx, b).Close()
}

// Finally queues a statement for the round trip that commits. Nothing can be
// decided on its result any more, except by the statement failing.
func (t *Tx) Finally(sql string, args ...any) { t.last.Queue(sql, args...) }

// InTx runs fn in a transaction and commits it unless fn returns an error. It is the
// one place that commits. A reply to COMMIT that is lost is fault.ErrCommitInDoubt: the
// caller finds out by reading. fn has no effects outside the transaction; at names the boundary.
func (s *Store) InTx(ctx context.Context, at failpoint.Boundary, fn func(*Tx) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return classify(ctx, err)
	}
	defer conn.Release()
	tx := &Tx{store: s, conn: conn}
	if err := fn(tx); err != nil {
		tx.rollback(ctx)
		return classify(ctx, err)
	}
	failpoint.Before(at)
	if err := tx.commit(ctx); err != nil {
		tx.rollback(ctx)
		return err
	}
	failpoint.After(at)
	return nil
}

// commit is not interrupted by the caller's cancellation: a shutdown lets a decision that
// has been taken end well. It is bounded all the same.
func (t *Tx) commit(ctx context.Context) error {
	if !t.begun && len(t.last.QueuedQueries) == 0 {
		return nil
	}
	if !t.begun {
		t.last.QueuedQueries = slices.Insert(t.last.QueuedQueries, 0, &pgx.QueuedQuery{SQL: "BEGIN"})
		t.begun = true
	}
	var tag string
	t.last.Queue("COMMIT").Exec(func(ct pgconn.CommandTag) error { tag = ct.String(); return nil })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.store.patience)
	defer cancel()
	err := t.conn.SendBatch(ctx, &t.last).Close()
	switch {
	case tag == "COMMIT":
		return nil // committed, whatever became of the connection afterwards
	case err == nil:
		return fmt.Errorf("the transaction had already failed: the server answered %q to COMMIT", tag)
	case refused(err):
		return classify(ctx, err)
	}
	return fmt.Errorf("%w: %w", fault.ErrCommitInDoubt, err)
}

// rollback leaves the connection usable; one that is not is thrown away by the pool.
func (t *Tx) rollback(ctx context.Context) {
	if !t.begun || t.conn.Conn().IsClosed() || t.conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.store.patience)
	defer cancel()
	_, _ = t.conn.Exec(ctx, "ROLLBACK") // if it fails, the pool discards the connection, and the server the transaction
}

// read runs a reading call with the bound of one round trip and wraps its error once.
func (s *Store) read(ctx context.Context, op string, fn func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	if err := fn(bounded); err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			err = fault.ErrNotFound
		}
		return fmt.Errorf("store: %s: %w", op, classify(ctx, err))
	}
	return nil
}

// list reads all rows of a statement, each through scan.
func list[T any](ctx context.Context, s *Store, op, sql string, scan func(pgx.CollectableRow) (T, error), args ...any) ([]T, error) {
	var out []T
	err := s.read(ctx, op, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scan)
		return err
	})
	return out, err
}
