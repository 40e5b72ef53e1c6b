package mailbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"msgx/engine/fault"
	"msgx/engine/mailbox"
	"msgx/engine/message"
	"msgx/engine/watermark"
	"msgx/tools/stack/stacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var shanghai = time.FixedZone("airport", 8*60*60)

// owner is a connection of the mailbox's owner, without any of our settings.
func owner(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func run(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func config(dsn string) mailbox.Config {
	return mailbox.Config{DSN: dsn, ProcessedStatus: "PROCESSED", Zone: shanghai}
}

func open(t *testing.T, c mailbox.Config) *mailbox.Mailbox {
	t.Helper()
	m, err := mailbox.Open(t.Context(), c)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func fixture(t *testing.T) (*mailbox.Mailbox, *sql.DB) {
	t.Helper()
	dsn := stacktest.Mailbox(t)
	return open(t, config(dsn)), owner(t, dsn)
}

func put(t *testing.T, db *sql.DB, id int64, body any) {
	t.Helper()
	run(t, db, "INSERT INTO CMINMSGS (CMINMSGS_ID, CMINMSGS_CLOB_MSG, CMINMSGS_STATUS) VALUES (?, ?, 'VALID')", id, body)
}

func ids(rows []watermark.Row) []int64 {
	list := []int64{}
	for _, row := range rows {
		list = append(list, row.MsgID)
	}
	return list
}

func TestAnOpenTransactionHoldsASmallerIdThanIsVisible(t *testing.T) {
	m, db := fixture(t)
	put(t, db, 1, "<a/>")
	put(t, db, 2, "<a/>")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	run(t, tx, "INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG) VALUES ('<slow/>')")
	run(t, db, "INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG) VALUES ('<fast/>')")
	read := func() []int64 {
		t.Helper()
		rows, err := m.After(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		return ids(rows)
	}
	if diff := cmp.Diff([]int64{1, 2, 4}, read()); diff != "" {
		t.Errorf("while id 3 is open (-want +got):\n%s", diff)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 4}, read()); diff != "" {
		t.Errorf("after its commit (-want +got):\n%s", diff)
	}
}

func TestReceivedTimes(t *testing.T) {
	m, db := fixture(t)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run(t, conn, "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")
	for _, value := range []string{"'2021-01-23 05:35:00'", "NULL", "'0000-00-00 00:00:00'", "'2021-02-31 05:35:00'", "'2021-00-00 00:00:00'"} {
		run(t, conn, "INSERT INTO CMINMSGS (CMINMSGS_DATE_RECEIVED) VALUES ("+value+")")
	}
	want := []watermark.Row{{MsgID: 1, ReceivedAt: time.Date(2021, 1, 22, 21, 35, 0, 0, time.UTC)}, {MsgID: 2}, {MsgID: 3}, {MsgID: 4}, {MsgID: 5}}
	got, err := m.After(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestTimestampColumnsHoldInstants(t *testing.T) {
	dsn := stacktest.Mailbox(t)
	db := owner(t, dsn)
	run(t, db, "ALTER TABLE CMINMSGS MODIFY CMINMSGS_DATE_RECEIVED TIMESTAMP NULL, MODIFY CMINMSGS_DATE_PROCESSED TIMESTAMP NULL")
	m := open(t, config(dsn+"&time_zone=%27-03:00%27")) // what the DSN says must not matter
	at := time.Date(2021, 1, 23, 5, 35, 0, 999e6, time.UTC)
	id, err := m.Insert(t.Context(), []byte("<a/>"), message.Meta{}, at)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := m.After(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]watermark.Row{{MsgID: id, ReceivedAt: at.Truncate(time.Second)}}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if _, err := m.MarkAll(t.Context(), []int64{id}, at); err != nil {
		t.Fatal(err)
	}
	var instant int64
	if err := db.QueryRowContext(t.Context(), "SELECT UNIX_TIMESTAMP(CMINMSGS_DATE_PROCESSED) FROM CMINMSGS").Scan(&instant); err != nil {
		t.Fatal(err)
	}
	if instant != at.Unix() {
		t.Errorf("marked at %d, want %d", instant, at.Unix())
	}
}

func TestRenamedAndMissing(t *testing.T) {
	dsn := stacktest.MariaDB(t)
	db := owner(t, dsn)
	run(t, db, "CREATE TABLE `in-box` (`nr` INT AUTO_INCREMENT PRIMARY KEY, `内容` TEXT, seen DATETIME(3), state TINYINT) CHARSET utf8mb4")
	c := config(dsn)
	c.ProcessedStatus = ""
	c.Inbound = mailbox.Inbound{Table: "in-box", ID: "NR", Body: "内容", Received: mailbox.None, Processed: "seen", Status: mailbox.None}
	m := open(t, c)
	id, err := m.Insert(t.Context(), []byte("<m>航班</m>"), message.Meta{Sender: "SIS"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	raws, last, err := m.Bodies(t.Context(), []int64{id, id + 1}, 1<<20)
	if err != nil || last != id+1 {
		t.Fatalf("bodies: last %d, %v", last, err)
	}
	if diff := cmp.Diff([]message.Raw{{MsgID: id, Body: []byte("<m>航班</m>"), Characters: true}}, raws); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
	results, err := m.MarkAll(t.Context(), []int64{id}, time.Now())
	if err != nil || results[id] != message.MarkWritten {
		t.Errorf("mark: %v, %v", results, err)
	}
	qualified := c
	qualified.Inbound.Table = database(t, dsn) + ".in-box"
	if rows, err := open(t, qualified).After(t.Context(), 0, 5); err != nil || len(rows) != 1 {
		t.Errorf("qualified table: %v, %v", rows, err)
	}

	for name, want := range map[string]struct {
		change func(*mailbox.Config)
		texts  []string
	}{
		"table":   {func(c *mailbox.Config) { c.Inbound.Table = "CMINMSGS" }, []string{"table CMINMSGS does not exist"}},
		"columns": {func(c *mailbox.Config) { c.Inbound.ID, c.Inbound.Body = "id", "xml" }, []string{"table in-box has no column id", "no column xml"}},
		"type":    {func(c *mailbox.Config) { c.Inbound.Received = "state" }, []string{"column state of table in-box is of type tinyint, expected one of datetime timestamp"}},
		"name":    {func(c *mailbox.Config) { c.Inbound.Table = "a`; DROP TABLE b; --" }, []string{"name of the inbound table"}},
		"status":  {func(c *mailbox.Config) { c.ProcessedStatus = "DONE" }, []string{"no column to go to"}},
		"body":    {func(c *mailbox.Config) { c.Body = "xml" }, []string{`body is "xml", expected auto, text or bytes`}},
	} {
		t.Run(name, func(t *testing.T) {
			broken := c
			want.change(&broken)
			_, err := mailbox.Open(t.Context(), broken)
			if err == nil || errors.Is(err, fault.ErrUnavailable) {
				t.Fatalf("open: %v, want an error that is not about the server", err)
			}
			for _, text := range want.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("open: %q, want %q in it", err, text)
				}
			}
		})
	}
	t.Run("outbound", func(t *testing.T) {
		if err := m.CheckOutbound(t.Context()); err == nil || !strings.Contains(err.Error(), "table COUTMSGS does not exist") {
			t.Errorf("outbound: %v", err)
		}
	})
}

func database(t *testing.T, dsn string) string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return c.DBName
}

func TestTheUsualTablesAreFine(t *testing.T) {
	m, _ := fixture(t)
	if err := errors.Join(m.Check(t.Context()), m.CheckOutbound(t.Context())); err != nil {
		t.Error(err)
	}
	version, readOnly, err := m.Server(t.Context())
	if err != nil || version == "" || readOnly {
		t.Errorf("server: version %q, read only %v, %v", version, readOnly, err)
	}
}

func TestBounds(t *testing.T) {
	m, db := fixture(t)
	check := func(what string, want ...int64) {
		t.Helper()
		lowest, highest, next, err := m.Bounds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, []int64{lowest, highest, next}); diff != "" {
			t.Errorf("%s: lowest, highest, next (-want +got):\n%s", what, diff)
		}
	}
	check("empty", 0, 0, 1)
	for id := range int64(5) {
		put(t, db, id+3, "<a/>")
	}
	check("rows", 3, 7, 8)
	run(t, db, "DELETE FROM CMINMSGS")
	check("purged", 0, 0, 8)
	run(t, db, "TRUNCATE CMINMSGS")
	check("truncated", 0, 0, 1)
}

func TestAwayIsUnavailable(t *testing.T) {
	c := config("root@tcp(127.0.0.1:1)/nowhere")
	m := open(t, c) // opening does not need the server
	for name, call := range map[string]func() error{
		"After":   func() error { _, err := m.After(t.Context(), 0, 1); return err },
		"Bounds":  func() error { _, _, _, err := m.Bounds(t.Context()); return err },
		"Bodies":  func() error { _, _, err := m.Bodies(t.Context(), []int64{1}, 1); return err },
		"MarkAll": func() error { _, err := m.MarkAll(t.Context(), []int64{1}, time.Now()); return err },
		"Insert":  func() error { _, err := m.Insert(t.Context(), nil, message.Meta{}, time.Now()); return err },
		"Check":   func() error { return m.Check(t.Context()) },
	} {
		if err := call(); !errors.Is(err, fault.ErrUnavailable) {
			t.Errorf("%s: %v, want it to be unavailable", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.After(ctx, 0, 1); !errors.Is(err, context.Canceled) || errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("given up by the caller: %v, want context.Canceled only", err)
	}
}

func TestReadOnlyIsUnavailable(t *testing.T) {
	dsn := stacktest.PrivateMariaDB(t).URL
	m, db := open(t, config(dsn)), owner(t, dsn)
	put(t, db, 1, "<a/>")
	run(t, db, "CREATE USER reader@'%' IDENTIFIED BY 'x'")
	run(t, db, fmt.Sprintf("GRANT SELECT, INSERT, UPDATE ON `%s`.* TO reader@'%%'", database(t, dsn)))
	run(t, db, "SET GLOBAL read_only = 1")
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.User, c.Passwd = "reader", "x" // root may write all the same
	reader := open(t, config(c.FormatDSN()))
	if _, err := reader.MarkAll(t.Context(), []int64{1}, time.Now()); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("mark on a read-only server: %v, want it to be unavailable", err)
	}
	if rows, err := reader.After(t.Context(), 0, 1); err != nil || len(rows) != 1 {
		t.Errorf("read on a read-only server: %v, %v", rows, err)
	}
	if _, readOnly, err := m.Server(t.Context()); err != nil || !readOnly {
		t.Errorf("read only: %v, %v, want true", readOnly, err)
	}
	c.Passwd = "wrong"
	stranger := open(t, config(c.FormatDSN()))
	if err := stranger.Check(t.Context()); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("wrong password: %v, want it to be unavailable", err)
	}
}

func TestAServerThatDoesNotAnswerIsUnavailable(t *testing.T) {
	server := stacktest.PrivateMariaDB(t)
	c := config(server.URL)
	c.ReadTimeout, c.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond
	m := open(t, c)
	put(t, owner(t, server.URL), 1, "<a/>")
	server.Freeze()
	if _, err := m.MarkAll(t.Context(), []int64{1}, time.Now()); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("mark on a frozen server: %v, want it to be unavailable", err)
	}
	if _, err := m.After(t.Context(), 0, 1); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("read on a frozen server: %v, want it to be unavailable", err)
	}
	server.Thaw()
	server.Kill()
	if _, err := m.After(t.Context(), 0, 1); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("read on a killed server: %v, want it to be unavailable", err)
	}
	server.Start()
	if rows, err := m.After(t.Context(), 0, 1); err != nil || len(rows) != 1 {
		t.Errorf("read when it is back: %v, %v", rows, err)
	}
}
