package mailbox_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/evidence"
	"msgx/tools/stack/stacktest"
)

// Arrivals are the rows of a range with their marks; a zero date is no mark.
func TestArrivals(t *testing.T) {
	dsn := stacktest.Mailbox(t)
	m, db := open(t, config(dsn)), owner(t, dsn)
	for _, id := range []int64{1, 2, 3, 5, 6} {
		put(t, db, id, "<a/>")
	}
	run(t, db, "UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = '2021-01-23 12:00:00' WHERE CMINMSGS_ID = 2")
	run(t, db, "SET STATEMENT sql_mode = '' FOR UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = '0000-00-00 00:00:00' WHERE CMINMSGS_ID = 3")
	marked := evidence.Arrival{ID: 2, Marked: true, Mark: "2021-01-23 12:00:00"}
	tests := []struct {
		after, last int64
		limit       int
		want        []evidence.Arrival
	}{
		{0, 5, 10, []evidence.Arrival{{ID: 1}, marked, {ID: 3}, {ID: 5}}},
		{1, 6, 2, []evidence.Arrival{marked, {ID: 3}}},
		{3, 4, 10, nil},
	}
	for _, tt := range tests {
		got, err := m.Arrivals(t.Context(), tt.after, tt.last, tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("after %d up to %d, at most %d (-want +got):\n%s", tt.after, tt.last, tt.limit, d)
		}
	}
}
