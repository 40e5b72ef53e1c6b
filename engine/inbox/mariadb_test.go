package inbox_test

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/clock"
	"msgx/engine/inbox"
	"msgx/engine/mailbox"
	"msgx/engine/watermark"
	"msgx/tools/stack/stacktest"
)

// lockedLog is a log that the test reads while the inbox writes it.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// serve runs an inbox on a real mailbox until the test ends.
func serve(t *testing.T, dsn string, store *database, o inbox.Options) *lockedLog {
	t.Helper()
	box, err := mailbox.Open(t.Context(), mailbox.Config{DSN: dsn, Zone: time.UTC, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	log := &lockedLog{}
	made, err := inbox.New(inbox.Needs{Mailbox: box, Store: store, Writer: store, Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(log, nil))}, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- made.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		_ = box.Close()
	})
	return log
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(60 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("%s: not within 60 s", what)
		case <-tick.C:
		}
	}
}

func client(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// write inserts rows, each in a transaction of its own that stays open for a
// while, so that ids become visible out of order; every so often one rolls back.
func write(t *testing.T, db *sql.DB, rows int, rollbackAt int) {
	for n := range rows {
		tx, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			t.Errorf("begin: %v", err)
			return
		}
		if _, err := tx.ExecContext(context.Background(), "INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED) VALUES ('<a/>', NOW())"); err != nil {
			t.Errorf("insert: %v", err)
		}
		if _, err := tx.ExecContext(context.Background(), "DO SLEEP(?)", rand.Float64()*0.03); err != nil {
			t.Errorf("sleep: %v", err)
		}
		end := tx.Commit
		if n == rollbackAt {
			end = tx.Rollback
		}
		if err := end(); err != nil {
			t.Errorf("end: %v", err)
		}
	}
}

func TestWritersThatCommitOutOfOrder(t *testing.T) {
	dsn := stacktest.Mailbox(t)
	store := &database{cursor: &watermark.Cursor{}}
	serve(t, dsn, store, inbox.Options{PollInterval: 3 * time.Millisecond, ClaimBatch: 7, MaxCommitDelay: 2 * time.Second})
	db := client(t, dsn)
	const writers, each = 8, 60
	var group sync.WaitGroup
	for n := range writers {
		rollback := -1
		if n < 2 {
			rollback = each / 2
		}
		group.Go(func() { write(t, db, each, rollback) })
	}
	group.Wait()
	if t.Failed() {
		return
	}
	var want []int64
	rows, err := db.QueryContext(t.Context(), "SELECT CMINMSGS_ID FROM CMINMSGS ORDER BY CMINMSGS_ID")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		want = append(want, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(want) != writers*each-2 {
		t.Fatalf("%d rows were written, want %d", len(want), writers*each-2)
	}
	enqueued := func() []int64 {
		store.mu.Lock()
		defer store.mu.Unlock()
		return slices.Clone(store.enqueued)
	}
	eventually(t, "every row is enqueued", func() bool { return len(enqueued()) >= len(want) })
	if diff := cmp.Diff(want, enqueued()); diff != "" {
		t.Errorf("enqueued, in order (-want +got):\n%s", diff)
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	outcomes := map[watermark.HoleOutcome]int{}
	for _, h := range store.ledger {
		outcomes[h.Outcome]++
	}
	if outcomes[watermark.HoleAged] == 0 || outcomes[watermark.HoleAged] > 2 || outcomes[watermark.HoleFilled] == 0 {
		t.Errorf("holes by outcome: %v, want the two that rolled back aged and others filled", outcomes)
	}
}

func TestAServerThatStopsAndStarts(t *testing.T) {
	server := stacktest.PrivateMariaDB(t)
	db := client(t, server.URL)
	insert := func() {
		t.Helper()
		eventually(t, "insert", func() bool {
			_, err := db.ExecContext(t.Context(), "INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG) VALUES ('<a/>')")
			return err == nil
		})
	}
	store := &database{cursor: &watermark.Cursor{}}
	log := serve(t, server.URL, store, inbox.Options{
		PollInterval: 10 * time.Millisecond, ClaimBatch: 10, MaxCommitDelay: time.Second, Waits: []time.Duration{10 * time.Millisecond},
	})
	reached := func(id int64) func() bool {
		return func() bool {
			store.mu.Lock()
			defer store.mu.Unlock()
			return store.cursor.Watermark >= id
		}
	}
	insert()
	eventually(t, "the first row", reached(1))
	server.Stop()
	eventually(t, "it is noticed", func() bool { return log.count(`server is away, waiting for it" stage=inbox server=mailbox`) > 0 })
	server.Start()
	insert()
	eventually(t, "the second row", reached(2))
	if gone, back := log.count(`server is away, waiting for it" stage=inbox server=mailbox`), log.count(`server is back" stage=inbox server=mailbox`); gone != 1 || back != 1 {
		t.Errorf("logged %d times that it went and %d times that it is back, want once each", gone, back)
	}
}
