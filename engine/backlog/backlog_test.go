package backlog

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"msgx/engine/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int, unread, unfinished int64) Reading {
	return Reading{At: noon.Add(time.Duration(seconds) * time.Second), Unread: unread, Unfinished: unfinished, Oldest: noon.Add(-time.Minute)}
}

func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, last Reading
		rate        float64
		remaining   time.Duration
		ends        bool
	}{
		{"shrinks", at(0, 900, 100), at(10, 0, 500), 50, 10 * time.Second, true},
		{"grows", at(0, 0, 100), at(10, 100, 100), -10, 0, false},
		{"stands still", at(0, 0, 100), at(10, 0, 100), 0, 0, false},
		{"empty", at(0, 0, 0), at(10, 0, 0), 0, 0, true},
		{"one reading", at(0, 5, 0), at(0, 5, 0), 0, 0, false},
		{"hardly shrinks", at(0, 0, math.MaxInt64/2), at(10, 0, math.MaxInt64/2-1), 0, 0, false},
	} {
		rate, remaining, ends := Drain(c.first, c.last)
		if math.Abs(rate-c.rate) > 0.2 || remaining != c.remaining || ends != c.ends {
			t.Errorf("%s: got %g a second, %s, ends %v, want %g, %s, %v", c.name, rate, remaining, ends, c.rate, c.remaining, c.ends)
		}
	}
}

func TestFigures(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	looked := 0
	g, err := New(func(context.Context) (Reading, error) {
		looked++
		cancel()
		if looked == 2 {
			return Reading{}, errors.New("away")
		}
		return at(0, 0, 100), nil
	}, clock.System{}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Run(ctx); err != nil || looked != 1 {
		t.Fatalf("run: looked %d times, %v", looked, err)
	}
	want := func(left, oldest, rest float64) {
		t.Helper()
		if l, o, r := testutil.ToFloat64(g.left), testutil.ToFloat64(g.oldest), testutil.ToFloat64(g.rest); l != left || o != oldest || r != rest {
			t.Errorf("got %g left, oldest %g s, %g s to go, want %g, %g, %g", l, o, r, left, oldest, rest)
		}
	}
	want(100, 60, math.Inf(1))
	g.take(at(10, 0, 50))
	want(50, 70, 10)
	for i := range 2 * window {
		g.take(at(20+10*i, 0, 50))
	}
	if len(g.readings) != window {
		t.Errorf("%d readings kept, want %d", len(g.readings), window)
	}
	want(50, 670, math.Inf(1))
	g.take(Reading{At: noon.Add(time.Hour)})
	want(0, 0, 0)
}
