package pump_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"msgx"
	"msgx/engine/clock"
	"msgx/engine/pump"
)

// stream is a number of flights, each updated again and again.
type stream struct{ flights, updates int }

// enqueue puts the stream into the mailbox and on to the line.
func (s stream) enqueue(c *chain) {
	c.t.Helper()
	seq := 0
	next := func() int { seq++; return seq }
	for f := range s.flights {
		c.insert(envelope(next(), "SCHD", "ADFT", fmt.Sprintf(
			`<SCHD><RECS>1</RECS><FLTR><FLID>%d</FLID><FLNO>CA%[1]d</FLNO><SODT>23JAN210935</SODT></FLTR></SCHD>`, f+1)))
	}
	for u := range s.updates {
		for f := range s.flights {
			c.insert(stand(next(), f+1, fmt.Sprint(u)))
		}
	}
	c.runUntil(fmt.Sprintf(`SELECT count(*) = %d FROM proc_state`, seq), c.inbox().Run)
}

// check finds out whether each message took effect once, in order, at its first attempt.
func (s stream) check(c *chain) {
	c.t.Helper()
	for what, query := range map[string]string{
		"every message succeeded at its first attempt": `SELECT count(*) = 0 FROM proc_state WHERE state <> 'SUCCEEDED' OR attempts <> 0`,
		"decisions are numbered in id order, without a gap": `SELECT bool_and(decision_no = n) FROM (
			SELECT decision_no, row_number() OVER (ORDER BY msg_id) n FROM proc_state) d`,
		"every flight is at its last version": fmt.Sprintf(`SELECT count(*) = %d AND bool_and(state_version = %d AND stnd = '%d') FROM flight_schd`,
			s.flights, s.updates+1, s.updates-1),
		"every version has one history row and one event": fmt.Sprintf(`SELECT (SELECT count(*) FROM flight_change) = %[1]d
			AND (SELECT count(*) FROM msg_event WHERE target = 'KAFKA:msg') = %[1]d`, s.flights*(s.updates+1)),
	} {
		if !one[bool](c, query) {
			c.t.Errorf("it is not so that %s", what)
		}
	}
}

const unfinished = `SELECT count(*)::int FROM proc_state WHERE state IN ('PENDING', 'FAILED')`

// TestStoppedAgainAndAgain stops and starts the pump in the middle of a
// stream: no attempt is used up, nothing is done twice, nothing is left half.
func TestStoppedAgainAndAgain(t *testing.T) {
	c := newChain(t, msgx.Files)
	s := stream{flights: 5, updates: 40}
	s.enqueue(c)
	stops, slow := 0, 1
	for left := one[int](c, unfinished); left > 0; {
		// A machine too busy to decide anything within a run gets longer ones.
		ctx, cancel := context.WithTimeout(c.context, time.Duration(slow*(5+stops%17))*time.Millisecond)
		err := c.pump(pump.Options{Ahead: 16}).Run(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		before := left
		if left = one[int](c, unfinished); left < before {
			slow = 1
		} else {
			slow = min(2*slow, 1000)
		}
		if stops++; stops > 5000 {
			t.Fatal("no end after 5000 runs")
		}
	}
	if stops < 3 {
		t.Errorf("all was done in %d runs: the test interrupts nothing", stops)
	}
	t.Logf("stopped %d times", stops)
	s.check(c)
}

// TestConnectionsKilled ends the database's sessions under a working pump, in
// the middle of whatever they are doing, commits among it.
func TestConnectionsKilled(t *testing.T) {
	c := newChain(t, msgx.Files)
	s := stream{flights: 5, updates: 60}
	s.enqueue(c)
	ctx, cancel := context.WithCancel(c.context)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.pump(pump.Options{}).Run(ctx) })
	const enough = 20
	kills := 0
	for i := 0; one[int](c, unfinished) > 0; i++ {
		if kills < enough {
			kills += one[int](c, `SELECT count(pg_terminate_backend(pid))::int FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'msgx' AND state <> 'idle'`)
		}
		if err := clock.Sleep(ctx, clock.System{}, time.Duration(1+i%23)*time.Millisecond); err != nil {
			t.Fatalf("the pump ended: %v", group.Wait())
		}
	}
	cancel()
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if kills < 3 {
		t.Errorf("%d sessions killed: the test disturbs nothing", kills)
	}
	t.Logf("killed %d sessions at work", kills)
	s.check(c)
}
