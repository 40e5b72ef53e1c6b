package inbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/inbox"
	"msgx/engine/mailbox"
	"msgx/engine/store"
	"msgx/engine/watermark"
	"msgx/schemas"
	"msgx/tools/stack/stacktest"
)

// site is a real mailbox and a real database of ours.
type site struct {
	t      *testing.T
	owner  *sql.DB
	dsn    string
	store  *store.Store
	writer *store.Writer
	clock  clock.Clock  // of the host
	reads  atomic.Int64 // rounds that have read the mailbox
}

// counted counts the reads of a mailbox.
type counted struct {
	*mailbox.Mailbox
	reads *atomic.Int64
}

func (c counted) After(ctx context.Context, id int64, limit int) ([]watermark.Row, error) {
	defer c.reads.Add(1)
	return c.Mailbox.After(ctx, id, limit)
}

// wrong is a host's clock that is set wrongly.
type wrong struct {
	clock.System
	by time.Duration
}

func (w wrong) Now() time.Time { return w.System.Now().Add(w.by) }

func newSite(t *testing.T, dsn string) *site {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	url := stacktest.Postgres(t)
	_, _, err := store.Migrate(t.Context(), url)
	must(err)
	cat, err := schemas.Load()
	must(err)
	db, err := store.Open(t.Context(), store.Config{URL: url}, cat, time.UTC)
	must(err)
	t.Cleanup(db.Close)
	epoch, ok, err := db.ClaimLease(t.Context(), "test", time.Minute)
	must(err)
	if !ok {
		t.Fatal("lease of a fresh database is taken")
	}
	return &site{t: t, owner: client(t, dsn), dsn: dsn, store: db, writer: db.Writer(epoch), clock: clock.System{}}
}

const shortDelay = 700 * time.Millisecond

