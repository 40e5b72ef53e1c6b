package crash

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"msgx/engine/failpoint"
	"msgx/tools/feed"
)

// TestPointsOutsideTheRun kills the daemon and the commands of operators at the boundaries that a run does not lead to, on both sides
// of each, and looks at what is there afterwards: nothing before it, all of it once after it. Then the daemon goes on.
func TestPointsOutsideTheRun(t *testing.T) {
	p := newPlace(t, build(t, ""))
	p.prepare()
	r := newRun(p, options{seed: *seed})
	// One message that the rules cannot decide, so that there is one to be sent through again.
	r.feedWith(feed.Options{Flights: 30, Operations: 150, Holding: 1}, 30)
	r.seeds()
	p.settled(r, "first")

	r.lateRows()
	r.waitingEvents()
	r.deadEvents()
	r.deliveries()
	r.operations()
	r.requests()
	r.pauses()
	if found := r.audit(); found != "" {
		t.Error(found)
	}
}

// count is what one statement counts.
func (p *place) count(sql string) int {
	p.t.Helper()
	var n int
	if err := p.pg.QueryRow(p.t.Context(), sql).Scan(&n); err != nil {
		p.t.Fatalf("%s: %v", short(sql), err)
	}
	return n
}

func (p *place) want(what, sql string, want int) {
	p.t.Helper()
	if got := p.count(sql); got != want {
		p.t.Errorf("%s: got %d, want %d", what, got, want)
	}
}

// killedAt runs the daemon until it ends at a point.
func (r *run) killedAt(b failpoint.Boundary, side string, pass int, set ...string) {
	r.t.Helper()
	e := end{no: r.total, point: string(b) + "/" + side, pass: pass}
	r.total++
	before := r.set
	r.set = append(append([]string{}, r.set...), set...)
	i, err := r.start("rare", e, true)
	r.set = before
	if err != nil {
		r.t.Fatal(err)
	}
	select {
	case err := <-i.exited:
		_ = i.log.Close()
		if !killed(err) {
			r.t.Fatalf("%s: ended by itself: %v\n%s", e, err, i.tail())
		}
	case <-time.After(60 * time.Second):
		i.kill()
		r.t.Fatalf("%s: not within 60 s\n%s", e, i.tail())
	}
	r.kills[e.point]++
	r.expire()
}

// expire takes the lease from the dead.
func (p *place) expire() {
	p.t.Helper()
	if _, err := p.pg.Exec(p.t.Context(), `UPDATE instance_heartbeat SET beat_at = beat_at - interval '1 hour' WHERE NOT released`); err != nil {
		p.t.Fatal(err)
	}
}

// commandKilledAt runs a command that ends at a point.
func (r *run) commandKilledAt(b failpoint.Boundary, side string, words ...string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	cmd := r.command(ctx, words, r.through(false)...)
	point := string(b) + "/" + side
	cmd.Env = append(os.Environ(), "FAILPOINT="+point+":1")
	if out, err := cmd.CombinedOutput(); !killed(err) {
		r.t.Fatalf("msgx %s at %s: got %v, expected to be killed\n%s", strings.Join(words, " "), point, err, out)
	}
	r.total++
	r.kills[point]++
}

// seeds kills a daemon that begins to read.
func (r *run) seeds() {
	r.t.Helper()
	const begun = `SELECT count(*) FROM inbox_cursor WHERE seeded_at IS NOT NULL`
	r.killedAt(failpoint.Seed, "before", 1)
	r.want("beginnings, before", begun, 0)
	r.killedAt(failpoint.Seed, "after", 1)
	r.want("beginnings, after", begun, 1)
}

// lateRows has a row turn up in a hole that was released.
func (r *run) lateRows() {
	r.t.Helper()
	const released, late = `SELECT count(*) FROM inbox_hole WHERE outcome = 'aged'`, `SELECT count(*) FROM inbox_hole WHERE outcome = 'late'`
	if r.count(released) == 0 {
		r.t.Fatal("no hole was released, expected some of the ids that were given up")
	}
	id := r.count(`SELECT min(first_id) FROM inbox_hole WHERE outcome = 'aged'`)
	if _, err := r.mailbox.ExecContext(r.t.Context(), `INSERT INTO CMINMSGS (CMINMSGS_ID, CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED)
		SELECT ?, CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED FROM CMINMSGS WHERE CMINMSGS_ID = (SELECT MAX(CMINMSGS_ID) FROM CMINMSGS)`, id); err != nil {
		r.t.Fatal(err)
	}
	r.killedAt(failpoint.RecordLate, "before", 1)
	r.want("late rows on record, before", late, 0)
	r.killedAt(failpoint.RecordLate, "after", 1)
	r.want("late rows on record, after", late, 1)
	r.settled(r, "late")
	r.want("late rows on record, when it is looked for again", late, 1)
}

