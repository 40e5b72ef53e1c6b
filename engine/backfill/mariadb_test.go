package backfill_test

import (
	"context"
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"msgx/engine/backfill"
	"msgx/engine/clock"
	"msgx/engine/mailbox"
	"msgx/tools/stack/stacktest"
)

// The mailbox is real, our own database is the one in memory.
func TestARowThatSomebodyHasLockedInTheMailbox(t *testing.T) {
	dsn := stacktest.Mailbox(t)
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_STATUS) VALUES ('1', 'VALID'), ('2', 'VALID'), ('3', 'VALID')"); err != nil {
		t.Fatal(err)
	}
	owner, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Rollback()
	if _, err := owner.ExecContext(t.Context(), "UPDATE CMINMSGS SET CMINMSGS_STATUS = 'SEEN' WHERE CMINMSGS_ID = 2"); err != nil {
		t.Fatal(err)
	}
	box, err := mailbox.Open(t.Context(), mailbox.Config{DSN: dsn, Zone: time.UTC, ProcessedStatus: "PROCESSED"})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	store := &database{records: map[int64]*record{}}
	store.owe(1, 2, 3, 4)
	stage, err := backfill.New(backfill.Needs{Mailbox: box, Store: store, Writer: store, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)},
		backfill.Options{Interval: 10 * time.Millisecond, Policy: backfill.Policy{First: 10 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- stage.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	settled := func(id int64) string {
		store.mu.Lock()
		defer store.mu.Unlock()
		return store.records[id].done
	}
	await := func(id int64, want string) {
		t.Helper()
		deadline := time.After(30 * time.Second)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for settled(id) != want {
			select {
			case <-deadline:
				t.Fatalf("message %d is %q after 30 s, want %q", id, settled(id), want)
			case <-tick.C:
			}
		}
	}
	await(1, "confirmed")
	await(3, "confirmed")
	await(4, "MISSING_ROW")
	if got := settled(2); got != "" {
		t.Errorf("the locked row is %q, want it owed", got)
	}
	if err := owner.Rollback(); err != nil {
		t.Fatal(err)
	}
	await(2, "confirmed")
	var marked int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM CMINMSGS WHERE CMINMSGS_DATE_PROCESSED IS NOT NULL AND CMINMSGS_STATUS = 'PROCESSED'").Scan(&marked); err != nil || marked != 3 {
		t.Errorf("%d rows are marked, %v, want 3", marked, err)
	}
}
