package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
)

const (
	sqlMessage = `
SELECT p.msg_id, p.state, COALESCE(p.identity_key, ''), COALESCE(p.kind, ''), COALESCE(p.body_sha256, ''), COALESCE(p.decision_no, 0),
    COALESCE(p.ruleset, ''), COALESCE(p.script, ''), p.notes::text,
    COALESCE(p.error_class, ''), COALESCE(p.last_error, ''), COALESCE(p.skip_reason, ''), p.attempts, p.next_attempt_at,
    p.received_at, p.enqueued_at, p.processing_started_at, p.updated_at,
    p.owes_mark, p.backfill_next_at, p.backfill_attempts, p.backfill_first_failed_at, COALESCE(p.backfill_last_error, ''), p.backfill_at,
    p.backfill_abandoned_at, COALESCE(p.backfill_abandoned_reason, ''), p.backfill_reconciled_at, COALESCE(p.backfill_reconciled_by, '')
FROM proc_state p WHERE p.msg_id = $1`

	sqlMessageFlights = `
SELECT c.flid, c.state_version, c.msg_id, c.kind, c.op, c.ruleset, c.script, c.changed_at, c.changed::text
FROM flight_change c
WHERE c.msg_id = $1
ORDER BY c.flid`

	sqlMessageEvents = `
SELECT e.event_id, e.target, e.partition_key, e.event_type, e.state_version, e.state, e.attempts, COALESCE(e.last_error, ''),
    e.created_at, e.sent_at, COALESCE(e.topic, ''), COALESCE(e.topic_partition, 0), COALESCE(e.topic_offset, 0)
FROM msg_event e
WHERE e.msg_id = $1
ORDER BY e.event_id`
)

// Record is all that is known of one message: arrived, enqueued, decided, marked, delivered.
type Record struct {
	MsgID      int64            `json:"msg_id"`
	State      message.State    `json:"state"`
	Identity   string           `json:"identity,omitempty"`
	Kind       string           `json:"kind,omitempty"`
	SHA256     string           `json:"sha256,omitempty"`
	DecisionNo int64            `json:"decision_no,omitempty"`
	Decided    RecordDecision   `json:"decided"`
	Failure    RecordFailure    `json:"failure"`
	Times      RecordTimes      `json:"times"`
	Mark       RecordMark       `json:"mark"`
	Changes    []FlightChange   `json:"changes,omitempty"`
	Events     []DeliveryRecord `json:"events,omitempty"`
	Actions    []message.Action `json:"actions,omitempty"` // what was done to it by hand, the oldest first
}

// RecordDecision is by which rules a message was decided, and what they left out.
type RecordDecision struct {
	Ruleset string          `json:"ruleset,omitempty"`
	Script  string          `json:"script,omitempty"`
	Notes   []decision.Note `json:"notes,omitempty"`
}

// RecordFailure is why a message failed or was skipped.
type RecordFailure struct {
	Class      message.ErrorClass `json:"class,omitempty"`
	LastError  string             `json:"last_error,omitempty"`
	SkipReason string             `json:"skip_reason,omitempty"`
	Attempts   int                `json:"attempts"`
	NextAt     time.Time          `json:"next_attempt_at,omitzero"`
}

// RecordTimes is when what happened.
type RecordTimes struct {
	Received time.Time `json:"received_at,omitzero"`
	Enqueued time.Time `json:"enqueued_at"`
	Started  time.Time `json:"processing_started_at,omitzero"`
	Updated  time.Time `json:"updated_at"`
}

// RecordMark is what became of the processed mark.
type RecordMark struct {
	Owed            bool      `json:"owed"`
	NextAt          time.Time `json:"next_at,omitzero"`
	Attempts        int       `json:"attempts"`
	FirstFailedAt   time.Time `json:"first_failed_at,omitzero"`
	LastError       string    `json:"last_error,omitempty"`
	ConfirmedAt     time.Time `json:"confirmed_at,omitzero"`
	AbandonedAt     time.Time `json:"abandoned_at,omitzero"`
	AbandonedReason string    `json:"abandoned_reason,omitempty"`
	ReconciledAt    time.Time `json:"reconciled_at,omitzero"`
	ReconciledBy    string    `json:"reconciled_by,omitempty"`
}

