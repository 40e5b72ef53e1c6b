package store

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
)

// longReader leaves what a long run under an open report does: all that was finished since it began is dead and
// cannot be removed, in the table and in the indexes of what is unfinished.
const longReader = `
SET LOCAL statement_timeout = 0;
INSERT INTO inbox_cursor (watermark, updated_at) VALUES (30010, now());
INSERT INTO proc_state (msg_id, enqueued_at, updated_at, out_of_turn) SELECT n, now(), now(), false FROM generate_series(1, 30010) n;`

const afterwards = `
SET LOCAL statement_timeout = 0;
UPDATE proc_state SET state = 'SUCCEEDED', decision_no = msg_id, kind = 'FLOP-STND', owes_mark = false WHERE msg_id <= 30000;`

var buffers = regexp.MustCompile(`Buffers: shared hit=(\d+)(?: read=(\d+))?`)

// wholeHistory matches a range of all messages, which is short only as long as the last decision is near.
var wholeHistory = regexp.MustCompile(`using proc_state_pkey on .*\n *Index Cond: .*[<>]=`)

// Looking for the head does not become slower with all that was finished since a long reader began.
func TestTheHeadIsFoundUnderALongReader(t *testing.T) {
	s, _ := fresh(t)
	if _, err := s.pool.Exec(t.Context(), longReader); err != nil {
		t.Fatal(err)
	}
	reader, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Rollback(t.Context())
	if _, err := reader.Exec(t.Context(), `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET LOCAL idle_in_transaction_session_timeout = 0; SELECT count(*) FROM inbox_cursor`); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{afterwards, `VACUUM ANALYZE proc_state`} {
		if _, err := s.pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	headIsNear(t, s, 30001)
}

// Nor does it read all of history when the last decision was that of an old message.
func TestTheHeadIsFoundAfterAReplay(t *testing.T) {
	s, _ := fresh(t)
	for _, statement := range []string{
		history, `UPDATE proc_state SET decision_no = 1000000, out_of_turn = true WHERE msg_id = 5`, `VACUUM ANALYZE proc_state`,
	} {
		if _, err := s.pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	headIsNear(t, s, 60001)
}

// headIsNear looks at how the head is found.
func headIsNear(t *testing.T, s *Store, head int64) {
	t.Helper()
	conn, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for i, tt := range []struct{ name, sql, arguments string }{
		{"heads", sqlHeads, "10"},
		{"claim of the head", sqlClaimHead, fmt.Sprintf("%d, 'A|B|C|7'", head)},
		{"settle", sqlSettle, fmt.Sprintf("0, %d, 'SKIPPED', NULL, NULL, 'x', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, now(), now(), false, false, NULL, NULL, NULL, false, 0", head)},
	} {
		prepare(t, conn, fmt.Sprintf("long%d", i), tt.sql, tt.arguments)
		plan := explain(t, conn, fmt.Sprintf("EXPLAIN (ANALYZE, BUFFERS) EXECUTE long%d(%s)", i, tt.arguments))
		if wholeHistory.MatchString(plan) {
			t.Errorf("%s: a range of the whole history is read, want the index of what is unfinished:\n%s", tt.name, plan)
		}
		pages := 0
		for _, n := range buffers.FindStringSubmatch(plan)[1:] { // of the topmost node, which counts those below
			more, _ := strconv.Atoi(n)
			pages += more
		}
		if pages > 100 {
			t.Errorf("%s: %d pages are read, want a few whatever was finished:\n%s", tt.name, pages, plan)
		}
	}
}

// What comes out of turn is found wherever it is, also below the message that was decided last.
func TestMessagesOutOfTurnAreHeads(t *testing.T) {
	for _, tt := range []struct {
		name, change string
		want         int64
	}{
		{"in turn", `SELECT`, 4},
		{"a dead message comes back", `UPDATE proc_state SET state = 'PENDING', out_of_turn = true WHERE msg_id = 2`, 2},
		{"a late row is enqueued by hand", `INSERT INTO proc_state (msg_id, enqueued_at, updated_at) VALUES (1, now(), now())`, 1},
		{"one that came back has failed", `UPDATE proc_state SET state = 'FAILED', error_class = 'INFRA', out_of_turn = true WHERE msg_id = 2`, 2},
		{"one that came back was decided last", `UPDATE proc_state SET state = 'SUCCEEDED', decision_no = 2, out_of_turn = true WHERE msg_id = 2`, 4},
		{"nothing was ever decided", `DELETE FROM proc_state WHERE msg_id = 3`, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := fresh(t)
			for _, statement := range []string{
				`INSERT INTO inbox_cursor (watermark, updated_at) VALUES (6, now())`,
				`INSERT INTO proc_state (msg_id, enqueued_at, updated_at, out_of_turn, state, decision_no, error_class) VALUES
					(2, now(), now(), false, 'DEAD', NULL, 'EXHAUSTED'), (3, now(), now(), false, 'SUCCEEDED', 1, NULL),
					(4, now(), now(), false, 'PENDING', NULL, NULL), (5, now(), now(), false, 'PENDING', NULL, NULL), (7, now(), now(), false, 'PENDING', NULL, NULL)`,
				tt.change,
			} {
				if _, err := s.pool.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			heads, _, beyond, err := s.Heads(t.Context(), 1)
			if err != nil || len(heads) != 1 || heads[0].MsgID != tt.want || beyond != 7 {
				t.Errorf("heads %v beyond %d, %v; want message %d, 7 beyond", heads, beyond, err, tt.want)
			}
			for _, id := range []int64{tt.want, 5} {
				if smallest := claimed(t, s, id); smallest != (id == tt.want) {
					t.Errorf("message %d is the smallest unfinished one: %t", id, smallest)
				}
			}
		})
	}
}

// claimed tells whether a claim takes a message for the head.
func claimed(t *testing.T, s *Store, id int64) (smallest bool) {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), sqlClaimHead, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	smallest, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (bool, error) {
		smallest, isBool := false, false
		values, err := row.Values()
		if err == nil {
			smallest, isBool = values[7].(bool)
		}
		if err == nil && !isBool {
			err = fmt.Errorf("the eighth column is %v", values[7])
		}
		return smallest, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return smallest
}

// Nothing brings a dead message back without saying that it is out of turn.
func TestDeadMessagesComeBackOutOfTurn(t *testing.T) {
	s, _ := fresh(t)
	if _, err := s.pool.Exec(t.Context(), `INSERT INTO proc_state (msg_id, enqueued_at, updated_at, out_of_turn, state, error_class) VALUES (2, now(), now(), false, 'DEAD', 'EXHAUSTED')`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(t.Context(), `UPDATE proc_state SET state = 'PENDING' WHERE msg_id = 2`); err == nil {
		t.Error("a dead message is PENDING again, and in turn: want a refusal")
	}
}