// waitingEvents has a part of what is sent get lost.
func (r *run) waitingEvents() {
	r.t.Helper()
	const waiting = `SELECT count(*) FROM msg_event WHERE state = 'PENDING' AND next_attempt_at IS NOT NULL`
	r.partly(true)
	r.more(4)
	r.killedAt(failpoint.DeferEvent, "before", 1)
	r.want("events that wait, before", waiting, 0)
	r.killedAt(failpoint.DeferEvent, "after", 1)
	if r.count(waiting) == 0 {
		r.t.Error("no event waits, expected the one whose wait was committed")
	}
	r.partly(false)
	r.settled(r, "waited")
	r.want("attempts of events, which the broker was no reason for", `SELECT COALESCE(max(attempts), 0) FROM msg_event`, 0)
}

// more feeds a few messages of another day of March.
func (r *run) more(day int) {
	r.t.Helper()
	r.feedWith(feed.Options{Flights: 10, Operations: 20, Holding: -1, BadPerMille: -1, Date: time.Date(2026, 3, day, 0, 0, 0, 0, time.FixedZone("", 8*3600))}, 0)
}

// deadEvents has the broker refuse what is sent for good.
func (r *run) deadEvents() {
	r.t.Helper()
	const dead = `SELECT count(*) FROM msg_event WHERE state = 'DEAD'`
	r.mustTopics(r.t, "max.message.bytes", "150")
	r.more(5)
	r.killedAt(failpoint.BuryEvent, "before", 1)
	r.killedAt(failpoint.BuryEvent, "after", 1)
	if r.count(dead) == 0 {
		r.t.Error("no event is given up, expected the one whose burial was committed")
	}
	r.settled(r, "buried")
	r.want("events that are given up and have a place in a topic", dead+` AND topic IS NOT NULL`, 0)
	r.want("events that are neither sent nor given up", `SELECT count(*) FROM msg_event WHERE state NOT IN ('DEAD', 'SENT')`, 0)
	r.mustTopics(r.t, "max.message.bytes", "1048588")
	r.t.Logf("%d events were given up", r.count(dead))
}

// deliveries kills what an operator does with events.
func (r *run) deliveries() {
	r.t.Helper()
	const dead = `SELECT count(*) FROM msg_event WHERE state = 'DEAD'`
	n := r.count(dead)
	drop := []string{"outbox", "drop", "--id", fmt.Sprint(r.count(`SELECT min(event_id) FROM msg_event WHERE state = 'DEAD'`)), "--reason", "killed"}
	retry := []string{"outbox", "retry", "--all-dead", "--limit", "10000", "--reason", "killed"}
	r.commandKilledAt(failpoint.Operate, "before", retry...)
	r.want("dead events before a retry", dead, n)
	r.want("retries on record, before", logged("outbox retry"), 0)
	r.commandKilledAt(failpoint.Operate, "after", retry...)
	r.want("dead events after a retry", dead, 0)
	r.want("retries on record, after", logged("outbox retry"), n)
	if out, err := r.run(retry...); err == nil {
		r.t.Errorf("the retry again: done, expected nothing to match\n%s", out)
	}
	r.commandKilledAt(failpoint.Operate, "before", drop...)
	r.want("dead events before one is given up", dead, 0)
	r.commandKilledAt(failpoint.Operate, "after", drop...)
	r.want("dead events after one is given up", dead, 1)
	r.want("events given up on record", logged("outbox drop"), 1)
	r.settled(r, "retried")
	r.want("events that are neither sent nor given up", `SELECT count(*) FROM msg_event WHERE state NOT IN ('DEAD', 'SENT')`, 0)

	resync := []string{"resync", "--all", "--reason", "killed"}
	const again = `SELECT count(*) FROM msg_event WHERE target = 'KAFKA:schd' AND state = 'PENDING'`
	r.commandKilledAt(failpoint.Operate, "before", resync...)
	r.want("latest states to be sent before a resync", again, 0)
	r.commandKilledAt(failpoint.Operate, "after", resync...)
	r.want("latest states to be sent after a resync", again, r.count(`SELECT count(*) FROM msg_event WHERE target = 'KAFKA:schd'`))
	r.want("resyncs on record", logged("resync"), 1)
	r.settled(r, "resynced")
}