func (s *site) exec(statement string, args ...any) {
	s.t.Helper()
	if _, err := s.owner.ExecContext(s.t.Context(), statement, args...); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

func (s *site) put(ids ...int64) {
	s.t.Helper()
	for _, id := range ids {
		s.exec("INSERT INTO CMINMSGS (CMINMSGS_ID, CMINMSGS_CLOB_MSG) VALUES (?, '<a/>')", id)
	}
}

// begin runs an inbox until the returned function is called, which gives Run's error.
func (s *site) begin(o inbox.Options) (log *lockedLog, stop func() error) {
	s.t.Helper()
	box, err := mailbox.Open(s.t.Context(), mailbox.Config{DSN: s.dsn, Zone: time.UTC, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	if o.MaxCommitDelay == 0 {
		o.MaxCommitDelay = shortDelay
	}
	o.PollInterval, o.LateEvery, o.Waits = 10*time.Millisecond, 20*time.Millisecond, []time.Duration{10 * time.Millisecond}
	if o.Cutover == "" {
		o.Cutover = "zero"
	}
	log = &lockedLog{}
	made, err := inbox.New(inbox.Needs{Mailbox: counted{box, &s.reads}, Store: s.store, Writer: s.writer, Clock: s.clock, Log: slog.New(slog.NewTextHandler(log, nil))}, o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- made.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); err := <-done; _ = box.Close(); return err })
	s.t.Cleanup(func() {
		if err := stop(); err != nil && !errors.Is(err, fault.ErrRefused) {
			s.t.Errorf("Run: %v", err)
		}
	})
	return log, stop
}

// enqueued are the ids of processing records up to the watermark, ascending.
func (s *site) enqueued() []int64 {
	s.t.Helper()
	heads, _, _, err := s.store.Heads(s.t.Context(), 10_000)
	if err != nil {
		s.t.Fatal(err)
	}
	ids := make([]int64, len(heads))
	for i, h := range heads {
		ids[i] = h.MsgID
	}
	return ids
}

func (s *site) await(want ...int64) {
	s.t.Helper()
	eventually(s.t, fmt.Sprint("enqueued ", want), func() bool { return len(s.enqueued()) >= len(want) })
	if diff := cmp.Diff(want, s.enqueued()); diff != "" {
		s.t.Fatalf("enqueued (-want +got):\n%s", diff)
	}
}

// released are the ledger's released holes.
func (s *site) released() []string {
	s.t.Helper()
	holes, err := s.store.AgedHoles(s.t.Context(), time.Time{})
	if err != nil {
		s.t.Fatal(err)
	}
	texts := []string{}
	for _, h := range holes {
		texts = append(texts, fmt.Sprintf("%d-%d", h.First, h.Last))
	}
	return texts
}

func (s *site) awaitLate(want ...int64) {
	s.t.Helper()
	late := func() []int64 {
		rows, err := s.store.LateRows(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		var ids []int64
		for _, r := range rows {
			ids = append(ids, r.First)
		}
		return ids
	}
	eventually(s.t, fmt.Sprint("late ", want), func() bool { return len(late()) >= len(want) })
	if diff := cmp.Diff(want, late()); diff != "" {
		s.t.Fatalf("late (-want +got):\n%s", diff)
	}
}

func TestHolesOnRealServers(t *testing.T) {
	tests := []struct {
		name    string
		rows    []int64
		options inbox.Options
		holes   []string
	}{
		{"at the front of a batch", []int64{4, 5, 6}, inbox.Options{}, []string{"1-3"}},
		{"at its back", []int64{1, 2, 3, 9}, inbox.Options{ClaimBatch: 4}, []string{"4-8"}},
		{"the batch ends before it", []int64{1, 2, 9}, inbox.Options{ClaimBatch: 2}, []string{"3-8"}},
		{"a batch that is one row", []int64{2, 4, 5, 7}, inbox.Options{ClaimBatch: 1}, []string{"1-1", "3-3", "6-6"}},
		{"several, one a round", []int64{1, 3, 5, 6, 9}, inbox.Options{ClaimBatch: 100}, []string{"2-2", "4-4", "7-8"}},
		{"a stride is none", []int64{3, 6, 9, 12}, inbox.Options{IDStride: 3}, []string{}},
		{"a stride that is missed is one", []int64{3, 6, 12}, inbox.Options{IDStride: 3}, []string{"7-11"}},
		{"strides, told of none", []int64{2, 4}, inbox.Options{}, []string{"1-1", "3-3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, stacktest.Mailbox(t))
			s.put(tt.rows...)
			_, stop := s.begin(tt.options)
			s.await(tt.rows...)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.holes, s.released()); diff != "" {
				t.Errorf("released holes (-want +got):\n%s", diff)
			}
		})
	}
}

// The server counts in strides, and several sessions write at once.
func TestAServerThatCountsInStrides(t *testing.T) {
	s := newSite(t, stacktest.Mailbox(t))
	s.begin(inbox.Options{IDStride: 5, ClaimBatch: 3, MaxCommitDelay: time.Minute})
	config, err := mysql.ParseDSN(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.Params = map[string]string{"auto_increment_increment": "5", "auto_increment_offset": "2"}
	strider := client(t, config.FormatDSN())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { write(t, strider, 10, -1) })
	}
	group.Wait()
	want := make([]int64, 40)
	for i := range want {
		want[i] = int64(2 + 5*i)
	}
	s.await(want...)
	if got := s.released(); len(got) > 0 {
		t.Errorf("released holes %v, want none: the first id, %d, is within the stride", got, want[0])
	}
}

// The age of a hole is that of its first observation, over a restart, and it is never released early.
func TestTheAgeOfAHoleOutlivesTheProcess(t *testing.T) {
	s := newSite(t, stacktest.Mailbox(t))
	s.put(1, 2, 4)
	const delay = 2 * time.Second
	_, stop := s.begin(inbox.Options{MaxCommitDelay: delay})
	var since time.Time
	eventually(t, "the hole is seen", func() bool {
		open, err := s.store.OpenHoles(t.Context())
		if err != nil || len(open) == 0 {
			return false
		}
		since = open[0].Since
		return true
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // no process lives long enough to see the hole age
		_, stop := s.begin(inbox.Options{MaxCommitDelay: delay})
		eventually(t, "it has read", func() bool { _, found, err := s.store.Cursor(t.Context()); return found && err == nil })
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	s.begin(inbox.Options{MaxCommitDelay: delay})
	s.await(1, 2, 4)
	holes, err := s.store.AgedHoles(t.Context(), time.Time{})
	if err != nil || len(holes) != 1 {
		t.Fatalf("released %v, %v, want one hole", holes, err)
	}
	if h := holes[0]; !h.Since.Equal(since) || h.At.Sub(h.Since) < delay {
		t.Errorf("released at the age of %s since %s, want at least %s since %s", h.At.Sub(h.Since), h.Since, delay, since)
	}
}

// The clock of the host that takes over may show anything: the age of a hole is carried by that of the database.
func TestTheAgeOfAHoleOutlivesAWrongClock(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			s := newSite(t, stacktest.Mailbox(t))
			s.put(1, 2, 4)
			const delay = 3 * time.Second
			_, stop := s.begin(inbox.Options{MaxCommitDelay: delay})
			eventually(t, "the hole is seen", func() bool { c, _, err := s.store.Cursor(t.Context()); return err == nil && !c.HoleSince.IsZero() })
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			s.clock = wrong{by: by}
			before := s.reads.Load()
			s.begin(inbox.Options{MaxCommitDelay: delay})
			eventually(t, "it has read", func() bool { return s.reads.Load() > before+2 })
			s.put(3)
			s.await(1, 2, 3, 4)
			s.put(6)
			s.await(1, 2, 3, 4, 6) // and a hole that it sees itself ages by its own
			if got := s.released(); len(got) != 1 {
				t.Errorf("released %v, want the id 5 alone", got)
			}
		})
	}
}

