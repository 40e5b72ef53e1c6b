package mailbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/tools/stack/stacktest"
)

var noon = time.Date(2021, 1, 23, 4, 0, 0, 999e6, time.UTC) // 12:00:00 at the airport

func marks(t *testing.T, db *sql.DB) map[int64]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT CMINMSGS_ID, CONCAT(IFNULL(CAST(CMINMSGS_DATE_PROCESSED AS CHAR), 'NULL'), ' ', CMINMSGS_STATUS) FROM CMINMSGS")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[int64]string{}
	for rows.Next() {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			t.Fatal(err)
		}
		found[id] = text
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// Drivers are told either how many rows matched or how many changed.
func bothCounts(t *testing.T, test func(t *testing.T, dsn string)) {
	for _, found := range []bool{false, true} {
		t.Run(fmt.Sprintf("clientFoundRows=%v", found), func(t *testing.T) {
			test(t, stacktest.Mailbox(t)+fmt.Sprintf("&clientFoundRows=%v", found))
		})
	}
}

func TestMarkAll(t *testing.T) {
	bothCounts(t, func(t *testing.T, dsn string) {
		m, db := open(t, config(dsn)), owner(t, dsn)
		for id := range int64(6) {
			put(t, db, id+1, "<a/>")
		}
		run(t, db, "UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = '2020-01-01 00:00:00', CMINMSGS_STATUS = 'OTHER' WHERE CMINMSGS_ID = 2")
		// Marked at the very second and with the very status that we write.
		run(t, db, "UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = '2021-01-23 12:00:00', CMINMSGS_STATUS = 'PROCESSED' WHERE CMINMSGS_ID = 3")
		run(t, db, "SET STATEMENT sql_mode = '' FOR UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = '0000-00-00 00:00:00' WHERE CMINMSGS_ID = 4")
		got, err := m.MarkAll(t.Context(), []int64{99, 1, 2, 3, 4, 5, 1}, noon)
		if err != nil {
			t.Fatal(err)
		}
		want := map[int64]message.MarkResult{
			1: message.MarkWritten, 2: message.MarkAlready, 3: message.MarkAlready, 4: message.MarkWritten, 5: message.MarkWritten, 99: message.MarkMissing,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		after := map[int64]string{
			1: "2021-01-23 12:00:00 PROCESSED", 2: "2020-01-01 00:00:00 OTHER", 3: "2021-01-23 12:00:00 PROCESSED",
			4: "2021-01-23 12:00:00 PROCESSED", 5: "2021-01-23 12:00:00 PROCESSED", 6: "NULL VALID",
		}
		if diff := cmp.Diff(after, marks(t, db)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		again, err := m.MarkAll(t.Context(), []int64{1, 2, 99}, noon)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[int64]message.MarkResult{1: message.MarkAlready, 2: message.MarkAlready, 99: message.MarkMissing}, again); diff != "" {
			t.Errorf("once more (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(after, marks(t, db)); diff != "" {
			t.Errorf("rows after once more (-want +got):\n%s", diff)
		}
	})
}

func TestMarkLeavesTheStatusAlone(t *testing.T) {
	dsn := stacktest.Mailbox(t)
	c := config(dsn)
	c.ProcessedStatus = ""
	m, db := open(t, c), owner(t, dsn)
	put(t, db, 1, "<a/>")
	if got, err := m.MarkAll(t.Context(), []int64{1}, noon); err != nil || got[1] != message.MarkWritten {
		t.Fatalf("%v, %v", got, err)
	}
	if got := marks(t, db)[1]; got != "2021-01-23 12:00:00 VALID" {
		t.Errorf("row: %s", got)
	}
}

// Somebody else holds rows 1 to 3 while we mark: one gets their mark, one is
// removed, one stays as it was. Our statement has read them as empty by then.
func TestMarkIsOvertaken(t *testing.T) {
	bothCounts(t, func(t *testing.T, dsn string) {
		m, db := open(t, config(dsn)), owner(t, dsn)
		for id := range int64(4) {
			put(t, db, id+1, "<a/>")
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		run(t, tx, "UPDATE CMINMSGS SET CMINMSGS_DATE_PROCESSED = '2020-01-01 00:00:00' WHERE CMINMSGS_ID = 1")
		run(t, tx, "DELETE FROM CMINMSGS WHERE CMINMSGS_ID = 2")
		run(t, tx, "UPDATE CMINMSGS SET CMINMSGS_STATUS = 'SEEN' WHERE CMINMSGS_ID = 3")
		type answer struct {
			results map[int64]message.MarkResult
			err     error
		}
		answers := make(chan answer, 1)
		go func() {
			results, err := m.MarkAll(context.Background(), []int64{1, 2, 3, 4}, noon)
			answers <- answer{results, err}
		}()
		waitForUpdate(t, db)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		got := <-answers
		if got.err != nil {
			t.Fatal(got.err)
		}
		want := map[int64]message.MarkResult{1: message.MarkAlready, 2: message.MarkMissing, 3: message.MarkWritten, 4: message.MarkWritten}
		if diff := cmp.Diff(want, got.results); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if got := marks(t, db)[1]; got != "2020-01-01 00:00:00 VALID" {
			t.Errorf("the other's mark was overwritten: %s", got)
		}
	})
}

// waitForUpdate returns when a marking statement has begun, and so has read before which rows are empty.
func waitForUpdate(t *testing.T, db *sql.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		var updating int
		err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'UPDATE `CMINMSGS`%'").Scan(&updating)
		if err != nil {
			t.Fatalf("wait for the marking statement: %v", err)
		}
		if updating > 0 {
			return
		}
	}
}

func TestALockThatIsHeldIsNotAnUnavailableServer(t *testing.T) {
	dsn := stacktest.Mailbox(t)
	m, db := open(t, config(dsn)), owner(t, dsn)
	put(t, db, 1, "<a/>")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	run(t, tx, "UPDATE CMINMSGS SET CMINMSGS_STATUS = 'SEEN' WHERE CMINMSGS_ID = 1")
	if got, err := m.MarkAll(t.Context(), []int64{1}, noon); err == nil || errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("%v, %v, want an error about the row", got, err)
	}
}

func TestMarkersAtTheSameTimeWriteEachRowOnce(t *testing.T) {
	dsn := stacktest.Mailbox(t)
	db := owner(t, dsn)
	var all []int64
	for id := range int64(60) {
		put(t, db, id+1, "<a/>")
		all = append(all, id+1)
	}
	const markers = 3
	results := make([]map[int64]message.MarkResult, markers)
	var group sync.WaitGroup
	for i := range markers {
		m := open(t, config(dsn))
		group.Go(func() {
			var err error
			// Each with a second of its own, so that one can see whose mark is there.
			if results[i], err = m.MarkAll(context.Background(), all, noon.Add(time.Duration(i)*time.Second)); err != nil {
				t.Errorf("marker %d: %v", i, err)
			}
		})
	}
	group.Wait()
	final := marks(t, db)
	for _, id := range all {
		writers := 0
		for i := range markers {
			switch results[i][id] {
			case message.MarkWritten:
				writers++
				if want := fmt.Sprintf("2021-01-23 12:00:0%d PROCESSED", i); final[id] != want {
					t.Errorf("id %d: marker %d says it wrote, but the row says %s", id, i, final[id])
				}
			case message.MarkAlready:
			default:
				t.Errorf("id %d: marker %d got %q", id, i, results[i][id])
			}
		}
		if writers != 1 {
			t.Errorf("id %d was written by %d markers, want 1", id, writers)
		}
	}
}
