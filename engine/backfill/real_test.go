package backfill_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the mailbox as its owner sees it
	"github.com/jackc/pgx/v5"

	"msgx/engine/backfill"
	"msgx/engine/clock"
	"msgx/engine/decision"
	"msgx/engine/mailbox"
	"msgx/engine/message"
	"msgx/engine/store"
	"msgx/engine/watermark"
	"msgx/schemas"
	"msgx/tools/stack/stacktest"
)

// debt is our own database with finished messages that owe a mark, and a mailbox, both real.
type debt struct {
	*testing.T
	store  *store.Store
	writer *store.Writer
	box    *mailbox.Mailbox
	pg     *pgx.Conn
	mysql  *sql.DB
}

// owing makes messages 1 to n finished.
func owing(t *testing.T, n int64, config store.Config, box mailbox.Config) *debt {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	config.URL = stacktest.Postgres(t)
	_, _, err := store.Migrate(ctx, config.URL)
	must(err)
	cat, err := schemas.Load()
	must(err)
	d := &debt{T: t}
	d.store, err = store.Open(ctx, config, cat, time.UTC)
	must(err)
	t.Cleanup(d.store.Close)
	epoch, ok, err := d.store.ClaimLease(ctx, t.Name(), 0)
	must(err)
	if !ok {
		t.Fatal("the lease of a fresh database is taken")
	}
	d.writer = d.store.Writer(epoch)
	d.pg, err = pgx.Connect(ctx, config.URL)
	must(err)
	t.Cleanup(func() { _ = d.pg.Close(context.Background()) })
	d.mysql, err = sql.Open("mysql", box.DSN)
	must(err)
	t.Cleanup(func() { _ = d.mysql.Close() })
	box.Zone = time.UTC
	d.box, err = mailbox.Open(ctx, box)
	must(err)
	t.Cleanup(func() { _ = d.box.Close() })
	now := clock.System{}.Now()
	step := watermark.Step{Cursor: watermark.Cursor{Watermark: n}}
	for id := int64(1); id <= n; id++ {
		step.Enqueue = append(step.Enqueue, watermark.Row{MsgID: id})
	}
	_, err = d.writer.Advance(ctx, step, now)
	must(err)
	for id := int64(1); id <= n; id++ {
		must(d.writer.Settle(ctx, decision.Settlement{MsgID: id, Outcome: message.Outcome{State: message.Skipped, Reason: "x"}, StartedAt: now, At: now, OwesMark: true}))
	}
	return d
}

// pay runs the stage until a query of our own database answers true.
func (d *debt) pay(o backfill.Options, until string) {
	d.Helper()
	stage, err := backfill.New(backfill.Needs{Mailbox: d.box, Store: d.store, Writer: d.writer, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)}, o)
	if err != nil {
		d.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- stage.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			d.Errorf("Run: %v", err)
		}
	}()
	d.await(until)
}

func (d *debt) await(query string) {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), 30*time.Second)
	defer cancel()
	for holds := false; !holds; {
		if err := d.pg.QueryRow(ctx, query).Scan(&holds); err != nil {
			d.Fatalf("waiting for %s: %v", query, err)
		}
	}
}

// quick is a stage that does not wait for long.
var quick = backfill.Options{Interval: 20 * time.Millisecond, Gather: time.Millisecond, Policy: backfill.Policy{First: 50 * time.Millisecond, Max: 50 * time.Millisecond},
	Waits: []time.Duration{50 * time.Millisecond}}

// The mailbox calls its columns what it likes, and its server may count changed or matched rows: marks are
// written where they are missing, found where they are, and given up where there is no row.
func TestAnotherMailboxGetsItsMarks(t *testing.T) {
	for _, counted := range []bool{false, true} {
		t.Run(fmt.Sprintf("clientFoundRows=%v", counted), func(t *testing.T) {
			dsn := stacktest.Mailbox(t) + fmt.Sprintf("&clientFoundRows=%v", counted)
			owner, err := sql.Open("mysql", dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer owner.Close()
			for _, statement := range []string{
				"CREATE TABLE POST (NO BIGINT AUTO_INCREMENT PRIMARY KEY, TEXT LONGTEXT, DONE_AT DATETIME NULL, STAND VARCHAR(20))",
				"INSERT INTO POST (TEXT, DONE_AT, STAND) VALUES ('1', NULL, 'NEW'), ('2', '2020-01-01', 'OLD'), ('3', NULL, 'NEW'), ('4', NULL, 'NEW')",
				"DELETE FROM POST WHERE NO = 3",
			} {
				if _, err := owner.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			d := owing(t, 4, store.Config{}, mailbox.Config{DSN: dsn, ProcessedStatus: "READ", Inbound: mailbox.Inbound{
				Table: "POST", ID: "NO", Body: "TEXT", Received: mailbox.None, Processed: "DONE_AT", Status: "STAND"}})
			d.pay(quick, "SELECT count(*) = 4 FROM proc_state WHERE backfill_at IS NOT NULL OR backfill_abandoned_at IS NOT NULL")
			var marks, ours string
			if err := owner.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(CONCAT(NO, ' ', STAND, ' ', IF(DONE_AT > '2021-01-01', 'now', DONE_AT)) ORDER BY NO SEPARATOR ', ') FROM POST").Scan(&marks); err != nil {
				t.Fatal(err)
			}
			if want := "1 READ now, 2 OLD 2020-01-01 00:00:00, 4 READ now"; marks != want {
				t.Errorf("the mailbox: %s, want %s", marks, want)
			}
			if err := d.pg.QueryRow(t.Context(), "SELECT string_agg(msg_id || ' ' || COALESCE(backfill_abandoned_reason, 'confirmed') || ' ' || backfill_attempts, ', ' ORDER BY msg_id) FROM proc_state").Scan(&ours); err != nil {
				t.Fatal(err)
			}
			if want := "1 confirmed 1, 2 confirmed 1, 3 MISSING_ROW 1, 4 confirmed 1"; ours != want {
				t.Errorf("our own records: %s, want %s", ours, want)
			}
		})
	}
}

// A mailbox that hangs longer than the database lets a transaction stand idle costs its rows an attempt each
// round, and R runs: what became of them is stored all the same.
func TestAMailboxThatHangsIsRemembered(t *testing.T) {
	maria := stacktest.PrivateMariaDB(t)
	d := owing(t, 2, store.Config{IdleInTxTimeout: 300 * time.Millisecond}, mailbox.Config{DSN: maria.URL, WriteTimeout: 5 * time.Second})
	if _, err := d.mysql.ExecContext(t.Context(), "INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_STATUS) VALUES ('1', 'VALID'), ('2', 'VALID')"); err != nil {
		t.Fatal(err)
	}
	maria.Freeze()
	o := quick
	o.HoldLimit = 900 * time.Millisecond
	d.pay(o, "SELECT bool_and(backfill_attempts >= 2 AND backfill_first_failed_at IS NOT NULL) FROM proc_state")
	maria.Thaw()
	d.pay(o, "SELECT bool_and(backfill_at IS NOT NULL) FROM proc_state")
}
