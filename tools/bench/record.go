package main

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// statement is one statement with its parameters.
type statement struct {
	sql  string
	args []any
}

// unit is what the pump did for one message: the batches of one transaction, in
// order, or a single statement that is a transaction of its own.
type unit struct {
	batches [][]statement
	msgID   int64
}

// recorder is a tracer that keeps every statement by which messages are
// decided. It recognises them by the statements themselves, and follows a
// transaction by its connection.
type recorder struct {
	mu       sync.Mutex
	open     map[*pgx.Conn]*unit
	units    []unit
	settings map[string]string // of the sessions
}

func newRecorder() *recorder { return &recorder{open: map[*pgx.Conn]*unit{}} }

// take gives away what was recorded since the last time, and the settings of the sessions.
func (r *recorder) take() ([]unit, map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	units := r.units
	r.units = nil
	return units, r.settings
}

// claims tells the batch that opens a business transaction.
func claims(b []statement) bool {
	return len(b) > 1 && b[0].sql == "BEGIN" && strings.Contains(b[1].sql, "FOR UPDATE OF p") && strings.Contains(b[1].sql, "pipeline_lock")
}

// TraceBatchStart keeps the batches of business transactions.
func (r *recorder) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := make([]statement, 0, len(data.Batch.QueuedQueries))
	for _, q := range data.Batch.QueuedQueries {
		batch = append(batch, statement{q.SQL, slices.Clone(q.Arguments)})
	}
	switch {
	case claims(batch):
		id, _ := batch[2].args[0].(int64)
		r.open[conn] = &unit{batches: [][]statement{batch}, msgID: id}
		if r.settings == nil {
			r.settings = conn.Config().RuntimeParams
		}
	case r.open[conn] != nil:
		u := r.open[conn]
		delete(r.open, conn)
		if batch[len(batch)-1].sql == "COMMIT" {
			u.batches = append(u.batches, batch)
			r.units = append(r.units, *u)
		}
	}
	return ctx
}

// TraceQueryStart keeps the outcomes that are settled by one statement, and
// forgets transactions that are rolled back.
func (r *recorder) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.Contains(data.SQL, "settled AS") {
		id, _ := data.Args[1].(int64)
		r.units = append(r.units, unit{batches: [][]statement{{{data.SQL, slices.Clone(data.Args)}}}, msgID: id})
	} else if data.SQL == "ROLLBACK" {
		delete(r.open, conn)
	}
	return ctx
}

// TraceBatchQuery is of no interest here.
func (r *recorder) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd is of no interest here.
func (r *recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceQueryEnd is of no interest here.
func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
