package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		sorted []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{1, 3}, 2}, {[]float64{1, 2, 9}, 2}, {[]float64{1, 2, 4, 9}, 3}} {
		if got := median(tt.sorted); got != tt.want {
			t.Errorf("median of %v: got %v, want %v", tt.sorted, got, tt.want)
		}
	}
}

func TestRatioIsTheShareOfTheFloorsRate(t *testing.T) {
	r := result{messages: 100, ours: 2 * time.Second, floor: time.Second, whole: 4 * time.Second}
	if r.ratio() != 0.5 || r.wholeRatio() != 0.25 || r.rate(r.ours) != 50 {
		t.Errorf("got ratio %v, with all stages %v, %v messages/s; want 0.5, 0.25, 50", r.ratio(), r.wholeRatio(), r.rate(r.ours))
	}
}

func TestProgressKeepsTheFirstTimeOfEachMark(t *testing.T) {
	var p progress
	for n, decided := range []int64{0, 24, 25, 80, 80, 100, 100} {
		p.at(decided, 100, time.Duration(n)*time.Second)
	}
	want := progress{quarter: 2 * time.Second, three: 3 * time.Second, all: 5 * time.Second}
	if p != want {
		t.Errorf("got %v, want %v", p, want)
	}
}

func TestCountdownEndsOnce(t *testing.T) {
	c := newCountdown(2)
	c.down()
	if len(c.ended) != 0 {
		t.Error("ended after 1 of 2")
	}
	c.down()
	c.down()
	if len(c.ended) != 1 {
		t.Errorf("ended %d times after 2, want once", len(c.ended))
	}
}

// A decision that is rolled back must not be in the floor; one that is settled by a single statement must.
func TestRecorder(t *testing.T) {
	r := newRecorder()
	conn := new(pgx.Conn)
	batch := func(statements ...statement) {
		var b pgx.Batch
		for _, s := range statements {
			b.Queue(s.sql, s.args...)
		}
		r.TraceBatchStart(t.Context(), conn, pgx.TraceBatchStartData{Batch: &b})
	}
	claim := func(id int64) []statement {
		return []statement{{"BEGIN", nil}, {"SELECT FROM pipeline_lock p FOR UPDATE OF p", []any{int64(7)}}, {"SELECT head", []any{id}}}
	}
	r.settings = map[string]string{} // those of the connection are not there in a test
	batch(statement{"SELECT something else", nil})
	batch(claim(1)...)
	batch(statement{"INSERT", nil}, statement{"COMMIT", nil})
	batch(claim(2)...)
	r.TraceQueryStart(t.Context(), conn, pgx.TraceQueryStartData{SQL: "ROLLBACK"})
	batch(statement{"INSERT by another", nil}, statement{"COMMIT", nil})
	r.TraceQueryStart(t.Context(), conn, pgx.TraceQueryStartData{SQL: "WITH settled AS (…)", Args: []any{int64(7), int64(3)}})
	units, _ := r.take()
	got := map[int64]int{}
	for _, u := range units {
		got[u.msgID] = len(u.batches)
	}
	if diff := cmp.Diff(map[int64]int{1: 2, 3: 1}, got); diff != "" {
		t.Errorf("batches by message (-want +got):\n%s", diff)
	}
	if again, _ := r.take(); len(again) != 0 {
		t.Errorf("took %d units twice", len(again))
	}
}
