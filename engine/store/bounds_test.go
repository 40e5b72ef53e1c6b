package store

import (
	"errors"
	"strings"
	"testing"

	"msgx/engine/fault"
	"msgx/schemas"
	"msgx/tools/stack/stacktest"
)

// A site that lengthens a field or adds a flag gets a database that takes them.
func TestBoundsFollowTheSite(t *testing.T) {
	ctx := t.Context()
	url := stacktest.Postgres(t)
	if _, _, err := Migrate(ctx, url); err != nil {
		t.Fatal(err)
	}
	shipped, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	site, err := schemas.LoadSite([]byte("flight:\n  STND: {max: 12}\n  MVIN: {flags: [A, D, X]}\n  GTDT.GATE: {max: 30}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := openURL(t, url)
	if err := s.CheckBounds(ctx, shipped); err != nil {
		t.Errorf("the migrations and the shipped catalogue differ: %v", err)
	}
	err = s.CheckBounds(ctx, site)
	if !errors.Is(err, fault.ErrRefused) {
		t.Fatalf("got %v, want a refusal", err)
	}
	for _, want := range []string{"flight_schd.stnd", "<= 12", "flight_schd.mvin", "flight_gtdt.gate", "msgx migrate"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant it to name %s", err, want)
		}
	}
	if n, err := AlignBounds(ctx, url, site); err != nil || n != 3 {
		t.Fatalf("align: %d, %v, want 3 changes", n, err)
	}
	if n, err := AlignBounds(ctx, url, site); err != nil || n != 0 {
		t.Errorf("align again: %d, %v, want no change", n, err)
	}
	if err := s.CheckBounds(ctx, site); err != nil {
		t.Error(err)
	}
	insert := `INSERT INTO flight_schd (flid, state, state_version, last_msg_id, created_at, updated_at, stnd, mvin)
VALUES (1, 'ACTIVE', 1, 1, now(), now(), '123456789012', 'X')`
	if _, err := s.pool.Exec(ctx, insert); err != nil {
		t.Errorf("a value that the site allows: %v", err)
	}
	if _, err := AlignBounds(ctx, url, shipped); err == nil || !strings.Contains(err.Error(), "flight_schd.mvin") {
		t.Errorf("shortened under a value that is there: got %v, want an error that names the column", err)
	}
}
