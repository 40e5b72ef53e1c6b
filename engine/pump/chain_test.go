package pump_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	_ "github.com/go-sql-driver/mysql" // the test looks at the mailbox on its own
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"msgx"
	"msgx/engine/backfill"
	"msgx/engine/catalogue"
	"msgx/engine/clock"
	"msgx/engine/codec"
	"msgx/engine/decision"
	"msgx/engine/inbox"
	"msgx/engine/mailbox"
	"msgx/engine/message"
	"msgx/engine/pump"
	"msgx/engine/rulebook"
	"msgx/engine/store"
	"msgx/engine/verdict"
	"msgx/schemas"
	"msgx/tools/stack/stacktest"
)

// chain is the real thing from mailbox to mark, on real servers.
type chain struct {
	t       *testing.T
	box     *mailbox.Mailbox
	mysql   *sql.DB
	store   *store.Store
	writer  *store.Writer
	pg      *pgx.Conn
	codec   *codec.Codec
	judge   *verdict.Judge
	retry   message.Retry
	kinds   []string
	cat     *catalogue.Catalogue
	zone    *time.Location
	url     string
	log     *slog.Logger
	context context.Context
}

func newChain(t *testing.T, rules fs.FS) *chain {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	c := &chain{t: t, context: ctx, log: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		retry: message.Retry{MaxAttempts: 3, Tiers: []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	zone, err := time.LoadLocation("Asia/Shanghai")
	must(err)
	cat, err := schemas.Load()
	must(err)
	c.zone, c.cat = zone, cat
	for _, k := range cat.Kinds {
		c.kinds = append(c.kinds, k.Name)
	}
	c.codec, err = codec.New(cat, codec.Options{Zone: zone, Ignore: []string{"LDM-*"}})
	must(err)
	book, err := rulebook.Load(rules, cat, rulebook.Settings{}, rulebook.DefaultLimits())
	must(err)
	c.judge = verdict.New(cat, book, verdict.Options{Options: decision.Options{Zone: zone, CodeShareKey: decision.KeyMaster}})

	dsn := stacktest.Mailbox(t)
	c.box, err = mailbox.Open(ctx, mailbox.Config{DSN: dsn, Zone: zone})
	must(err)
	t.Cleanup(func() { _ = c.box.Close() })
	c.mysql, err = sql.Open("mysql", dsn)
	must(err)
	t.Cleanup(func() { _ = c.mysql.Close() })

	c.url = stacktest.Postgres(t)
	_, _, err = store.Migrate(ctx, c.url)
	must(err)
	c.connect(store.Config{URL: c.url})
	t.Cleanup(c.disconnect)
	return c
}

// connect opens our own database and leads on it.
func (c *chain) connect(config store.Config) {
	c.t.Helper()
	var err error
	if c.store, err = store.Open(c.context, config, c.cat, c.zone); err != nil {
		c.t.Fatal(err)
	}
	epoch, ok, err := c.store.ClaimLease(c.context, "test", 0)
	if err != nil || !ok {
		c.t.Fatalf("claim the lease: %v, %v", ok, err)
	}
	c.writer = c.store.Writer(epoch)
	if c.pg, err = pgx.Connect(c.context, c.url); err != nil {
		c.t.Fatal(err)
	}
}

func (c *chain) disconnect() {
	c.store.Close()
	_ = c.pg.Close(context.Background())
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func (c *chain) inbox() *inbox.Inbox {
	c.t.Helper()
	i, err := inbox.New(inbox.Needs{Mailbox: c.box, Store: c.store, Writer: c.writer, Clock: clock.System{}, Log: c.log},
		inbox.Options{PollInterval: 20 * time.Millisecond, MaxCommitDelay: 50 * time.Millisecond, Cutover: "zero"})
	if err != nil {
		c.t.Fatal(err)
	}
	return i
}

func (c *chain) pump(o pump.Options) *pump.Pump {
	o.Retry, o.Poll, o.KeepRaw, o.Kinds = c.retry, 20*time.Millisecond, true, c.kinds
	return pump.New(pump.Parts{Line: c.store, Writer: c.writer, Mailbox: c.box, Decoder: c.codec, Judge: c.judge, Log: c.log}, o)
}

func (c *chain) backfill() *backfill.Backfill {
	c.t.Helper()
	b, err := backfill.New(backfill.Needs{Mailbox: c.box, Store: c.store, Writer: c.writer, Clock: clock.System{}, Log: c.log},
		backfill.Options{Interval: 20 * time.Millisecond, Gather: time.Millisecond})
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// runUntil runs stages until a query answers true.
func (c *chain) runUntil(query string, stages ...func(context.Context) error) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.context)
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range stages {
		group.Go(func() error { return run(ctx) })
	}
	done := c.await(ctx, query)
	cancel()
	if err := group.Wait(); err != nil || !done {
		c.t.Fatalf("stages ended with %v while waiting for %s", err, query)
	}
}

// await polls, in a rhythm the servers do not notice, until a query answers true.
func (c *chain) await(ctx context.Context, query string) bool {
	c.t.Helper()
	for !one[bool](c, query) {
		if err := clock.Sleep(ctx, clock.System{}, 10*time.Millisecond); err != nil {
			return false
		}
	}
	return true
}

func one[T any](c *chain, query string) T {
	c.t.Helper()
	return rowsOf[T](c, query)[0]
}

func rowsOf[T any](c *chain, query string) []T {
	c.t.Helper()
	rows, err := c.pg.Query(context.Background(), query)
	if err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
	return out
}

func (c *chain) insert(bodies ...string) {
	c.t.Helper()
	for _, b := range bodies {
		if _, err := c.box.Insert(c.context, []byte(b), message.Meta{}, clock.System{}.Now()); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *chain) exec(statement string) {
	c.t.Helper()
	if _, err := c.pg.Exec(c.context, statement); err != nil {
		c.t.Fatalf("%s: %v", statement, err)
	}
}

// envelope makes a message.
func envelope(seq int, typ, subtype, payload string) string {
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<MSG><META><SNDR>AODB</SNDR><SEQN>%d</SEQN><DTTM>20210123080000</DTTM><TYPE>%s</TYPE><STYP>%s</STYP></META>%s</MSG>`,
		seq, typ, subtype, payload)
}

func stand(seq, flid int, value string) string {
	return envelope(seq, "FLOP", "STND", fmt.Sprintf("<FLOP><FLID>%d</FLID><STND>%s</STND></FLOP>", flid, value))
}

// withBrokenRule is the shipped rule set, but one script fails.
func withBrokenRule(t *testing.T, name string) fs.FS {
	t.Helper()
	return withRule(t, name, `return { kind = "FLOP-TRML", writes = { "TRML" }, decide = function(view, msg)
  error("no terminal today")
end }`)
}

// withRule is the shipped rule set with another text of one script.
func withRule(t *testing.T, name, text string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(msgx.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(msgx.Files, path)
		out[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f := out["rules/"+name]
	if f == nil {
		t.Fatalf("no rule %s", name)
	}
	f.Data = []byte(text)
	return out
}

// settled says that nothing is left to decide and no mark is owed.
const settled = `SELECT count(*) FILTER (WHERE state IN ('PENDING', 'FAILED') OR (backfill_at IS NULL AND backfill_abandoned_at IS NULL)) = 0
	AND count(*) > 0 AND max(msg_id) = %d FROM proc_state`

// TestWholeChain sends one message of each class of outcome from a real
// mailbox to its mark, and looks at every table on the way.
func TestWholeChain(t *testing.T) {
	c := newChain(t, withBrokenRule(t, "flop-trml@1.lua"))
	c.exec(`ALTER TABLE flight_schd ADD CONSTRAINT not_there CHECK (stnd <> 'NOWHERE')`)
	c.insert(
		envelope(1, "SCHD", "DNLD", `<SCHD><RECS>2</RECS>
			<FLTR><FLID>100</FLID><FLNO>CA101</FLNO><SODT>23JAN210935</SODT></FLTR>
			<FLTR><FLID>101</FLID><FLNO>ZH2</FLNO><SODT>23JAN210935</SODT><MAID>100</MAID></FLTR></SCHD>`),
		stand(2, 100, "12"),
		stand(3, 999, "1"),
		envelope(4, "LDM", "UPD", "<LDM/>"),
		stand(2, 100, "12"), // 5: the second message again
		`<MSG><META><SNDR>AODB</SNDR>`,
		envelope(7, "SCHD", "DNLD", `<SCHD><RECS>3</RECS><FLTR><FLID>102</FLID><SODT>23JAN210935</SODT></FLTR></SCHD>`),
		envelope(8, "GOLF", "CART", "<GOLF/>"),
		stand(9, 100, strings.Repeat("9", 300)),
		envelope(10, "FLOP", "TRML", "<FLOP><FLID>100</FLID><TRML>2</TRML></FLOP>"),
		stand(11, 100, "NOWHERE"),
		stand(12, 100, "raw is missing"),
		envelope(13, "FLOP", "FDEL", "<FLOP><FLID>101</FLID><FDEL/></FLOP>"),
		stand(14, 100, "14"),
	)
	c.runUntil(`SELECT count(*) = 14 FROM proc_state`, c.inbox().Run)
	if _, err := c.mysql.ExecContext(c.context, "DELETE FROM CMINMSGS WHERE CMINMSGS_ID = 12"); err != nil {
		t.Fatal(err)
	}
	c.insert(stand(15, 100, "15")) // arrives while the others are being decided

	b := c.backfill()
	c.runUntil(fmt.Sprintf(settled, 15), c.inbox().Run, c.pump(pump.Options{WakeBackfill: b.Poke}).Run, b.Run)

	reasons := rowsOf[string](c, `SELECT msg_id || ' ' || state || ' ' || attempts || ' ' || COALESCE(error_class, '-') || ' '
		|| left(COALESCE(last_error, skip_reason, '-'), 60) || ' ' || COALESCE(identity_key, '-') FROM proc_state ORDER BY msg_id`)
	want := []string{
		"1 SUCCEEDED 0 - - AODB|SCHD|DNLD|1",
		"2 SUCCEEDED 0 - - AODB|FLOP|STND|2",
		"3 SKIPPED 0 - flight-unknown AODB|FLOP|STND|3",
		"4 SKIPPED 0 - ignored:LDM-* AODB|LDM|UPD|4",
		"5 SKIPPED 0 - duplicate-of:2 -",
		"6 DEAD 1 MALFORMED ",
		"7 DEAD 1 PROTOCOL record-count 3, found 1 AODB|SCHD|DNLD|7",
		"8 DEAD 3 EXHAUSTED UNSUPPORTED: kind GOLF-CART is not known",
		"9 DEAD 3 EXHAUSTED CODEC_ERROR: /MSG/FLOP[1]/STND: found",
		"10 DEAD 3 EXHAUSTED RULE_ERROR: rules: flop-trml@1: rules/flop-trml@1.lua:2: no",
		"11 DEAD 3 EXHAUSTED INFRA: ",
		"12 DEAD 1 MALFORMED raw-missing -",
		"13 SUCCEEDED 0 - - AODB|FLOP|FDEL|13",
		"14 SUCCEEDED 0 - - AODB|FLOP|STND|14",
		"15 SUCCEEDED 0 - - AODB|FLOP|STND|15",
	}
	if len(reasons) != len(want) {
		t.Fatalf("%d rows, want %d:\n%s", len(reasons), len(want), strings.Join(reasons, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(reasons[i], want[i]) {
			t.Errorf("message %d is %q, want %q …", i+1, reasons[i], want[i])
		}
	}
	c.checkEffects()
}

// checkEffects looks at what the messages of TestWholeChain left behind.
func (c *chain) checkEffects() {
	c.t.Helper()
	for _, q := range []struct {
		what, query string
		want        []string
	}{
		{"the INFRA message bound its identity", `SELECT identity_key FROM proc_state WHERE msg_id = 11`, []string{"AODB|FLOP|STND|11"}},
		{"decisions are numbered without a gap", `SELECT decision_no || ':' || msg_id FROM proc_state WHERE decision_no IS NOT NULL ORDER BY decision_no`,
			[]string{"1:1", "2:2", "3:13", "4:14", "5:15"}},
		{"flights", `SELECT flid || ' ' || state || ' ' || COALESCE(stnd, '-') || ' ' || operation_day || ' ' || last_msg_id FROM flight_schd ORDER BY flid`,
			[]string{"100 ACTIVE 15 2021-01-23 15", "101 DELETED - 2021-01-23 13"}},
		{"every version has its history row", `SELECT flid || ' ' || string_agg(state_version || '@' || msg_id, ' ' ORDER BY state_version)
			FROM flight_change GROUP BY flid ORDER BY flid`,
			[]string{"100 1@1 2@2 3@13 4@14 5@15", "101 1@1 2@13"}},
		{"every version has its event, in order", `SELECT event_type || ' ' || flid || ' v' || state_version FROM msg_event
			WHERE target = 'KAFKA:msg' ORDER BY event_id`,
			[]string{"UPSERT 100 v1", "UPSERT 101 v1", "UPSERT 100 v2", "UPSERT 100 v3", "TOMBSTONE 101 v2", "UPSERT 100 v4", "UPSERT 100 v5"}},
		{"one row a flight for the latest state", `SELECT event_type || ' ' || flid || ' v' || state_version FROM msg_event
			WHERE target = 'KAFKA:schd' ORDER BY flid`, []string{"UPSERT 100 v5", "TOMBSTONE 101 v2"}},
		{"bodies kept", `SELECT string_agg(msg_id::text, ' ' ORDER BY msg_id) FROM raw_message`, []string{"1 2 3 4 5 6 7 8 9 10 11 13 14 15"}},
		{"marks given up", `SELECT msg_id || ' ' || backfill_abandoned_reason FROM proc_state WHERE backfill_abandoned_at IS NOT NULL`,
			[]string{"12 MISSING_ROW"}},
	} {
		if diff := cmp.Diff(q.want, rowsOf[string](c, q.query)); diff != "" {
			c.t.Errorf("%s (-want +got):\n%s", q.what, diff)
		}
	}
	var unmarked int
	if err := c.mysql.QueryRowContext(c.context, "SELECT COUNT(*) FROM CMINMSGS WHERE CMINMSGS_DATE_PROCESSED IS NULL").Scan(&unmarked); err != nil {
		c.t.Fatal(err)
	}
	if unmarked != 0 {
		c.t.Errorf("%d mailbox rows have no mark, want none", unmarked)
	}
}
