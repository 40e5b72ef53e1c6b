package main

import (
	"database/sql"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"msgx/tools/stack/stacktest"
)

// A day of which something is missing ends with 1 and says what it is.
func TestADayWithSomethingMissing(t *testing.T) {
	t.Parallel()
	thief := &thief{t: t, stack: stacktest.Stack(t)}
	var errs strings.Builder
	code := execute(t.Context(), []string{
		"demo", "--once", "--flights", "20", "--operations", "40", "--seed", "5", "--postgres", thief.stack.Postgres, "--mariadb", thief.stack.MariaDB,
	}, strings.NewReader(""), thief, &errs)
	if code != exitFailed || !thief.done {
		t.Errorf("exit %d, want %d: %s", code, exitFailed, errs.String())
	}
	for _, want := range []string{
		"FAIL  every version has one history row and one event", " history rows and 0 events", "FAIL  topic msg", "and is not an event",
		"FAIL  every row of the mailbox is marked", "the mailbox has 51 rows, 52 were sent", "Not everything is accounted for.",
	} {
		if !strings.Contains(thief.said.String(), want) {
			t.Errorf("want %q in:\n%s", want, thief.said.String())
		}
	}
}

// The daemon of the demo takes parameters: here a rule set that is not there. A daemon that ends early leaves no database behind.
func TestADemoOfOtherRules(t *testing.T) {
	t.Parallel()
	stack, empty := stacktest.Stack(t), t.TempDir()
	r := run("demo", "--once", "--flights", "20", "--operations", "40", "--postgres", stack.Postgres, "--mariadb", stack.MariaDB, "--set", "rules.dir="+empty)
	if r.code != exitFailed || !strings.Contains(r.err, empty) {
		t.Errorf("exit %d, want %d and the name of the directory: %s", r.code, exitFailed, r.err)
	}
	own, err := pgx.Connect(t.Context(), stack.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close(t.Context())
	left := 0
	if err := own.QueryRow(t.Context(), `SELECT count(*) FROM pg_database WHERE datname = $1`, placeName.FindStringSubmatch(r.out)[1]).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d databases are left behind, %v, expected none", left, err)
	}
}

// thief is where the demo prints to. When it reads there that everything has
// been delivered, which comes before the account, it takes something away.
type thief struct {
	t     *testing.T
	stack stacktest.Addresses
	said  strings.Builder
	done  bool
}

var (
	placeName = regexp.MustCompile(`database (msgx_demo_\d+)`)
	allThere  = regexp.MustCompile(`decided (\d+) .*marked (\d+)  delivered (\d+)/(\d+)  lag 0\.0s`)
	allComing = regexp.MustCompile(`received (\d+)/(\d+)`)
)

func (w *thief) Write(p []byte) (int, error) {
	w.said.Write(p)
	coming, there := allComing.FindSubmatch(p), allThere.FindSubmatch(p)
	if w.done || coming == nil || there == nil || string(coming[2]) != string(there[1]) || string(there[1]) != string(there[2]) || string(there[3]) != string(there[4]) {
		return len(p), nil
	}
	w.done = true
	name := placeName.FindStringSubmatch(w.said.String())[1]
	ctx := w.t.Context()
	own, err := pgx.Connect(ctx, strings.Replace(w.stack.Postgres, "/postgres?", "/"+name+"?", 1))
	if err != nil {
		return 0, err
	}
	defer own.Close(ctx)
	mailbox, err := sql.Open("mysql", strings.Replace(w.stack.MariaDB, "/", "/"+name, 1))
	if err != nil {
		return 0, err
	}
	defer mailbox.Close()
	_, err = own.Exec(ctx, `DELETE FROM msg_event WHERE event_id = (SELECT min(event_id) FROM msg_event JOIN flight_schd f USING (flid)
		WHERE f.state_version = 1 AND target = 'KAFKA:msg')`)
	if err == nil {
		_, err = mailbox.ExecContext(ctx, `DELETE FROM CMINMSGS ORDER BY CMINMSGS_ID DESC LIMIT 1`)
	}
	return len(p), err
}
