package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"msgx/engine/decision"
	"msgx/engine/failpoint"
	"msgx/engine/fault"
	"msgx/engine/message"
)

const (
	// The outcome of a message in one statement: terminal state or failure, the identity unless
	// another message holds it, the intent to mark, our own copy of the body, and the number of an
	// applied decision. $23 tells that the message is known to be the head: within a business transaction it has been
	// locked and found to be, and looking again could miss the row, if a smaller id turned up meanwhile, and part it from
	// the effects. The epoch is held there already and holding it again costs nothing.
	sqlSettle = `
WITH fence AS (
    SELECT epoch FROM instance_lease WHERE epoch = $1 FOR SHARE
), settled AS (
    UPDATE proc_state p SET
        state = $3, error_class = $4, last_error = $5, skip_reason = $6, attempts = $7, next_attempt_at = $8,
        identity_key = CASE
            WHEN p.identity_key IS NOT NULL OR $9::text IS NULL
                OR EXISTS (SELECT FROM proc_state o WHERE o.identity_key = $9) THEN p.identity_key
            ELSE $9 END,
        kind = COALESCE($10, p.kind), body_sha256 = COALESCE($11, p.body_sha256),
        ruleset = COALESCE($12, p.ruleset), script = COALESCE($13, p.script),
        decision_no = $14, notes = $15::json,
        processing_started_at = COALESCE($16, p.processing_started_at), updated_at = $17,
        first_failed_at = CASE WHEN $3 IN ('FAILED', 'DEAD') THEN COALESCE(p.first_failed_at, $17) ELSE p.first_failed_at END,
        owes_mark = $18,
        backfill_next_at = CASE
            WHEN $19::boolean AND $18 AND p.backfill_at IS NULL AND p.backfill_abandoned_at IS NULL THEN $17
            ELSE p.backfill_next_at END
    FROM fence
    WHERE p.msg_id = $2 AND p.state IN ('PENDING', 'FAILED') AND ($23::boolean OR p.attempts = $24)
        AND ($23::boolean OR NOT EXISTS (SELECT FROM proc_state e WHERE e.state IN ('PENDING', 'FAILED') AND e.out_of_turn AND e.msg_id < p.msg_id)
        AND p.msg_id <= COALESCE((SELECT e.msg_id FROM proc_state e WHERE e.state IN ('PENDING', 'FAILED') AND e.msg_id >= COALESCE(
            (SELECT d.msg_id FROM proc_state d WHERE d.decision_no IS NOT NULL ORDER BY d.decision_no DESC LIMIT 1), 0)
            ORDER BY e.msg_id LIMIT 1), p.msg_id))
    RETURNING p.msg_id
), kept AS (
    INSERT INTO raw_message (msg_id, body, characters, sha256, kept_at)
    SELECT s.msg_id, $20::bytea, $21::boolean, $22::text, $17 FROM settled s WHERE $20::bytea IS NOT NULL
    ON CONFLICT (msg_id) DO NOTHING
), numbered AS (
    UPDATE pipeline_lock SET decision_no = $14 FROM settled WHERE $14::bigint IS NOT NULL
)
SELECT (SELECT count(*) FROM fence), (SELECT count(*) FROM settled)`

	// A holder beyond the identity memory gives its identity up.
	sqlForgetIdentity = `
UPDATE proc_state SET identity_key = NULL WHERE identity_key = $1 AND msg_id <> $2 AND enqueued_at < $3`

	sqlSnapshot = `
INSERT INTO schd_snap_log (msg_id, kind, scope_start, scope_end, declared, carried, outcome, reason, recv_at, logged_at)
SELECT p.msg_id, $2, $3, $4, $5, $6, $7, $8, COALESCE(p.received_at, p.enqueued_at), $9 FROM proc_state p WHERE p.msg_id = $1`
)

// Bounds of the texts that messages leave behind, in characters.
const (
	reasonLimit = 2000
	nameLimit   = 200
)

// Settle stores an outcome that changes no flight: MALFORMED, PROTOCOL, SKIPPED, EXHAUSTED, and every
// failure that will be tried again. It is one statement. fault.ErrMoved: the message is not the
// smallest unfinished one (any more), or was sent through again since it was taken up.
func (w *Writer) Settle(ctx context.Context, s decision.Settlement) error {
	op := fmt.Sprintf("settle message %d as %s", s.MsgID, s.Outcome.State)
	if s.Outcome.State == message.Succeeded {
		return fmt.Errorf("store: %s: %w: a success is stored with its decision", op, fault.ErrRefused)
	}
	args, err := w.settleArguments(s, 0, false)
	if err != nil {
		return fmt.Errorf("store: %s: %w", op, err)
	}
	held, settled, err := w.settleAlone(ctx, args)
	switch {
	case err == nil && held == 0:
		err = fault.ErrFenced
	case err == nil && settled == 0:
		err = fmt.Errorf("%w: it is not the smallest unfinished message, or was sent through again", fault.ErrMoved)
	}
	if err != nil {
		return fmt.Errorf("store: %s: %w", op, err)
	}
	return nil
}

