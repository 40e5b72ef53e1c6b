package daemon_test

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"msgx/engine/audit"
)

// a lists the lines that a corruption concerns.
func a(lines ...audit.Invariant) []audit.Invariant { return lines }

// corruptions are at least one for each line; message 1 brings flights 7001 to 7003, 2 and 7 set 7001's stand.
var corruptions = []corruption{
	{name: "two decisions in the wrong order", want: a(audit.Order), finding: "decision 3: found message 2, after decision 2 of message 3",
		sql: `UPDATE proc_state SET decision_no = 100000 WHERE msg_id = 2;
UPDATE proc_state SET decision_no = 2 WHERE msg_id = 3;
UPDATE proc_state SET decision_no = 3 WHERE msg_id = 2`},
	{name: "a gap in the numbers of decisions", want: a(audit.Order), finding: "the last decision on record",
		sql: `UPDATE pipeline_lock SET decision_no = decision_no + 1`},
	{name: "two decisions out of turn, a replay on record", want: nil,
		sql: `UPDATE proc_state SET decision_no = 100000 WHERE msg_id = 2;
UPDATE proc_state SET decision_no = 2 WHERE msg_id = 3;
UPDATE proc_state SET decision_no = 3 WHERE msg_id = 2;
INSERT INTO operator_log (at, who, action, subject, reason) VALUES (now(), 'someone', 'replay', 'message 2', 'repaired')`},
	{name: "a message that was passed over", want: a(audit.Order), finding: "message 8: found unfinished, and message 9 is",
		sql:  `UPDATE proc_state SET state = 'PENDING', skip_reason = NULL, backfill_at = NULL, backfill_next_at = NULL WHERE msg_id = 8`,
		mail: `UPDATE MAIL SET CMINMSGS_DATE_PROCESSED = NULL WHERE CMINMSGS_ID = 8`},
	{name: "two messages that are tried at once", want: a(audit.Order), finding: "tried, and so is message",
		sql: `INSERT INTO proc_state (msg_id, state, error_class, attempts, enqueued_at, updated_at)
			SELECT c.watermark + n, 'FAILED', 'INFRA', 1, now(), now() FROM inbox_cursor c, generate_series(1, 2) n`},
	{name: "a record that is lost", want: a(audit.Watermark), finding: "1 rows in the mailbox",
		sql: `DELETE FROM proc_state WHERE msg_id = (SELECT min(msg_id) FROM proc_state WHERE state = 'SKIPPED')`},
	{name: "the first record is lost", want: a(audit.Order, audit.Watermark), finding: "id 1: found 1 rows in the mailbox",
		sql: `DELETE FROM proc_state WHERE msg_id = 1`},
	{name: "the last record is lost", want: a(audit.Watermark), finding: "no record and no released hole",
		sql: `UPDATE inbox_cursor SET watermark = watermark + 2`},
	{name: "a watermark that went back", want: a(audit.Watermark), finding: "above the watermark",
		sql: `UPDATE inbox_cursor SET watermark = watermark - 2`},
	{name: "a hole that nobody released", want: a(audit.Watermark), finding: "no record and no released hole",
		sql: `DELETE FROM inbox_hole`},
	{name: "a row in a released hole", want: a(audit.Watermark), finding: "a row in a hole that was released",
		mail: `INSERT INTO MAIL (CMINMSGS_ID, CMINMSGS_CLOB_MSG) SELECT m.CMINMSGS_ID + 1, '<MSG/>' FROM CMINMSGS m
			LEFT JOIN CMINMSGS n ON n.CMINMSGS_ID = m.CMINMSGS_ID + 1 WHERE n.CMINMSGS_ID IS NULL ORDER BY m.CMINMSGS_ID LIMIT 1`},
	{name: "a row in a released hole, on record as late", want: nil,
		sql: `INSERT INTO inbox_hole (first_id, last_id, first_seen, outcome, outcome_at) SELECT first_id, last_id, now(), 'late', now() FROM inbox_hole WHERE outcome = 'aged'`,
		mail: `INSERT INTO MAIL (CMINMSGS_ID, CMINMSGS_CLOB_MSG) SELECT m.CMINMSGS_ID + 1, '<MSG/>' FROM CMINMSGS m
			LEFT JOIN CMINMSGS n ON n.CMINMSGS_ID = m.CMINMSGS_ID + 1 WHERE n.CMINMSGS_ID IS NULL ORDER BY m.CMINMSGS_ID LIMIT 1`},
	{name: "an identity bound twice", want: a(audit.Identity), finding: "holds too",
		sql: `ALTER TABLE proc_state DROP CONSTRAINT proc_state_identity_key_key;
UPDATE proc_state SET identity_key = (SELECT identity_key FROM proc_state WHERE msg_id = 2) WHERE msg_id = 3`},
	{name: "an identity that is lost", want: a(audit.Identity), finding: "no identity bound",
		sql: `UPDATE proc_state SET identity_key = NULL WHERE msg_id = 3`},
	{name: "an identity that is another one", want: a(audit.Identity), rebuild: true, finding: "AODB|FLOP|STND|900003, as the message has it",
		sql: `UPDATE proc_state SET identity_key = 'AODB|FLOP|STND|1' WHERE msg_id = 3`},
	{name: "details of a flight that is not known", want: a(audit.Together), finding: "flight 424242: found rows in [flight_gtdt]",
		sql: `INSERT INTO flight_gtdt (flid, ordinal, gate) VALUES (424242, 1, '5')`},
	{name: "a state without its change", want: a(audit.Together), finding: `flight 7001 STND: found the state has "99", expected "14"`,
		sql: `UPDATE flight_schd SET stnd = '99' WHERE flid = 7001`},
	{name: "a detail without its change", want: a(audit.Together), finding: "flight 7001 GTDT",
		sql: `INSERT INTO flight_gtdt (flid, ordinal, gate) VALUES (7001, 1, '5')`},
	{name: "a change without its state", want: a(audit.Together), finding: "flight 7001 version",
		sql: `UPDATE flight_change SET changed = replace(changed::text, '"14"', '"15"')::json WHERE flid = 7001 AND msg_id = 7`},
	{name: "a body that was not decided", want: a(audit.Together), finding: "our copy of the body",
		sql: `UPDATE raw_message SET body = 'x' WHERE msg_id = 3`},
	{name: "an outcome without the intent to mark", want: a(audit.Together), finding: "without a mark, a mark due",
		sql: `UPDATE proc_state SET backfill_at = NULL, backfill_next_at = NULL WHERE msg_id = 3`},
	{name: "a history of a message that failed", want: a(audit.Together), finding: "which is SKIPPED",
		sql: `UPDATE flight_change SET msg_id = s.id FROM (SELECT min(msg_id) AS id FROM proc_state WHERE state = 'SKIPPED') s WHERE flid = 7001 AND state_version = 2;
UPDATE msg_event SET msg_id = s.id FROM (SELECT min(msg_id) AS id FROM proc_state WHERE state = 'SKIPPED') s WHERE flid = 7001 AND state_version = 2`},
	{name: "a success turned into a failure", want: a(audit.Terminal), finding: "DEAD with decision",
		sql: `UPDATE proc_state SET state = 'DEAD', error_class = 'INFRA' WHERE msg_id = 3`},
	{name: "a mark that is gone", want: a(audit.Marks), finding: "no mark in the mailbox",
		mail: `UPDATE MAIL SET CMINMSGS_DATE_PROCESSED = NULL WHERE CMINMSGS_ID = 3`},
	{name: "a mark before the decision", want: a(audit.Marks), finding: "PENDING, and its row is marked",
		sql: `INSERT INTO proc_state (msg_id, enqueued_at, updated_at) SELECT watermark + 1, now(), now() FROM inbox_cursor;
UPDATE inbox_cursor SET watermark = watermark + 1`,
		mail: `INSERT INTO MAIL (CMINMSGS_ID, CMINMSGS_CLOB_MSG, CMINMSGS_DATE_PROCESSED) SELECT max(CMINMSGS_ID) + 1, '<MSG/>', '2026-03-01 08:00:00' FROM CMINMSGS`},
	{name: "a confirmed mark of an unfinished message", want: a(audit.Terminal), finding: "PENDING, and its mark was confirmed",
		sql: `INSERT INTO proc_state (msg_id, enqueued_at, updated_at, backfill_at) SELECT watermark + 1, now(), now(), now() FROM inbox_cursor`},
	{name: "an operation day that changed", want: a(audit.OperationDay), finding: "flight 7001 OPERATION_DAY",
		sql: `UPDATE flight_schd SET operation_day = '2026-03-02' WHERE flid = 7001`},
	{name: "a version without history", want: a(audit.Versions), finding: "flight 7001 version 2: found no history",
		sql: `DELETE FROM flight_change WHERE flid = 7001 AND state_version = 2`},
	{name: "a version without an event", want: a(audit.Versions, audit.Delivery), finding: "flight 7001 version 2: found 0 events",
		sql: `DELETE FROM msg_event WHERE flid = 7001 AND state_version = 2 AND target = 'KAFKA:msg'`},
	{name: "a version with two events", want: a(audit.Versions), finding: "flight 7001 version 2: found 2 events",
		sql: `INSERT INTO msg_event (target, partition_key, event_type, flid, state_version, msg_id, kind, ruleset, payload, created_at)
			SELECT target, partition_key, event_type, flid, state_version, msg_id, kind, ruleset, payload, created_at FROM msg_event
			WHERE flid = 7001 AND state_version = 2 AND target = 'KAFKA:msg'`},
	{name: "a state without a version", want: a(audit.Versions), finding: "history ends with version",
		sql: `UPDATE flight_schd SET state_version = state_version + 1 WHERE flid = 7001;
UPDATE msg_event SET state_version = state_version + 1, state = 'PENDING', sent_at = NULL WHERE flid = 7001 AND target = 'KAFKA:schd'`},
	{name: "a schedule that altered a flight it did not carry", want: a(audit.Schedules), finding: "flights altered",
		sql: `UPDATE schd_snap_log SET carried = 2 WHERE msg_id = 1`},
	{name: "a rejected schedule that changed a flight", want: a(audit.Schedules), finding: "DEAD(PROTOCOL)",
		sql: `UPDATE proc_state SET state = 'DEAD', error_class = 'PROTOCOL', decision_no = NULL, identity_key = NULL WHERE msg_id = (SELECT max(msg_id) FROM flight_change);
UPDATE pipeline_lock SET decision_no = (SELECT max(decision_no) FROM proc_state)`},
	{name: "a script beyond its footprint", want: a(audit.Footprint), finding: "STND changed by",
		sql: `UPDATE flight_change SET script = (SELECT script FROM flight_change WHERE script LIKE 'fdel%' LIMIT 1) WHERE flid = 7001 AND msg_id = 7`},
	{name: "a deletion without a tombstone", want: a(audit.Deletions, audit.Delivery), finding: "flight 7003 version",
		sql: `DELETE FROM msg_event WHERE flid = 7003 AND target = 'KAFKA:msg' AND event_type = 'TOMBSTONE'`},
	{name: "a half-deleted master", want: a(audit.Together, audit.Deletions, audit.Delivery), finding: "its child 7102 was not",
		sql: `DELETE FROM msg_event WHERE flid = 7102 AND state_version = 2;
DELETE FROM flight_change WHERE flid = 7102 AND state_version = 2;
UPDATE flight_schd SET state = 'ACTIVE', state_version = 1, last_msg_id = 5 WHERE flid = 7102`},
	{name: "a member that MAFL does not list", want: a(audit.Together, audit.Members), finding: "12 flight 7001 MAFL",
		sql: `UPDATE flight_schd SET maid = 7001 WHERE flid = (SELECT min(flid) FROM flight_schd WHERE flid > 8000 AND state = 'ACTIVE' AND maid IS NULL
			AND NOT EXISTS (SELECT FROM flight_schd c WHERE c.maid = flight_schd.flid))`},
	{name: "MAFL of a version that is past", want: a(audit.Together, audit.Members), finding: "after decision",
		sql: `UPDATE flight_change SET changed = replace(changed::text, 'ZH7002', 'ZH7777')::json WHERE flid = 7001`},
	{name: "a purged row that was not marked", want: a(audit.EvidenceFirst), finding: "its row is gone from the mailbox",
		sql: `INSERT INTO proc_state (msg_id, state, skip_reason, enqueued_at, updated_at, backfill_next_at)
			SELECT watermark + 1, 'SKIPPED', 'x', now(), now(), now() FROM inbox_cursor;
UPDATE inbox_cursor SET watermark = watermark + 1`},
	{name: "a flight that is gone", want: a(audit.Members, audit.EvidenceFirst), finding: "flight 7002: found no row",
		sql: `DELETE FROM flight_schd WHERE flid = 7002`},
	{name: "history that retention has removed", want: nil,
		sql: `DELETE FROM flight_change WHERE flid = 7002 AND state_version = 1;
UPDATE flight_schd SET created_at = now() - interval '100 days' WHERE flid = 7002`},
	{name: "an event that retention has removed", want: nil, topic: "kafka.msg-topic",
		sql: `DELETE FROM msg_event WHERE flid = 7002 AND state_version = 1 AND target = 'KAFKA:msg';
UPDATE flight_change SET changed_at = now() - interval '8 days' WHERE flid = 7002 AND state_version = 1`,
		change: func(r []*kgo.Record) []*kgo.Record {
			first := indexOf(r, "7002", 0)
			r[first] = header(r[first], "created_at", "2020-01-01T00:00:00Z")
			return r
		}},
	{name: "an archive without evidence", want: a(audit.EvidenceFirst), finding: "neither confirmed nor reconciled",
		sql: `INSERT INTO proc_state_hst (msg_id, state, identity_key, kind, body_sha256, decision_no, ruleset, script, attempts, enqueued_at, updated_at, owes_mark, backfill_attempts, backfill_next_at, archived_at)
			SELECT msg_id, state, identity_key, kind, body_sha256, decision_no, ruleset, script, attempts, enqueued_at, updated_at, true, 0, now(), now() FROM proc_state WHERE msg_id = 3;
UPDATE proc_state SET state = 'ARCHIVED', decision_no = NULL WHERE msg_id = 3`},
	{name: "an archive that lost a record", want: a(audit.Order, audit.EvidenceFirst), finding: "the archive does not have it",
		sql: `UPDATE proc_state SET state = 'ARCHIVED', decision_no = NULL WHERE msg_id = 3`},
	{name: "a row purged after its mark", want: nil, mail: `DELETE FROM MAIL WHERE CMINMSGS_ID = 3`},
	{name: "a beat beyond the lease", want: a(audit.Fencing), finding: "a beat of epoch",
		sql: `UPDATE instance_heartbeat SET epoch = epoch + 1`},
	{name: "a state that no decision makes", want: a(audit.Together, audit.Rebuild), rebuild: true, finding: `16 flight 7001 STND: found "99", expected "14"`,
		sql: `UPDATE flight_schd SET stnd = '99' WHERE flid = 7001`},
	{name: "reference data that no decision makes", want: a(audit.Rebuild), rebuild: true, finding: "16 reference ABDG K1",
		sql: `UPDATE ref_master SET value = '{"ABCD":"K2"}' WHERE rkey = 'K1'`},
	{name: "reference data of a message that did not succeed", want: a(audit.Together), finding: "4 reference ABDG K1",
		sql: `UPDATE ref_master SET msg_id = 8 WHERE rkey = 'K1'`},
	{name: "an event that tells other changes", want: a(audit.Together, audit.Delivery), finding: "tells other changes than the history row",
		sql: `UPDATE msg_event SET payload = replace(payload::text, '"11"', '"19"')::json WHERE flid = 7001 AND state_version = 2 AND target = 'KAFKA:msg'`},
	{name: "a latest state that is another one", want: a(audit.Together, audit.Delivery), finding: "4 flight 7001 STND: found KAFKA:schd tells",
		sql: `UPDATE msg_event SET payload = replace(payload::text, '"14"', '"19"')::json WHERE flid = 7001 AND target = 'KAFKA:schd'`},
	{name: "a deletion told as a change", want: a(audit.Deletions), finding: "told by event",
		sql: `UPDATE msg_event SET event_type = 'UPSERT' WHERE flid = 7003 AND target = 'KAFKA:msg' AND event_type = 'TOMBSTONE'`},
	{name: "events in another order than versions", want: a(audit.Delivery), finding: "events in the order of versions",
		sql: `UPDATE msg_event SET event_id = -1, state = 'PENDING', sent_at = NULL WHERE flid = 7002 AND state_version = 2 AND target = 'KAFKA:msg'`},

	{name: "a change that the topic has lost", topic: "kafka.msg-topic", want: a(audit.Delivery), finding: "is not in the topic",
		change: func(r []*kgo.Record) []*kgo.Record { return slices.Delete(r, 5, 6) }},
	{name: "a change that nobody sent", topic: "kafka.msg-topic", want: a(audit.Delivery), finding: "event 99999999",
		change: func(r []*kgo.Record) []*kgo.Record { return append(r, header(r[0], "event_id", "99999999")) }},
	{name: "a record of somebody else", topic: "kafka.msg-topic", want: a(audit.Delivery), finding: "no event id",
		change: func(r []*kgo.Record) []*kgo.Record { return append(r, header(r[0], "event_id", "")) }},
	{name: "a change with another payload", topic: "kafka.msg-topic", want: a(audit.Delivery), finding: "another payload",
		change: func(r []*kgo.Record) []*kgo.Record {
			forged := *r[3]
			forged.Value = []byte(`{"type":"UPSERT"}`)
			r[3] = &forged
			return r
		}},
	{name: "two changes in the wrong order", topic: "kafka.msg-topic", want: a(audit.Delivery), finding: "for the first time, after version",
		change: func(r []*kgo.Record) []*kgo.Record {
			x, y := indexOf(r, "7001", 1), indexOf(r, "7001", 2)
			r[x], r[y] = r[y], r[x]
			return r
		}},
	{name: "a change that was delivered twice", topic: "kafka.msg-topic", want: nil,
		change: func(r []*kgo.Record) []*kgo.Record { return append(r, r[0], r[7]) }},
	{name: "a latest state that is stale", topic: "kafka.schd-topic", want: a(audit.Delivery), finding: "the last record is of version",
		change: func(r []*kgo.Record) []*kgo.Record {
			last := r[indexOf(r, "7001", 0)]
			return append(r, header(last, "state_version", "1"))
		}},
	{name: "a latest state that tells something else", topic: "kafka.schd-topic", want: a(audit.Delivery), finding: "tells another state",
		change: func(r []*kgo.Record) []*kgo.Record {
			for i := range r {
				if tell(r[i]).FLID == "7001" {
					forged := *r[i]
					forged.Value = []byte(`{"STND":"13"}`)
					r[i] = &forged
				}
			}
			return r
		}},
	{name: "a latest state that the topic has lost", topic: "kafka.schd-topic", want: a(audit.Delivery), finding: "no record in the topic",
		change: func(r []*kgo.Record) []*kgo.Record {
			return slices.DeleteFunc(r, func(r *kgo.Record) bool { return tell(r).FLID == "7001" })
		}},
	{name: "a tombstone that is none", topic: "kafka.schd-topic", want: a(audit.Delivery), finding: "has a null value: false",
		change: func(r []*kgo.Record) []*kgo.Record {
			for i := range r {
				if tell(r[i]).FLID == "7003" && r[i].Value == nil {
					forged := *r[i]
					forged.Value = []byte(`{}`)
					r[i] = &forged
				}
			}
			return r
		}},
	{name: "the state of a flight that is nobody's", topic: "kafka.schd-topic", want: a(audit.Delivery), finding: "of a flight that is not known",
		change: func(r []*kgo.Record) []*kgo.Record {
			forged := *r[indexOf(r, "7001", 0)]
			forged.Key = []byte("424242")
			return append(r, &forged)
		}},
}
