package mailbox_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"msgx/engine/fault"
	"msgx/engine/mailbox"
	"msgx/engine/message"
	"msgx/engine/watermark"
	"msgx/tools/stack/stacktest"
)

// wire passes connections on to a server, and breaks one that has brought so many bytes from there.
type wire struct {
	listener net.Listener
	server   string
	left     atomic.Int64 // bytes until the break; negative for never
	breaks   atomic.Int64
}

func newWire(t *testing.T, server string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, server: server}
	w.left.Store(-1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.pass(conn)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return w
}

func (w *wire) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
	buffer := make([]byte, 64)
	for {
		n, err := server.Read(buffer)
		if left := w.left.Load(); left >= 0 && int64(n) >= left {
			_, _ = client.Write(buffer[:left])
			w.left.Store(-1)
			w.breaks.Add(1)
			return
		} else if left >= 0 {
			w.left.Add(-int64(n))
		}
		if _, failed := client.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// A read that breaks in the middle of its result is an error, or it is complete: never a part of it, which would prove
// that the rest is not there.
func TestAReadThatBreaksInTheMiddle(t *testing.T) {
	dsn := stacktest.Mailbox(t)
	db := owner(t, dsn)
	const rows = 40
	for id := range int64(rows) {
		put(t, db, id+1, fmt.Sprint("<a>", strings.Repeat("x", int(id)), "</a>"))
	}
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, c.Addr)
	c.Addr = w.listener.Addr().String()
	m := open(t, config(c.FormatDSN()))
	want, err := m.After(t.Context(), 0, rows+1)
	if err != nil || len(want) != rows {
		t.Fatalf("unbroken: %d rows, %v", len(want), err)
	}
	every := make([]int64, rows)
	for i := range every {
		every[i] = int64(i + 1)
	}
	broken := 0
	for at := int64(1); at < 2400; at += 37 {
		w.left.Store(at)
		got, err := m.After(t.Context(), 0, rows+1)
		if broken += check(t, fmt.Sprint("After, broken after ", at, " bytes"), err); err == nil {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("After, broken after %d bytes, took a part for the whole (-want +got):\n%s", at, diff)
			}
		} else if got != nil {
			t.Fatalf("After, broken after %d bytes, gives rows with its error", at)
		}
		w.left.Store(at)
		raws, last, err := m.Bodies(t.Context(), every, 1<<20)
		if broken += check(t, fmt.Sprint("Bodies, broken after ", at, " bytes"), err); err == nil && (len(raws) != rows || last != rows) {
			t.Fatalf("Bodies, broken after %d bytes: %d bodies up to id %d, want all %d", at, len(raws), last, rows)
		}
		w.left.Store(-1)
	}
	if w.breaks.Load() < 40 || broken < 20 {
		t.Errorf("%d connections broken, %d calls failed by it: the test disturbs nothing", w.breaks.Load(), broken)
	}
	if got, err := m.After(t.Context(), 0, rows+1); err != nil || len(got) != rows {
		t.Errorf("afterwards: %d rows, %v", len(got), err)
	}
}

// check counts a failure, which has to be the server's.
func check(t *testing.T, what string, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	if !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("%s: %v, want it to be unavailable", what, err)
	}
	return 1
}

// The owner exchanges the table: while it is away nobody's message is at fault, and what it is afterwards is looked up.
func TestATableThatIsExchanged(t *testing.T) {
	m, db := fixture(t)
	put(t, db, 1, "<a>班</a>")
	read := func() ([]message.Raw, error) {
		raws, _, err := m.Bodies(t.Context(), []int64{1}, 1<<20)
		return raws, err
	}
	if raws, err := read(); err != nil || len(raws) != 1 || !raws[0].Characters {
		t.Fatalf("before: %v, %v", raws, err)
	}
	run(t, db, "RENAME TABLE CMINMSGS TO CMINMSGS_OLD")
	for name, call := range map[string]func() error{
		"Bodies":  func() error { _, err := read(); return err },
		"After":   func() error { _, err := m.After(t.Context(), 0, 5); return err },
		"MarkAll": func() error { _, err := m.MarkAll(t.Context(), []int64{1}, time.Now()); return err },
	} {
		for range 2 { // as it was known, and looked up
			if err := call(); !errors.Is(err, fault.ErrUnavailable) {
				t.Errorf("%s without a table: %v, want it to be unavailable", name, err)
			}
		}
	}
	run(t, db, "CREATE TABLE CMINMSGS LIKE CMINMSGS_OLD")
	run(t, db, "ALTER TABLE CMINMSGS MODIFY CMINMSGS_CLOB_MSG MEDIUMBLOB NULL")
	put(t, db, 1, "<a>班</a>")
	if raws, err := read(); err != nil || len(raws) != 1 || raws[0].Characters {
		t.Errorf("the new table holds bytes: %v, %v", raws, err)
	}
}

// Neither the server's time zone nor its host's nor ours matters: only that of the mailbox's owner.
func TestTimeZonesThatDiffer(t *testing.T) {
	dsn := stacktest.PrivateMariaDB(t).URL
	db := owner(t, dsn)
	run(t, db, "SET GLOBAL time_zone = '-07:00'")
	local := time.Local
	time.Local = time.FixedZone("host", 13*60*60)
	defer func() { time.Local = local }()
	run(t, db, "ALTER TABLE CMINMSGS ADD AT_INSTANT TIMESTAMP NULL")
	wall := config(dsn)
	instant := config(dsn)
	instant.Inbound.Received = "AT_INSTANT"
	run(t, db, "INSERT INTO CMINMSGS (CMINMSGS_DATE_RECEIVED, AT_INSTANT) VALUES ('2021-01-23 05:35:00', FROM_UNIXTIME(1611351300))")
	want := []watermark.Row{{MsgID: 1, ReceivedAt: time.Date(2021, 1, 22, 21, 35, 0, 0, time.UTC)}}
	for name, c := range map[string]mailbox.Config{"DATETIME": wall, "TIMESTAMP": instant} {
		got, err := open(t, c).After(t.Context(), 0, 5)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := open(t, wall).MarkAll(t.Context(), []int64{1}, want[0].ReceivedAt); err != nil {
		t.Fatal(err)
	}
	var mark string
	if err := db.QueryRowContext(t.Context(), "SELECT CAST(CMINMSGS_DATE_PROCESSED AS CHAR) FROM CMINMSGS").Scan(&mark); err != nil {
		t.Fatal(err)
	}
	if mark != "2021-01-23 05:35:00" {
		t.Errorf("the mark says %s, want 2021-01-23 05:35:00, the airport's time", mark)
	}
}
