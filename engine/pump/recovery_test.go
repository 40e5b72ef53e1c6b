package pump_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"msgx"
	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/inbox"
	"msgx/engine/message"
	"msgx/engine/pump"
	"msgx/engine/store"
	"msgx/engine/watermark"
)

// facts is everything that deciding has left behind, without the times of writing.
func (c *chain) facts() []string {
	c.t.Helper()
	var out []string
	for _, query := range []string{
		`SELECT 'message ' || msg_id || ' ' || state || ' ' || attempts || ' ' || COALESCE(decision_no, 0) || ' ' || COALESCE(identity_key, '-') FROM proc_state ORDER BY msg_id`,
		`SELECT 'flight ' || flid || ' ' || state || ' ' || state_version || ' ' || COALESCE(stnd, '-') || ' ' || last_msg_id FROM flight_schd ORDER BY flid`,
		`SELECT 'version ' || flid || ' ' || state_version || ' ' || msg_id || ' ' || changed FROM flight_change ORDER BY flid, state_version`,
		`SELECT 'event ' || target || ' ' || flid || ' ' || state_version || ' ' || event_type FROM msg_event ORDER BY target, flid, state_version`,
	} {
		out = append(out, rowsOf[string](c, query)...)
	}
	return out
}

// marks is what the mailbox holds, by id.
func (c *chain) marks() string {
	c.t.Helper()
	var out string
	if err := c.mysql.QueryRowContext(c.context, `SELECT COALESCE(GROUP_CONCAT(CONCAT(CMINMSGS_ID, '=', COALESCE(CMINMSGS_DATE_PROCESSED, '-'))
		ORDER BY CMINMSGS_ID SEPARATOR ' '), '') FROM CMINMSGS`).Scan(&out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c *chain) execMailbox(statement string) {
	c.t.Helper()
	if _, err := c.mysql.ExecContext(c.context, statement); err != nil {
		c.t.Fatalf("%s: %v", statement, err)
	}
}

// day is a flight and the stands that it is given, from sequence number 1 on.
func (c *chain) day(stands int) {
	c.insert(envelope(1, "SCHD", "ADFT", `<SCHD><RECS>1</RECS><FLTR><FLID>1</FLID><FLNO>CA1</FLNO><SODT>23JAN210935</SODT></FLTR></SCHD>`))
	for i := range stands {
		c.insert(stand(i+2, 1, fmt.Sprint(i)))
	}
}

const (
	decidedTo = `SELECT count(*) FILTER (WHERE state IN ('PENDING', 'FAILED')) = 0 AND count(*) = %d FROM proc_state`
	nothing   = "nothing of what was decided"
)

// unchanged holds that what follows changes nothing of what was decided.
func (c *chain) unchanged(what string, before []string) {
	c.t.Helper()
	if diff := cmp.Diff(before, c.facts()); diff != "" {
		c.t.Errorf("%s changed (-before +after):\n%s", what, diff)
	}
}

// What is in the mailbox and nowhere else is read again by its id, marked by somebody or not.
func TestInTheMailboxAndNotEnqueued(t *testing.T) {
	c := newChain(t, msgx.Files)
	c.day(2)
	c.runUntil(`SELECT count(*) = 3 FROM proc_state`, c.inbox().Run)
	c.exec(`DELETE FROM proc_state WHERE msg_id = 3`) // as if the round had not come to its commit
	c.exec(`UPDATE inbox_cursor SET watermark = 2`)
	c.execMailbox(`UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = '2020-01-01' WHERE CMINMSGS_ID = 3`)
	c.runUntil(fmt.Sprintf(decidedTo, 3), c.inbox().Run, c.pump(pump.Options{}).Run)
	if got := one[string](c, `SELECT stnd FROM flight_schd`); got != "1" {
		t.Errorf("stand %s, want that of message 3", got)
	}
}

// A hole keeps the time at which it was first seen over a restart; released is the hole alone.
func TestAHoleKeepsItsTimeOverARestart(t *testing.T) {
	c := newChain(t, msgx.Files)
	c.day(3)
	c.execMailbox(`DELETE FROM CMINMSGS WHERE CMINMSGS_ID = 3`)
	patient, err := inbox.New(inbox.Needs{Mailbox: c.box, Store: c.store, Writer: c.writer, Clock: clock.System{}, Log: c.log},
		inbox.Options{PollInterval: 20 * time.Millisecond, MaxCommitDelay: time.Hour, Cutover: "zero"})
	if err != nil {
		t.Fatal(err)
	}
	c.runUntil(`SELECT EXISTS (SELECT FROM inbox_cursor WHERE hole_since IS NOT NULL AND watermark = 2)`, patient.Run)
	seen := one[time.Time](c, `SELECT first_seen FROM inbox_hole WHERE outcome = 'open'`)
	c.runUntil(`SELECT watermark = 4 FROM inbox_cursor`, c.inbox().Run)
	if got := one[time.Time](c, `SELECT first_seen FROM inbox_hole WHERE outcome = 'aged' AND first_id = 3 AND last_id = 3`); !got.Equal(seen) {
		t.Errorf("the hole was first seen at %v, want %v as before the restart", got, seen)
	}
}

// The transaction is over and the mark is not written: only the mark follows.
func TestCommittedAndNotMarked(t *testing.T) {
	c := newChain(t, msgx.Files)
	c.day(2)
	c.runUntil(fmt.Sprintf(decidedTo, 3), c.inbox().Run, c.pump(pump.Options{}).Run)
	before := c.facts()
	c.runUntil(fmt.Sprintf(settled, 3), c.inbox().Run, c.pump(pump.Options{}).Run, c.backfill().Run)
	c.unchanged(nothing, before)
	if got := c.marks(); strings.Contains(got, "=-") {
		t.Errorf("marks: %s, want all written", got)
	}
}

// The mark is written and nobody has heard of it: it is found, confirmed and left as it is.
func TestMarkedAndNotConfirmed(t *testing.T) {
	c := newChain(t, msgx.Files)
	c.day(2)
	c.runUntil(fmt.Sprintf(decidedTo, 3), c.inbox().Run, c.pump(pump.Options{}).Run)
	if _, err := c.box.MarkAll(c.context, []int64{1, 2}, time.Date(2021, 1, 23, 1, 2, 3, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	before := c.facts()
	c.runUntil(fmt.Sprintf(settled, 3), c.backfill().Run)
	c.unchanged(nothing, before)
	if got := c.marks(); !strings.HasPrefix(got, "1=2021-01-23 09:02:03 2=2021-01-23 09:02:03 3=2") {
		t.Errorf("marks: %s, want the first two as they were", got)
	}
}

// An entry of its own enqueued a message before the reading came to it: it waits for those before it, and
// the reading finds it there.
func TestEnqueuedBeyondTheWatermark(t *testing.T) {
	c := newChain(t, msgx.Files)
	c.day(2)
	if _, err := c.writer.Advance(c.context, watermark.Step{Enqueue: []watermark.Row{{MsgID: 3}}}, clock.System{}.Now()); err != nil {
		t.Fatal(err)
	}
	enqueued := one[time.Time](c, `SELECT enqueued_at FROM proc_state WHERE msg_id = 3`)
	c.runUntil(fmt.Sprintf(decidedTo, 3), c.pump(pump.Options{}).Run, c.inbox().Run)
	if diff := cmp.Diff([]int64{1, 2, 3}, rowsOf[int64](c, `SELECT msg_id FROM proc_state ORDER BY decision_no`)); diff != "" {
		t.Errorf("order of decision (-want +got):\n%s", diff)
	}
	if got := one[time.Time](c, `SELECT enqueued_at FROM proc_state WHERE msg_id = 3`); !got.Equal(enqueued) {
		t.Errorf("the reading enqueued message 3 again at %v", got)
	}
}

// A row that its owner has removed is given up at once, which is no confirmation.
func TestTheRowIsGoneBeforeItsMark(t *testing.T) {
	c := newChain(t, msgx.Files)
	c.day(1)
	c.runUntil(fmt.Sprintf(decidedTo, 2), c.inbox().Run, c.pump(pump.Options{}).Run)
	c.execMailbox(`DELETE FROM CMINMSGS WHERE CMINMSGS_ID = 2`)
	c.runUntil(fmt.Sprintf(settled, 2), c.backfill().Run)
	got := one[string](c, `SELECT backfill_abandoned_reason || ' ' || backfill_attempts || ' ' || (backfill_at IS NULL) FROM proc_state WHERE msg_id = 2`)
	if got != "MISSING_ROW 1 true" {
		t.Errorf("%s, want it given up at the first attempt and not confirmed", got)
	}
}

// A message without a time of arrival is overdue by when we enqueued it, and then tried whatever its back-off.
func TestOverdueWithoutATimeOfArrival(t *testing.T) {
	c := newChain(t, msgx.Files)
	c.day(1)
	c.execMailbox(`UPDATE CMINMSGS SET CMINMSGS_DATE_RECEIVED = NULL`)
	c.runUntil(fmt.Sprintf(decidedTo, 2), c.inbox().Run, c.pump(pump.Options{}).Run)
	c.exec(`UPDATE proc_state SET backfill_next_at = now() + interval '1 day', backfill_attempts = 3`)
	c.exec(`UPDATE proc_state SET enqueued_at = now() - interval '73 hours' WHERE msg_id = 1`)
	c.runUntil(`SELECT backfill_at IS NOT NULL AND received_at IS NULL FROM proc_state WHERE msg_id = 1`, c.backfill().Run)
	if got := one[bool](c, `SELECT backfill_at IS NULL FROM proc_state WHERE msg_id = 2`); !got {
		t.Error("message 2 is within R and in its back-off, yet it was tried")
	}
}

// A database that comes back from a backup knows less than the mailbox: it goes on from where it is, comes to the
// same, and finds marks that are there. Nothing else is needed, and no replay.
func TestRestoredFromABackup(t *testing.T) {
	c := newChain(t, msgx.Files)
	c.day(4)
	c.runUntil(fmt.Sprintf(settled, 5), c.inbox().Run, c.pump(pump.Options{}).Run, c.backfill().Run)
	restore := c.backup()
	for i := range 4 {
		c.insert(stand(i+6, 1, fmt.Sprint("later ", i)))
	}
	c.runUntil(fmt.Sprintf(settled, 9), c.inbox().Run, c.pump(pump.Options{}).Run, c.backfill().Run)
	after, marks := c.facts(), c.marks()
	restore()
	if got := one[int64](c, `SELECT watermark FROM inbox_cursor`); got != 5 {
		t.Fatalf("watermark %d after the restore, want 5", got)
	}
	c.runUntil(fmt.Sprintf(settled, 9), c.inbox().Run, c.pump(pump.Options{}).Run, c.backfill().Run)
	c.unchanged("what was decided", after)
	if diff := cmp.Diff(marks, c.marks()); diff != "" {
		t.Errorf("marks (-before +after):\n%s", diff)
	}
	if n := one[int](c, `SELECT count(*)::int FROM operator_log`); n != 0 {
		t.Errorf("%d manual actions, want none", n)
	}
}

// backup copies our database; restore puts the copy in its place.
func (c *chain) backup() (restore func()) {
	c.t.Helper()
	u, err := url.Parse(c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	admin := func(statements ...string) {
		c.t.Helper()
		conn, err := pgx.Connect(context.Background(), u.String())
		if err != nil {
			c.t.Fatal(err)
		}
		defer conn.Close(context.Background())
		for _, s := range statements {
			if _, err := conn.Exec(context.Background(), s); err != nil {
				c.t.Fatalf("%s: %v", s, err)
			}
		}
	}
	kept := name + "_backup"
	c.disconnect()
	admin(fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", kept, name))
	c.t.Cleanup(func() { admin("DROP DATABASE IF EXISTS " + kept) })
	c.connect(store.Config{URL: c.url})
	return func() {
		c.t.Helper()
		c.disconnect()
		admin(fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name), fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", kept, name))
		c.connect(store.Config{URL: c.url})
	}
}

// slowJudge takes longer over a message than the database lets a transaction stand idle.
type slowJudge struct {
	anyJudge
	think func()
}

type anyJudge = pump.Judge

func (j slowJudge) Judge(msg *message.Message, found decision.Claimed, at time.Time) decision.Settlement {
	j.think()
	return j.anyJudge.Judge(msg, found, at)
}

// A slow machine kills no good message, whatever the bound on idle transactions.
func TestASlowMachineUsesUpNoAttempt(t *testing.T) {
	c := newChain(t, msgx.Files)
	c.disconnect()
	c.connect(store.Config{URL: c.url, IdleInTxTimeout: 300 * time.Millisecond})
	c.day(1)
	p := pump.New(pump.Parts{Line: c.store, Writer: c.writer, Mailbox: c.box, Decoder: c.codec, Log: c.log,
		Judge: slowJudge{c.judge, c.twiceTheBound},
	}, pump.Options{Retry: c.retry, Poll: 20 * time.Millisecond})
	c.runUntil(fmt.Sprintf(decidedTo, 2), c.inbox().Run, p.Run)
	if got := rowsOf[string](c, `SELECT state || ' ' || attempts FROM proc_state ORDER BY msg_id`); !cmp.Equal(got, []string{"SUCCEEDED 0", "SUCCEEDED 0"}) {
		t.Errorf("%v, want both decided at their first attempt", got)
	}
}

// twiceTheBound waits until the transaction that is open has lasted for more than twice the idle bound.
func (c *chain) twiceTheBound() {
	watch, err := pgx.Connect(c.context, c.url)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer watch.Close(context.Background())
	for long := false; !long; {
		if err := watch.QueryRow(c.context, `SELECT COALESCE(bool_and(xact_start < clock_timestamp() - interval '700 ms'), true) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'msgx' AND xact_start IS NOT NULL`).Scan(&long); err != nil {
			c.t.Error(err)
			return
		}
	}
}

// A script without an end is ended by its budget of instructions, however patient the database is, and is the
// message's failure; the next message flows.
func TestAnEndlessScriptIsTheMessagesFailure(t *testing.T) {
	c := newChain(t, withRule(t, "flop-trml@1.lua", `return { kind = "FLOP-TRML", writes = { "TRML" }, decide = function(view, msg)
  while true do end
end }`))
	c.day(0)
	c.insert(envelope(2, "FLOP", "TRML", "<FLOP><FLID>1</FLID><TRML>2</TRML></FLOP>"), stand(3, 1, "3"))
	c.runUntil(fmt.Sprintf(decidedTo, 3), c.inbox().Run, c.pump(pump.Options{}).Run)
	if got := one[string](c, `SELECT state || ' ' || error_class || ' ' || attempts || ' ' || last_error FROM proc_state WHERE msg_id = 2`); !strings.HasPrefix(got, "DEAD EXHAUSTED 3 RULE_ERROR: ") || !strings.Contains(got, "instruction budget") {
		t.Errorf("message 2: %s, want it exhausted with the text of the last failure", got)
	}
	if got := one[string](c, `SELECT stnd FROM flight_schd`); got != "3" {
		t.Errorf("stand %s, want 3", got)
	}
}
