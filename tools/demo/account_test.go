package demo

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/store"
	"msgx/tools/feed"
	"msgx/tools/stack/stacktest"
)

// lived is a small day that has been lived through, with everything still there.
func lived(ctx context.Context, t *testing.T) (*place, *config.Config, *Report) {
	t.Helper()
	stack := stacktest.Stack(t)
	o := Options{Postgres: stack.Postgres, MariaDB: stack.MariaDB, Listen: "127.0.0.1:0", Once: true, Seed: 5, Flights: 20, Operations: 60, Out: io.Discard}
	p, err := prepare(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.cleanUp)
	c, err := p.configuration(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Migrate(ctx, c.Postgres.URL); err != nil {
		t.Fatal(err)
	}
	d, err := daemon.New(ctx, c, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	report, err := p.live(ctx, o, c, d)
	if err != nil {
		t.Fatal(err)
	}
	return p, c, report
}

// Whatever is taken away afterwards, the account says so, and is not well.
func TestTheAccountMissesWhatIsTakenAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patienceOfTest)
	defer cancel()
	p, c, day := lived(ctx, t)
	conn, err := pgx.Connect(ctx, c.Postgres.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	harm := func(statement string) {
		t.Helper()
		if tag, err := conn.Exec(ctx, statement); err != nil || tag.RowsAffected() == 0 {
			t.Fatalf("%s: %s, %v", statement, tag, err)
		}
	}
	last := day.inserted.IDs[len(day.messages)]
	tests := []struct {
		name string
		harm func()
		want string
	}{
		{"nothing", func() {}, "Every message is accounted for."},
		{"a mark", func() {
			if _, err := p.Mailbox.Exec(`UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = NULL WHERE CMINMSGS_ID = ?`, last); err != nil {
				t.Fatal(err)
			}
		}, "1 rows of the mailbox have no processed mark"},
		{"a version's history", func() {
			harm(`DELETE FROM flight_change WHERE (flid, state_version) = (SELECT flid, state_version FROM flight_schd ORDER BY flid LIMIT 1)`)
		}, "history rows"},
		{"a message", func() { harm(`DELETE FROM proc_state WHERE msg_id = (SELECT max(msg_id) FROM proc_state)`) }, "was never enqueued"},
		{"a delivery", func() {
			harm(`INSERT INTO msg_event (target, partition_key, event_type, flid, state_version, msg_id, kind, ruleset, payload, created_at)
				SELECT target, partition_key, event_type, flid, 999, msg_id, kind, ruleset, payload, created_at FROM msg_event WHERE target = 'KAFKA:msg' LIMIT 1`)
		}, "version 999 was not delivered"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.harm()
			r := &Report{messages: day.messages, inserted: feed.Inserted{IDs: day.inserted.IDs}}
			if err := p.account(ctx, c, r); err != nil {
				t.Fatal(err)
			}
			if r.OK() != (tt.name == "nothing") || !strings.Contains(r.String(), tt.want) {
				t.Errorf("well: %t; want %q in\n%s", r.OK(), tt.want, r)
			}
		})
	}
}