// What commits below the watermark, or below a seed, is on record and not enqueued.
func TestLateRowsOnRealServers(t *testing.T) {
	s := newSite(t, stacktest.Mailbox(t))
	s.put(95, 97, 100)
	log, _ := s.begin(inbox.Options{Cutover: "max"})
	eventually(t, "seeded", func() bool { _, found, err := s.store.Cursor(t.Context()); return found && err == nil })
	s.put(98, 101, 103)
	s.await(101, 103)
	s.put(102)
	s.awaitLate(98, 102)
	s.await(101, 103)
	eventually(t, "both are told of", func() bool { return log.count("later than the promised commit delay") == 2 })
}

func TestSeedingOnRealServers(t *testing.T) {
	rows := []int64{7, 8, 10}
	tests := []struct {
		name, cutover string
		purge         bool
		want          []int64
		refused       string
	}{
		{"min", "min", false, rows, ""},
		{"zero", "zero", false, rows, ""},
		{"max", "max", false, []int64{11}, ""},
		{"an id", "8", false, []int64{10}, ""},
		{"an id of no row", "9", false, []int64{10}, ""},
		{"min of an empty table", "min", true, []int64{11}, ""},
		{"an id that is not given out yet", "11", false, nil, "less than the next id of the mailbox, 11"},
		{"negative", "-1", false, nil, "expected min, zero, max or an id"},
		{"beyond 64 bits", "9223372036854775808", false, nil, "expected min, zero, max or an id"},
		{"a word", "latest", false, nil, "expected min, zero, max or an id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, stacktest.Mailbox(t))
			s.put(rows...)
			if tt.purge {
				s.exec("DELETE FROM CMINMSGS")
			}
			_, stop := s.begin(inbox.Options{Cutover: tt.cutover})
			if tt.refused != "" {
				err := stop()
				for err == nil { // it was stopped before it came so far
					_, stop = s.begin(inbox.Options{Cutover: tt.cutover})
					err = s.ends(stop)
				}
				if !errors.Is(err, fault.ErrRefused) || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("Run: %v, want a refusal with %q", err, tt.refused)
				}
				return
			}
			eventually(t, "seeded", func() bool { _, found, err := s.store.Cursor(t.Context()); return found && err == nil })
			if slices.Contains(tt.want, 11) {
				s.put(11)
			}
			s.await(tt.want...)
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			// Seeded once: what is configured later changes nothing.
			s.begin(inbox.Options{Cutover: "max"})
			s.put(12)
			s.await(append(slices.Clone(tt.want), 12)...)
		})
	}
}

// ends gives an inbox time to end by itself.
func (s *site) ends(stop func() error) error {
	eventually(s.t, "it has looked", func() bool {
		_, found, err := s.store.Cursor(s.t.Context())
		return err == nil && !found
	})
	return stop()
}

// A purge that empties the table is normal; ids that are given out again are not, and no new row is taken for an old one.
func TestPurgesAndIDsInUseAgain(t *testing.T) {
	s := newSite(t, stacktest.Mailbox(t))
	s.put(1, 2, 3)
	log, _ := s.begin(inbox.Options{})
	s.await(1, 2, 3)
	s.exec("DELETE FROM CMINMSGS")
	s.exec("INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG) VALUES ('<a/>')")
	s.await(1, 2, 3, 4)
	if n := log.count("hands out ids again"); n != 0 {
		t.Fatalf("an emptied table is taken for one that begins again:\n%s", &log.text)
	}
	s.exec("TRUNCATE CMINMSGS")
	eventually(t, "it is noticed", func() bool { return log.count("hands out ids again") == 1 })
	s.put(1, 2, 3, 4, 5, 6)
	s.exec("INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG) VALUES ('<a/>')") // even past the watermark
	s.pause(log, true)
	if diff := cmp.Diff([]int64{1, 2, 3, 4}, s.enqueued()); diff != "" {
		t.Errorf("enqueued (-want +got):\n%s", diff)
	}
	// Mended: ids go on above the watermark, and an operator resumes.
	s.exec("TRUNCATE CMINMSGS")
	s.exec("ALTER TABLE CMINMSGS AUTO_INCREMENT = 5")
	s.pause(log, false)
	s.exec("INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG) VALUES ('<a/>')")
	s.await(1, 2, 3, 4, 5)
}

