package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// history fills the tables with what a long run leaves behind, and little that is open.
const history = `
INSERT INTO proc_state (msg_id, state, identity_key, kind, decision_no, enqueued_at, updated_at, attempts, backfill_at)
SELECT n, 'SUCCEEDED', 'A|B|C|' || n, 'FLOP-STND', n, now(), now(), 0, now() FROM generate_series(1, 60000) n;
INSERT INTO proc_state (msg_id, enqueued_at, updated_at) SELECT n, now(), now() FROM generate_series(60001, 60050) n;
INSERT INTO inbox_cursor (watermark, updated_at) VALUES (60050, now());
INSERT INTO proc_state (msg_id, state, skip_reason, enqueued_at, updated_at, backfill_next_at)
SELECT n, 'SKIPPED', 'x', now(), now(), now() FROM generate_series(60051, 60060) n;
INSERT INTO msg_event (target, partition_key, event_type, flid, state_version, msg_id, kind, ruleset, payload, state, created_at, sent_at)
SELECT 'KAFKA:msg', (n % 1000)::text, 'UPSERT', n % 1000, n / 1000 + 1, n, 'X', 'r', '{}', 'SENT', now(), now() FROM generate_series(1, 60000) n;
INSERT INTO msg_event (target, partition_key, event_type, flid, state_version, msg_id, kind, ruleset, payload, state, created_at)
SELECT 'KAFKA:msg', (n % 1000)::text, 'UPSERT', n % 1000, 99, n, 'X', 'r', '{}', 'PENDING', now() FROM generate_series(1, 2000) n;
INSERT INTO flight_schd (flid, state, state_version, last_msg_id, created_at, updated_at)
SELECT n, 'ACTIVE', 1, 1, now(), now() FROM generate_series(1, 20000) n;
INSERT INTO flight_change (flid, state_version, msg_id, kind, op, ruleset, script, changed_at, changed)
SELECT n % 1000, n / 1000 + 1, n, 'X', 'update', 'r', 's', now(), CASE n % 100 WHEN 0 THEN '[{"path":"MAID","before":"7","after":null}]' ELSE '[]' END::json
FROM generate_series(1, 60000) n;
INSERT INTO flight_gtdt (flid, ordinal) SELECT n, 1 FROM generate_series(1, 20000) n;
`

// The statements of the hot paths reach their rows by the index made for them,
// with the one plan that serves all calls, whether it was made on empty tables or on full ones.
func TestHotStatementsUseTheirIndexes(t *testing.T) {
	s, _ := fresh(t)
	empty, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Release()
	tests := []struct {
		name, sql, arguments string
		indexes              []string
	}{
		{"heads", sqlHeads, "10", []string{"proc_state_unfinished", "proc_state_out_of_turn", "proc_state_decision_no"}},
		{"beyond", sqlBeyond, "", []string{"proc_state_unfinished"}},
		{"claim of the head", sqlClaimHead, "60001, 'A|B|C|7'", []string{"proc_state_unfinished", "proc_state_out_of_turn", "proc_state_decision_no", "proc_state_identity_key_key"}},
		{"due marks", sqlDueMarks, "now(), now(), 200", []string{"proc_state_unmarked"}},
		{"dead messages", sqlDead, "0, NULL, NULL, NULL, 100", []string{"proc_state_dead_list"}},
		{"messages of a range", sqlWithin, "1, 100, '{DEAD}', 100", []string{"proc_state_pkey"}},
		{"marks owed", sqlOwedMarks, "NULL, 100", []string{"proc_state_unmarked"}},
		{"marks given up", sqlAbandonedMarks, "false, 100", []string{"proc_state_abandoned_list"}},
		{"what waits", sqlBehind, "60001", []string{"proc_state_unfinished"}},
		{"later versions", sqlTouches, "'{7,8}', 1, 3", []string{"flight_change_pkey"}},
		{"what was done by hand", sqlActions, "'message 7'", []string{"operator_log_subject"}},
		{"next events", sqlNextMsgEvents, "0, 500", []string{"msg_event_msg_unsent"}},
		{"due events", sqlDueMsgEvents, "now(), 500, 0", []string{"msg_event_msg_unsent", "msg_event_waiting_key", "msg_event_waiting_flid"}},
		{"lanes", sqlLanes, "now(), 0, 1000", []string{"msg_event_crossing"}},
		{"due schedule events", sqlDueSchdEvents, "now(), 500, 0", []string{"msg_event_schd_unsent"}},
		{"former children", sqlFormerChildren, "'{7,8}'", []string{"flight_change_former_master"}},
		{"past of flights", sqlPastChanges, "'{7,8}', 30000, 30000", []string{"flight_change_pkey", "proc_state_pkey"}},
		{"messages of a range", sqlTried, "1000, 2000, 500", []string{"proc_state_pkey"}},
		{"flights", s.flights.load, "'{7,8}', '{}'", []string{"flight_schd_pkey", "flight_schd_maid", "flight_gtdt_pkey", "flight_vipt_pkey"}},
	}
	for i, tt := range tests {
		prepare(t, empty, fmt.Sprintf("early%d", i), tt.sql, tt.arguments)
	}
	if _, err := s.pool.Exec(t.Context(), history); err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	full, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer full.Release()
	for i, tt := range tests {
		prepare(t, full, fmt.Sprintf("early%d", i), tt.sql, tt.arguments)
		for when, conn := range map[string]*pgxpool.Conn{"on empty tables": empty, "on full tables": full} {
			plan := explain(t, conn, fmt.Sprintf("EXPLAIN (ANALYZE, TIMING OFF) EXECUTE early%d%s", i, parenthesised(tt.arguments)))
			for _, index := range tt.indexes {
				if !strings.Contains(plan, "using "+index+" ") {
					t.Errorf("%s, planned %s: index %s is not used:\n%s", tt.name, when, index, plan)
				}
			}
			if strings.Contains(plan, "Seq Scan on proc_state") || strings.Contains(plan, "Seq Scan on msg_event") || strings.Contains(plan, "Seq Scan on flight_") {
				t.Errorf("%s, planned %s: a table is read whole:\n%s", tt.name, when, plan)
			}
		}
	}
}

func parenthesised(arguments string) string {
	if arguments == "" {
		return ""
	}
	return "(" + arguments + ")"
}

// prepare makes the plan of a statement, as executing it for the first time does.
func prepare(t *testing.T, conn *pgxpool.Conn, name, sql, arguments string) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), "PREPARE "+name+" AS "+sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	explain(t, conn, "EXPLAIN EXECUTE "+name+parenthesised(arguments))
}

func explain(t *testing.T, conn *pgxpool.Conn, sql string) string {
	t.Helper()
	rows, err := conn.Query(context.Background(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var b strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		b.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return b.String()
}
