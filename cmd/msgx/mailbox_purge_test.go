package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// statements are those of a printed plan.
func statements(plan string) (all []string) {
	var code strings.Builder
	for line := range strings.Lines(plan) {
		if !strings.HasPrefix(line, "--") {
			code.WriteString(line)
		}
	}
	for statement := range strings.SplitSeq(code.String(), ";\n") {
		if statement = strings.TrimSpace(statement); statement != "" {
			all = append(all, statement)
		}
	}
	return all
}

// carryOut runs a plan as the owner does: in one session, looking at each count. between is called before each statement.
func (s *served) carryOut(plan string, between func(statement string)) {
	s.t.Helper()
	ctx := context.Background()
	conn, err := s.mailbox.Conn(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range statements(plan) {
		between(statement)
		if !strings.HasPrefix(statement, "SELECT COUNT(*) AS must_be_0") {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				s.t.Fatalf("%s: %v", statement, err)
			}
			continue
		}
		var n int
		if err := conn.QueryRowContext(ctx, statement).Scan(&n); err != nil || n != 0 {
			s.t.Fatalf("%s: got %d, %v, want 0", statement, n, err)
		}
	}
}

// senders write messages until they are stopped.
type senders struct {
	t    *testing.T
	db   *sql.DB
	stop chan struct{}
	once sync.Once
	done sync.WaitGroup
	mu   sync.Mutex
	ids  []int64
}

func (s *served) sendAllTheTime(writers int) *senders {
	w := &senders{t: s.t, db: s.mailbox, stop: make(chan struct{})}
	for n := range writers {
		w.done.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-w.stop:
					return
				case <-time.After(time.Millisecond): // a pace, not a wait
				}
				w.send(operation(1000000*(n+1)+i, "STND", "<FLID>1</FLID><STND>"+fmt.Sprint(i%90)+"</STND>"))
			}
		})
	}
	s.t.Cleanup(func() { w.end() })
	return w
}

func (w *senders) send(body string) {
	result, err := w.db.Exec(`INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED, CMINMSGS_STATUS) VALUES (?, UTC_TIMESTAMP() + INTERVAL 8 HOUR, 'VALID')`, body)
	if err != nil {
		w.t.Errorf("a sender must not notice: %v", err)
		return
	}
	id, err := result.LastInsertId()
	if err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	w.ids = append(w.ids, id)
	w.mu.Unlock()
}

func (w *senders) sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ids)
}

// more waits until messages have arrived.
func (w *senders) more(n int) {
	w.t.Helper()
	want, deadline := w.sent()+n, time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for w.sent() < want {
		select {
		case <-deadline:
			w.t.Fatalf("%d messages sent after a minute, want %d", w.sent(), want)
		case <-tick.C:
		}
	}
}

func (w *senders) end() []int64 {
	w.once.Do(func() { close(w.stop) })
	w.done.Wait()
	return w.ids
}