// settleAlone runs the statement as a transaction of its own. Like a COMMIT it is not
// interrupted by the caller, and a reply that is lost leaves its outcome in doubt.
func (w *Writer) settleAlone(ctx context.Context, args []any) (held, settled int, err error) {
	conn, err := w.store.pool.Acquire(ctx)
	if err != nil {
		return 0, 0, classify(ctx, err)
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.store.patience)
	defer cancel()
	failpoint.Before(failpoint.Settle)
	err = conn.QueryRow(ctx, sqlSettle, args...).Scan(&held, &settled)
	failpoint.After(failpoint.Settle)
	if err != nil && !refused(err) && !pgconn.SafeToRetry(err) {
		return 0, 0, fmt.Errorf("%w: %w", fault.ErrCommitInDoubt, err)
	}
	return held, settled, classify(ctx, err)
}

// settleWithin queues a settlement to travel with COMMIT. The row has been locked
// and looked at in this transaction, so the update cannot miss it.
func (w *Writer) settleWithin(tx *Tx, s decision.Settlement, lastDecision int64) error {
	args, err := w.settleArguments(s, lastDecision, true)
	if err != nil {
		return err
	}
	tx.Finally(sqlSettle, args...)
	if s.Scope != nil {
		tx.Finally(sqlSnapshot, s.MsgID, safe(s.Kind, nameLimit), optional(s.Scope.FirstDay), optional(s.Scope.LastDay),
			s.Scope.Declared, s.Scope.Carried, string(s.Outcome.State), optional(safe(s.Outcome.Reason, reasonLimit)), s.At)
	}
	if s.Outcome.State != message.Succeeded {
		return nil
	}
	return w.queueEffects(tx, s)
}

// settleArguments are the arguments of sqlSettle. lastDecision counts for a success only.
func (w *Writer) settleArguments(s decision.Settlement, lastDecision int64, isHead bool) ([]any, error) {
	o := s.Outcome
	var class, text, skip, number, next, notes any
	switch o.State {
	case message.Succeeded:
		number = lastDecision + 1
	case message.Skipped:
		skip = safe(o.Reason, reasonLimit)
	case message.Dead:
		class, text = string(o.Class), safe(o.Reason, reasonLimit)
	case message.Failed:
		class, text, next = string(o.Class), safe(o.Reason, reasonLimit), instant(s.NextAt)
	default:
		return nil, fmt.Errorf("outcome %q, expected SUCCEEDED, SKIPPED, DEAD or FAILED", o.State)
	}
	if len(s.Effects.Notes) > 0 {
		encoded, err := json.Marshal(s.Effects.Notes)
		if err != nil {
			return nil, fmt.Errorf("notes: %w", err)
		}
		notes = jsonText(encoded)
	}
	var body []byte
	var characters bool
	var digest *string
	if s.Raw != nil {
		body, characters = s.Raw.Body, s.Raw.Characters
		if body == nil {
			body = []byte{}
		}
		sum := s.SHA256
		if sum == "" {
			sum = s.Raw.SHA256()
		}
		digest = &sum
	}
	return []any{
		w.epoch, s.MsgID, string(o.State), class, text, skip, s.Attempts, next,
		optional(safeKey(s.Identity)), optional(safe(s.Kind, nameLimit)), optional(s.SHA256),
		optional(s.Ruleset), optional(s.Script), number, notes, instant(s.StartedAt), s.At,
		s.OwesMark, o.State.Terminal(), body, characters, digest, isHead, s.Before,
	}, nil
}

// safe makes any text fit to store.
func safe(text string, limit int) string { return message.SafeText(text, limit) }

// safeKey makes an identity fit to store without changing one that is.
func safeKey(identity string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(identity, "\uFFFD"), "\x00", "\uFFFD")
}

// jsonText hands JSON to the driver as it stands; NUL cannot be stored and never is part of JSON.
func jsonText(raw json.RawMessage) *string {
	if raw == nil {
		return nil
	}
	text := string(raw)
	return &text
}
