package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/failpoint"
	"msgx/engine/fault"
	"msgx/engine/ruleset"
)

const (
	sqlAskRuleset = `
INSERT INTO ruleset_request (action, hash, who, why, asked_at) VALUES ($1, $2, $3, $4, $5) RETURNING request_id`

	sqlAnswerRequest = `
UPDATE ruleset_request SET answered_at = $2, live = $3, answer = $4, reasons = $5::json WHERE request_id = $1 AND answered_at IS NULL`

	sqlForgetRequests = `
DELETE FROM ruleset_request WHERE answered_at IS NOT NULL
    AND request_id <= (SELECT r.request_id FROM ruleset_request r ORDER BY r.request_id DESC OFFSET $1 LIMIT 1)`

	sqlOpenRequest = `
SELECT r.request_id, r.action, r.hash, r.who, r.why, r.asked_at, r.answered_at, r.live, r.answer, r.reasons::text
FROM ruleset_request r WHERE r.answered_at IS NULL ORDER BY r.request_id LIMIT 1`

	sqlRequest = `
SELECT r.request_id, r.action, r.hash, r.who, r.why, r.asked_at, r.answered_at, r.live, r.answer, r.reasons::text
FROM ruleset_request r WHERE r.request_id = $1`

	sqlRefuseRuleset = `
INSERT INTO ruleset_refusal (at, hash, origin, seen, how, who, why, reasons)
SELECT $1, $2, $3, $4, $5, $6, $7, $8::json
WHERE NOT EXISTS (SELECT FROM ruleset_refusal f WHERE f.at = $1 AND f.seen = $4 AND f.how = $5)`

	sqlForgetRefusals = `
DELETE FROM ruleset_refusal
WHERE refusal_id <= (SELECT f.refusal_id FROM ruleset_refusal f ORDER BY f.refusal_id DESC OFFSET $1 LIMIT 1)`

	sqlRefusals = `
SELECT f.at, f.hash, f.origin, f.seen, f.how, f.who, f.why, f.reasons::text
FROM ruleset_refusal f ORDER BY f.refusal_id DESC LIMIT $1`
)

const (
	keptRequests = 200
	keptRefusals = 200
	// Reasons are for people: so many, each of so many lines, each of so many characters.
	reasonsKept = 50
	linesKept   = 50
	lineLimit   = 300
)

// AskRuleset asks the leader for a rule set, in the name of an operator, and returns the number of the request.
func (s *Store) AskRuleset(ctx context.Context, r ruleset.Request) (id int64, err error) {
	op := "ask for " + string(r.Action)
	r.Who, r.Why = safe(r.Who, nameLimit), safe(r.Why, reasonLimit)
	if r.Who == "" || r.Why == "" {
		return 0, fmt.Errorf("store: %s: %w: it needs a name and a reason", op, fault.ErrRefused)
	}
	err = s.InTx(ctx, failpoint.AskRules, func(tx *Tx) error {
		var b pgx.Batch
		b.Queue(sqlAskRuleset, string(r.Action), r.Hash, r.Who, r.Why, r.At).QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
		if err := tx.Send(ctx, &b); err != nil {
			return err
		}
		tx.Finally(sqlForgetRequests, keptRequests)
		tx.Finally(sqlLogOperator, r.At, r.Who, "rules "+string(r.Action), r.Hash, r.Why)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("store: %s: %w", op, err)
	}
	return id, nil
}

// OpenRequest is the oldest request that nobody has answered; false when there is none.
func (s *Store) OpenRequest(ctx context.Context) (r ruleset.Request, found bool, err error) {
	open, err := list(ctx, s, "read what operators ask", sqlOpenRequest, scanRequest)
	if err != nil || len(open) == 0 {
		return r, false, err
	}
	return open[0], true, nil
}

// RulesetRequest is a request by its number, with its answer; fault.ErrNotFound if there is none.
func (s *Store) RulesetRequest(ctx context.Context, id int64) (ruleset.Request, error) {
	op := fmt.Sprintf("read request %d", id)
	found, err := list(ctx, s, op, sqlRequest, scanRequest, id)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("store: %s: %w", op, fault.ErrNotFound)
	}
	if err != nil {
		return ruleset.Request{}, err
	}
	return found[0], nil
}