// DeliveryRecord is one event of a message and where it is.
type DeliveryRecord struct {
	EventID   int64     `json:"event_id"`
	Target    string    `json:"target"`
	Key       string    `json:"key"`
	Type      string    `json:"type"`
	Version   int64     `json:"version"`
	State     string    `json:"state"`
	Attempts  int       `json:"attempts"`
	LastError string    `json:"last_error,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	SentAt    time.Time `json:"sent_at,omitzero"`
	Topic     string    `json:"topic,omitempty"`
	Partition int       `json:"partition"`
	Offset    int64     `json:"offset"`
}

// Message is all that is known of one message; fault.ErrNotFound if it was never enqueued.
func (s *Store) Message(ctx context.Context, msgID int64) (r Record, err error) {
	err = s.read(ctx, fmt.Sprintf("read message %d", msgID), func(ctx context.Context) error {
		var b pgx.Batch
		b.Queue(sqlMessage, msgID).QueryRow(func(row pgx.Row) error { return scanRecord(row, &r) })
		b.Queue(sqlMessageFlights, msgID).Query(func(rows pgx.Rows) (err error) {
			r.Changes, err = pgx.CollectRows(rows, scanChange)
			return err
		})
		b.Queue(sqlMessageEvents, msgID).Query(func(rows pgx.Rows) (err error) {
			r.Events, err = pgx.CollectRows(rows, scanDelivery)
			return err
		})
		b.Queue(sqlActions, subject(msgID)).Query(func(rows pgx.Rows) (err error) {
			r.Actions, err = pgx.CollectRows(rows, scanAction)
			return err
		})
		return s.pool.SendBatch(ctx, &b).Close()
	})
	return r, err
}

func scanRecord(row pgx.Row, r *Record) error {
	var notes *string
	var next, received, started *time.Time
	var markNext, failed, confirmed, abandoned, reconciled *time.Time
	err := row.Scan(&r.MsgID, &r.State, &r.Identity, &r.Kind, &r.SHA256, &r.DecisionNo, &r.Decided.Ruleset, &r.Decided.Script, &notes,
		&r.Failure.Class, &r.Failure.LastError, &r.Failure.SkipReason, &r.Failure.Attempts, &next,
		&received, &r.Times.Enqueued, &started, &r.Times.Updated,
		&r.Mark.Owed, &markNext, &r.Mark.Attempts, &failed, &r.Mark.LastError, &confirmed,
		&abandoned, &r.Mark.AbandonedReason, &reconciled, &r.Mark.ReconciledBy)
	if err != nil {
		return err
	}
	r.Failure.NextAt, r.Times.Received, r.Times.Started = moment(next), moment(received), moment(started)
	r.Times.Enqueued, r.Times.Updated = r.Times.Enqueued.UTC(), r.Times.Updated.UTC()
	r.Mark.NextAt, r.Mark.FirstFailedAt, r.Mark.ConfirmedAt = moment(markNext), moment(failed), moment(confirmed)
	r.Mark.AbandonedAt, r.Mark.ReconciledAt = moment(abandoned), moment(reconciled)
	if notes != nil {
		return json.Unmarshal([]byte(*notes), &r.Decided.Notes)
	}
	return nil
}

func scanDelivery(row pgx.CollectableRow) (d DeliveryRecord, err error) {
	var sent *time.Time
	err = row.Scan(&d.EventID, &d.Target, &d.Key, &d.Type, &d.Version, &d.State, &d.Attempts, &d.LastError,
		&d.CreatedAt, &sent, &d.Topic, &d.Partition, &d.Offset)
	d.CreatedAt, d.SentAt = d.CreatedAt.UTC(), moment(sent)
	return d, err
}

func scanChange(row pgx.CollectableRow) (c FlightChange, err error) {
	var changed string
	var id int64
	if err := row.Scan(&id, &c.Version, &c.MsgID, &c.Kind, &c.Op, &c.Ruleset, &c.Script, &c.At, &changed); err != nil {
		return c, err
	}
	c.FLID, c.At = flight.ID(id), c.At.UTC()
	return c, json.Unmarshal([]byte(changed), &c.Changed)
}