// logged counts what is on record of an action.
func logged(action string) string {
	return `SELECT count(*) FROM operator_log WHERE action = '` + action + `'`
}

// operations kills what an operator does with messages.
func (r *run) operations() {
	r.t.Helper()
	const dead, pending = `SELECT count(*) FROM proc_state WHERE state = 'DEAD' AND error_class = 'EXHAUSTED'`, `SELECT count(*) FROM proc_state WHERE state = 'PENDING'`
	n := r.count(dead)
	if n == 0 {
		r.t.Fatal("no message is EXHAUSTED, expected the one that the rules cannot decide")
	}
	replay := []string{"dead", "replay", "--class", "EXHAUSTED", "--reason", "killed"}
	r.commandKilledAt(failpoint.Operate, "before", replay...)
	r.want("dead before a replay", dead, n)
	r.want("replays on record, before", logged("replay"), 0)
	r.commandKilledAt(failpoint.Operate, "after", replay...)
	r.want("pending after a replay", pending, n)
	r.want("replays on record, after", logged("replay"), n)
	if out, err := r.run(replay...); err == nil {
		r.t.Errorf("the replay again: done, expected nothing to match\n%s", out)
	}
	r.want("replays on record, when it is tried again", logged("replay"), n)

	skip := []string{"skip", "--id", fmt.Sprint(r.count(`SELECT min(msg_id) FROM proc_state WHERE state = 'PENDING'`)), "--approver", "a", "--ticket", "t", "--reason", "killed"}
	r.commandKilledAt(failpoint.Operate, "before", skip...)
	r.want("skips on record, before", logged("skip"), 0)
	r.commandKilledAt(failpoint.Operate, "after", skip...)
	r.want("skips on record, after", logged("skip"), 1)
	if out, err := r.run(skip...); err == nil {
		r.t.Errorf("the skip again: done, expected nothing to match\n%s", out)
	}
	r.settled(r, "operated")
	r.want("skips on record, at the end", logged("skip"), 1)
}

// requests kills an operator's request for a rule set.
func (r *run) requests() {
	r.t.Helper()
	const asked = `SELECT count(*) FROM ruleset_request`
	activate := []string{"rules", "activate", "--wait", "0s", "--reason", "killed"}
	r.commandKilledAt(failpoint.AskRules, "before", activate...)
	r.want("requests, before", asked, 0)
	r.commandKilledAt(failpoint.AskRules, "after", activate...)
	r.want("requests, after", asked, 1)
	i, err := r.start("asked", end{}, false)
	if err != nil {
		r.t.Fatal(err)
	}
	defer r.stop(i)
	await(r.t, "an answer of the leader", func() error {
		if n := r.count(asked + ` WHERE answered_at IS NULL`); n > 0 {
			return fmt.Errorf("%d without an answer", n)
		}
		return nil
	})
}

// pauses kills a daemon that pauses all stages as it begins.
func (r *run) pauses() {
	r.t.Helper()
	const paused = `SELECT count(*) FROM operator_control WHERE control = 'pause' AND value = 'paused'`
	r.killedAt(failpoint.Pause, "before", 1, "pipeline.autostart=false")
	r.want("paused, before", paused, 0)
	r.killedAt(failpoint.Pause, "after", 3, "pipeline.autostart=false")
	r.want("paused, after the third", paused, 3)
	r.want("pauses on record, after the third", logged("pause"), 3)
	if _, err := r.pg.Exec(r.t.Context(), `UPDATE operator_control SET value = 'running' WHERE control = 'pause'`); err != nil {
		r.t.Fatal(err)
	}
	r.settled(r, "resumed")
}

// TestEveryBoundaryIsTried holds the tests here to all boundaries: each is in a run, or in a test that goes there.
func TestEveryBoundaryIsTried(t *testing.T) {
	source, err := os.ReadFile("rare_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for b, why := range unreached {
		if why == tried && !bytes.Contains(source, []byte("At(failpoint."+constantOf(b)+`, "before"`)) {
			t.Errorf("%s is said to be %s, and is not", b, tried)
		}
	}
}

// constantOf is the name of a boundary's constant: record-late is RecordLate.
func constantOf(b failpoint.Boundary) string {
	name := ""
	for word := range strings.SplitSeq(string(b), "-") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}