// pause pauses or resumes the inbox and waits until it has heard.
func (s *site) pause(log *lockedLog, paused bool) {
	s.t.Helper()
	if err := s.store.SetPaused(s.t.Context(), inbox.Stage, paused, "test", "rotation", clock.System{}.Now()); err != nil {
		s.t.Fatal(err)
	}
	heard := map[bool]string{true: "inbox paused", false: "inbox resumed"}[paused]
	eventually(s.t, heard, func() bool { return log.count(heard) > 0 })
}

// The owner rotates the table under load: what is not read yet moves along, in one stroke.
func TestARotationUnderLoad(t *testing.T) {
	s := newSite(t, stacktest.Mailbox(t))
	log, _ := s.begin(inbox.Options{ClaimBatch: 7, MaxCommitDelay: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for ctx.Err() == nil {
				// Between the two names of a rotation there is no table for a moment; a writer tries again.
				_, _ = s.owner.ExecContext(t.Context(), "INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG) VALUES ('<a/>')")
			}
		})
	}
	for n := range 4 {
		before := len(s.enqueued())
		eventually(t, "some rows", func() bool { return len(s.enqueued()) > before+20 })
		s.rotate(n)
	}
	cancel()
	group.Wait()
	var want []int64
	for n := range 5 {
		table := fmt.Sprintf("CMINMSGS_%d", n)
		if n == 4 {
			table = "CMINMSGS"
		}
		want = append(want, s.idsOf(table)...)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	eventually(t, "every row is enqueued", func() bool { return len(s.enqueued()) >= len(want) })
	if diff := cmp.Diff(want, s.enqueued()); diff != "" {
		t.Errorf("enqueued (-want +got):\n%s", diff)
	}
	if got := s.released(); len(got) > 0 {
		t.Errorf("released holes %v, want none", got)
	}
	t.Logf("%d rows over 4 rotations; logged away %d times", len(want), log.count("server is away"))
}

// idsOf are the ids of a table.
func (s *site) idsOf(table string) (ids []int64) {
	s.t.Helper()
	rows, err := s.owner.QueryContext(s.t.Context(), "SELECT CMINMSGS_ID FROM "+table)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return ids
}

// rotate puts the table aside under another name and one with the unmarked rows in its place. What has been read is marked
// before, as a back-fill would.
func (s *site) rotate(n int) {
	s.t.Helper()
	cursor, _, err := s.store.Cursor(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	conn, err := s.owner.Conn(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range []string{
		"CREATE TABLE CMINMSGS_NEXT LIKE CMINMSGS",
		"LOCK TABLES CMINMSGS WRITE, CMINMSGS_NEXT WRITE",
		fmt.Sprintf("UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = NOW() WHERE CMINMSGS_ID <= %d", cursor.Watermark),
		"INSERT INTO CMINMSGS_NEXT SELECT * FROM CMINMSGS WHERE CMINMSGS_DATE_PROCESSED IS NULL",
		// The newest row moves along even if it is marked, or the new table would begin again with its ids.
		"INSERT IGNORE INTO CMINMSGS_NEXT SELECT * FROM CMINMSGS ORDER BY CMINMSGS_ID DESC LIMIT 1",
		fmt.Sprintf("ALTER TABLE CMINMSGS RENAME TO CMINMSGS_%d", n),
		"ALTER TABLE CMINMSGS_NEXT RENAME TO CMINMSGS",
		"UNLOCK TABLES",
	} {
		if _, err := conn.ExecContext(s.t.Context(), statement); err != nil {
			s.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// A read-only server is read; a commit delay that was promised holds whatever its clock says.
func TestAReadOnlyServerIsRead(t *testing.T) {
	s := newSite(t, stacktest.PrivateMariaDB(t).URL)
	s.put(1, 2, 4)
	s.exec("SET GLOBAL time_zone = '+09:00'")
	s.exec("SET GLOBAL read_only = 1")
	s.begin(inbox.Options{})
	s.await(1, 2, 4)
	if diff := cmp.Diff([]string{"3-3"}, s.released()); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
	s.exec("SET GLOBAL read_only = 0")
	s.put(5)
	s.await(1, 2, 4, 5)
}
