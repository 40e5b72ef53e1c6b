package stacktest_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"msgx/tools/stack/stacktest"
)

// Everything that stacktest opens has to be closed again: the packages that use
// it look for goroutines left over.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPostgresIsEmptyDurableAndFresh(t *testing.T) {
	first, second := stacktest.Postgres(t), stacktest.Postgres(t)
	if first == second {
		t.Fatalf("two calls gave the same database %s", first)
	}
	want := map[string]string{
		"fsync": "on", "synchronous_commit": "on", "server_encoding": "UTF8", "lc_collate": "C", "max_connections": "300", "TimeZone": "UTC",
	}
	got := map[string]string{}
	conn, err := pgx.Connect(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for name := range want {
		var value string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&value); err != nil {
			t.Fatalf("setting %s: %v", name, err)
		}
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestPostgresDatabaseIsGoneAfterTheTest(t *testing.T) {
	var url string
	t.Run("uses it", func(t *testing.T) {
		url = stacktest.Postgres(t)
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		// Left open on purpose: cleaning up must not hang on it.
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	})
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		_ = conn.Close(t.Context())
		t.Errorf("database of %s is still there", url)
	}
}

func TestMailboxHasTheOwnersTables(t *testing.T) {
	db, err := sql.Open("mysql", stacktest.Mailbox(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	result, err := db.ExecContext(t.Context(),
		"INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED, CMINMSGS_STATUS) VALUES ('<MSG>航班🛫</MSG>', NOW(), 'VALID')")
	if err != nil {
		t.Fatal(err)
	}
	id, err := result.LastInsertId()
	if err != nil || id != 1 {
		t.Fatalf("first id: got %d, %v, want 1", id, err)
	}
	var body string
	if err := db.QueryRowContext(t.Context(), "SELECT CMINMSGS_CLOB_MSG FROM CMINMSGS WHERE CMINMSGS_ID = 1").Scan(&body); err != nil {
		t.Fatal(err)
	}
	if want := "<MSG>航班🛫</MSG>"; body != want {
		t.Errorf("body: got %q, want %q", body, want)
	}
	// Strict mode, as the owner's server has it.
	if _, err := db.ExecContext(t.Context(), "INSERT INTO COUTMSGS (COUTMSGS_DATE_INSERTED, ROUTINGID) VALUES (NOW(), REPEAT('x', 24))"); err == nil {
		t.Error("a ROUTINGID of 24 characters was accepted, want an error")
	}
}