func scanRequest(row pgx.CollectableRow) (r ruleset.Request, err error) {
	var answered *time.Time
	var live *bool
	var hash string
	var reasons *string
	if err := row.Scan(&r.ID, &r.Action, &r.Hash, &r.Who, &r.Why, &r.At, &answered, &live, &hash, &reasons); err != nil {
		return r, err
	}
	r.At = r.At.UTC()
	if answered == nil {
		return r, nil
	}
	r.Answer = &ruleset.Answer{Live: *live, Hash: hash, At: answered.UTC()}
	if reasons != nil {
		err = json.Unmarshal([]byte(*reasons), &r.Answer.Reasons)
	}
	return r, err
}

// Refuse records that a rule set was not taken. request is the operator's request that this
// answers, 0 for none.
func (w *Writer) Refuse(ctx context.Context, r ruleset.Refusal, request int64) error {
	reasons, err := encodeReasons(r.Reasons)
	if err != nil {
		return fmt.Errorf("store: refuse a rule set: %w", err)
	}
	return w.inTx(ctx, failpoint.RefuseRules, "refuse a rule set", nil, func(tx *Tx) error {
		tx.Finally(sqlRefuseRuleset, r.At, r.Hash, r.Origin, r.Seen, string(r.How), safe(r.Who, nameLimit), safe(r.Why, reasonLimit), reasons)
		tx.Finally(sqlForgetRefusals, keptRefusals)
		return answer(tx, request, ruleset.Answer{Hash: r.Hash, Reasons: r.Reasons, At: r.At})
	})
}

// answer queues the answer to a request, if there is one.
func answer(tx *Tx, request int64, a ruleset.Answer) error {
	if request == 0 {
		return nil
	}
	reasons, err := encodeReasons(a.Reasons)
	if err != nil {
		return err
	}
	tx.Finally(sqlAnswerRequest, request, a.At, a.Live, a.Hash, reasons)
	return nil
}

// encodeReasons makes reasons safe to store, few, and short.
func encodeReasons(reasons []string) (string, error) {
	kept := []string{}
	for i, r := range reasons {
		if i == reasonsKept {
			kept = append(kept, fmt.Sprintf("and %d more", len(reasons)-i))
			break
		}
		kept = append(kept, safeLines(r))
	}
	encoded, err := json.Marshal(kept)
	return string(encoded), err
}

// safeLines is safe, and keeps lines apart: a difference of many lines is unreadable as one.
func safeLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if more := len(lines) - linesKept; more > 0 {
		lines = append(lines[:linesKept], fmt.Sprintf("… and %d lines more", more))
	}
	for i, line := range lines {
		lines[i] = safe(line, lineLimit)
	}
	return strings.Join(lines, "\n")
}

// RulesetHistory is what went live and what was refused, the latest first.
func (s *Store) RulesetHistory(ctx context.Context, limit int) ([]ruleset.Entry, error) {
	lives, err := list(ctx, s, "read the history of rule sets", sqlLives, scanLive, limit)
	if err != nil {
		return nil, err
	}
	refused, err := list(ctx, s, "read refused rule sets", sqlRefusals, scanRefusal, limit)
	if err != nil {
		return nil, err
	}
	entries := make([]ruleset.Entry, 0, len(lives)+len(refused))
	for i := range lives {
		entries = append(entries, ruleset.Entry{Live: &lives[i]})
	}
	for i := range refused {
		entries = append(entries, ruleset.Entry{Refused: &refused[i]})
	}
	slices.SortStableFunc(entries, func(a, b ruleset.Entry) int { return b.At().Compare(a.At()) })
	return entries[:min(limit, len(entries))], nil
}

func scanRefusal(row pgx.CollectableRow) (r ruleset.Refusal, err error) {
	var reasons string
	if err := row.Scan(&r.At, &r.Hash, &r.Origin, &r.Seen, &r.How, &r.Who, &r.Why, &reasons); err != nil {
		return r, err
	}
	r.At = r.At.UTC()
	return r, json.Unmarshal([]byte(reasons), &r.Reasons)
}
