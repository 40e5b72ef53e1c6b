package daemon_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"msgx/cmd/msgx/daemon"
	"msgx/engine/fault"
	"msgx/tools/stack/stacktest"
)

// The way identities are bound cannot change under a database that has some.
func TestTheDayInTheIdentityCannotChange(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(schedule(1, 1))
	d := p.start()
	p.settled()
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	p.set = append(p.set, "identity.include-day-boundary=true")
	changed, err := daemon.New(t.Context(), p.config(), "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := changed.Run(ctx); err == nil || !strings.Contains(err.Error(), "msgx.identity.include-day-boundary is true, expected false") {
		t.Errorf("got %v, want a refusal that names the parameter", err)
	}
}

// A database that was never migrated is refused, with what to do.
func TestAnUnpreparedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.set = append(p.set, "postgres.url="+stacktest.Postgres(t))
	d, err := daemon.New(t.Context(), p.config(), "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := d.Run(ctx); !errors.Is(err, fault.ErrRefused) || !strings.Contains(err.Error(), "msgx migrate") {
		t.Errorf("got %v, want a refusal that names msgx migrate", err)
	}
}

// A day's schedule of a thousand flights goes through whole, and Chinese text
// reaches the readers of both topics, and comes back from there, as it was written.
func TestAThousandFlightsAndTheirText(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(schedule(1, 1000))
	p.start()
	p.settled()
	if got := p.query(`SELECT count(*) FROM flight_schd WHERE state_version = 1`); got != "1000" {
		t.Errorf("got %s flights, want 1000", got)
	}
	c := p.config()
	for _, topic := range []string{c.Kafka.MsgTopic, c.Kafka.SchdTopic} {
		found := map[string]bool{}
		for _, r := range readTopic(t, c.Kafka.Brokers[0], topic) {
			found[string(r.Key)] = strings.Contains(string(r.Value), `"中国国际航空 `+string(r.Key)+`"`)
		}
		missing := 0
		for id := 1; id <= 1000; id++ {
			if !found[strconv.Itoa(id)] {
				missing++
			}
		}
		if missing > 0 {
			t.Errorf("%d of 1000 flights did not reach topic %s with their text", missing, topic)
		}
	}
}
