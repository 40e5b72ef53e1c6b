package store

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"msgx/engine/flight"
	"msgx/engine/message"
)

// trips counts what is sent to the server: batches, single statements, preparations.
type trips struct{ n atomic.Int64 }

func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// Round trips are what a message costs; their number is part of the design.
func TestRoundTrips(t *testing.T) {
	s, w := fresh(t)
	counter := new(trips)
	config := s.pool.Config()
	config.ConnConfig.Tracer = counter
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	s.pool.Close()
	s.pool = pool
	enqueue(t, w, 1, 6)
	before := created(1, flight.Fields{})
	decide(t, w, full(t, 1)) // prepares
	decide(t, w, succeed(2))
	settle := settlementOf(3, message.Outcome{State: message.Skipped, Reason: "x"})
	for _, tt := range []struct {
		name string
		call func()
		want int64
	}{
		{"settle", func() {
			if err := w.Settle(t.Context(), settle); err != nil {
				t.Error(err)
			}
		}, 1},
		{"decide", func() { before = created(77, flight.Fields{}); decide(t, w, succeed(4, before)) }, 2},
		{"decide an update", func() { decide(t, w, succeed(5, next(before.After, flight.Fields{"STND": "3"}))) }, 2},
		{"decide with everything", func() { decide(t, w, full(t, 6)) }, 2},
	} {
		counter.n.Store(0)
		tt.call()
		if got := counter.n.Load(); got != tt.want {
			t.Errorf("%s: got %d round trips, want %d", tt.name, got, tt.want)
		}
	}
}