func (s *served) owner(statement string) {
	s.t.Helper()
	if _, err := s.mailbox.Exec(statement); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

func (s *served) count(statement string) (n int) {
	s.t.Helper()
	if err := s.mailbox.QueryRow(statement).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
	return n
}

// old makes messages of March, decided and marked.
func (s *served) old(n int) {
	s.t.Helper()
	s.put(scheduled)
	for i := 2; i <= n; i++ {
		s.put(operation(i, "STND", fmt.Sprintf("<FLID>1</FLID><STND>%d</STND>", i)))
	}
	s.until(fmt.Sprintf("message show %d", n), "marked     20")
	s.wait("the mailbox", func() string {
		return fmt.Sprint(s.count("SELECT COUNT(*) FROM CMINMSGS WHERE CMINMSGS_DATE_PROCESSED IS NULL"))
	}, "0")
}

// kept holds that every row is in one of the two tables once, and that each message was decided once and marked.
func (s *served) kept(old int, sent []int64) {
	s.t.Helper()
	slices.Sort(sent)
	if unique := slices.Compact(slices.Clone(sent)); len(unique) != len(sent) {
		s.t.Errorf("%d ids were given to %d rows", len(unique), len(sent))
	}
	all := len(sent) + old
	if got := s.count("SELECT COUNT(*) FROM (SELECT CMINMSGS_ID FROM CMINMSGS UNION ALL SELECT CMINMSGS_ID FROM CMINMSGS_HST) a"); got != all {
		s.t.Errorf("%d rows in the table and its history, want %d", got, all)
	}
	if got := s.count("SELECT COUNT(*) FROM CMINMSGS_HST"); got != old {
		s.t.Errorf("%d rows in the history, want the %d old ones", got, old)
	}
	s.wait("our database", func() string {
		return s.query(`SELECT format('%s marked, %s not succeeded, %s late', count(*) FILTER (WHERE backfill_at IS NOT NULL),
			count(*) FILTER (WHERE state <> 'SUCCEEDED'), (SELECT count(*) FROM inbox_hole WHERE outcome = 'late')) FROM proc_state`)
	}, fmt.Sprintf("%d marked, 0 not succeeded, 0 late", all))
	if got := s.count("SELECT COUNT(*) FROM CMINMSGS WHERE CMINMSGS_DATE_PROCESSED IS NULL"); got != 0 {
		s.t.Errorf("%d rows without a mark", got)
	}
}

func TestRotationWhileMessagesArrive(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	s.owner("CREATE TABLE CMINMSGS_HST LIKE CMINMSGS")
	stop := s.begin("pipeline.max-commit-delay=2s")
	defer stop()
	s.old(30)
	w := s.sendAllTheTime(2)
	w.more(20)
	s.want(s.run("stages pause inbox pump backfill --reason rotation"), 0, "inbox is paused", "pump is paused", "backfill is paused")
	for _, stage := range []string{"inbox", "pump", "backfill"} {
		s.wait("the log", s.log.String, stage+" paused")
	}
	plan := s.run("mailbox purge-plan b")
	s.want(plan, 0, "30 rows would go, ids 1 to 30", "RENAME TABLE")
	s.carryOut(plan.out, func(string) { w.more(3) })
	s.want(s.run("stages resume inbox pump backfill --reason rotation"), 0, "inbox is resumed")
	w.more(20)
	s.kept(30, w.end())
	again := s.run("mailbox purge-plan b")
	s.want(again, exitFailed, "nothing was received before")
}

// A plan that was broken off after any statement can be gone on with.
func TestRotationThatIsBrokenOff(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	s.owner("CREATE TABLE CMINMSGS_HST LIKE CMINMSGS")
	stop := s.begin()
	defer stop()
	s.old(3)
	s.want(s.run("stages pause inbox pump backfill --reason rotation"), 0)
	for _, stage := range []string{"inbox", "pump", "backfill"} {
		s.wait("the log", s.log.String, stage+" paused")
	}
	plan := s.run("mailbox purge-plan b")
	s.want(plan, 0)
	before, after, _ := strings.Cut(plan.out, "-- 4. ")
	exchange, rest, _ := strings.Cut("-- 4. "+after, "-- 5. ")
	all, drop, _ := strings.Cut("-- 5. "+rest, "-- 8. ")
	w := s.sendAllTheTime(1)
	arrive := func(string) { w.more(1) }
	s.carryOut(before, arrive)
	s.want(s.run("mailbox purge-plan b"), exitFailed, "table CMINMSGS_NEW exists: a rotation was begun and not ended")
	s.owner("DROP TABLE CMINMSGS_NEW")
	s.carryOut(before+exchange, arrive)
	s.carryOut(all, arrive)
	s.carryOut(all, arrive) // again
	s.carryOut("-- 8. "+drop, arrive)
	s.want(s.run("stages resume inbox pump backfill --reason rotation"), 0)
	s.kept(3, w.end())
}

func TestPartitionsAreDroppedWhileMessagesArrive(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	s.owner("CREATE TABLE CMINMSGS_HST LIKE CMINMSGS")
	s.want(s.run("mailbox purge-plan a"), exitFailed, "has no partitions")
	s.owner(`ALTER TABLE CMINMSGS MODIFY CMINMSGS_DATE_RECEIVED DATETIME NOT NULL, DROP PRIMARY KEY, ADD PRIMARY KEY (CMINMSGS_ID, CMINMSGS_DATE_RECEIVED)
		PARTITION BY RANGE (TO_DAYS(CMINMSGS_DATE_RECEIVED)) (PARTITION p20260301 VALUES LESS THAN (TO_DAYS('2026-03-01')),
		PARTITION p20260302 VALUES LESS THAN (TO_DAYS('2026-03-02')), PARTITION pmax VALUES LESS THAN MAXVALUE)`)
	stop := s.begin()
	defer stop()
	s.old(30)
	w := s.sendAllTheTime(2)
	plan := s.run("mailbox purge-plan a")
	s.want(plan, 0, "30 rows would go, ids 1 to 30", "DROP PARTITION `p20260301`", "DROP PARTITION `p20260302`")
	s.carryOut(plan.out, func(string) { w.more(3) })
	s.kept(30, w.end())
}

func TestNoPurgeOfWhatIsNotDone(t *testing.T) {
	t.Parallel()
	s := prepared(t)
	s.want(s.run("mailbox purge-plan b"), exitFailed, "there is no table CMINMSGS_HST", "nothing was received before")
	s.owner("CREATE TABLE CMINMSGS_HST (CMINMSGS_ID BIGINT PRIMARY KEY)")
	stop := s.begin()
	s.old(2)
	stop()
	s.put(scheduled)
	s.want(s.run("mailbox purge-plan b"), exitFailed, "lacks the columns CMINMSGS_CLOB_MSG", "1 row have no mark and are not reconciled: 3", "1 row are above the watermark")
	s.owner("DROP TABLE CMINMSGS_HST")
	s.owner("CREATE TABLE CMINMSGS_HST LIKE CMINMSGS")
	s.owner("DELETE FROM CMINMSGS WHERE CMINMSGS_ID = 3")
	s.want(s.run("mailbox purge-plan b"), 0)
	// One that was given up is released when somebody has reconciled it, and then by its id.
	s.owner("INSERT INTO CMINMSGS (CMINMSGS_ID, CMINMSGS_DATE_RECEIVED) VALUES (9, '2026-03-01 08:00:00')")
	s.exec("UPDATE inbox_cursor SET watermark = 9")
	s.exec(`INSERT INTO proc_state (msg_id, state, kind, error_class, attempts, enqueued_at, updated_at, backfill_abandoned_at, backfill_abandoned_reason)
		VALUES (9, 'DEAD', NULL, 'MALFORMED', 1, now(), now(), now(), 'TRANSIENT_DEADLINE')`)
	s.want(s.run("mailbox purge-plan b"), exitFailed, "1 row have no mark and are not reconciled: 9")
	s.want(s.run("backfill reconcile --id 9 --reason compared"), 0)
	s.want(s.run("mailbox purge-plan b"), 0, "all are marked but 1 that were reconciled", "NOT IN (9)")
	s.want(s.run("mailbox purge-plan b --keep 1h"), exitUsage, "expected at least msgx.pipeline.r-keep")
	s.want(s.run("mailbox purge-plan c"), exitUsage)
}
