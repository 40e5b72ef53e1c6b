package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
)

const (
	// An archived record is shadowed by what is left of it in proc_state.
	sqlPastMessage = `
SELECT COALESCE(h.state, p.state), COALESCE(h.decision_no, p.decision_no), p.enqueued_at,
    COALESCE(h.processing_started_at, p.processing_started_at), COALESCE(h.skip_reason, p.skip_reason, ''),
    COALESCE(h.body_sha256, p.body_sha256, '')
FROM proc_state p LEFT JOIN proc_state_hst h ON h.msg_id = p.msg_id
WHERE p.msg_id = $1`

	// Every version of the flights, and whether it came with message $2 or after it. By number where the
	// message has one ($3), for numbers are given in the order of deciding; by id otherwise. What changed is
	// only needed of the later ones.
	sqlPastChanges = `
SELECT c.flid, c.state_version, c.msg_id, c.op, c.changed_at, COALESCE(p.enqueued_at, c.changed_at), o.after,
    CASE WHEN o.after THEN c.changed::text END
FROM flight_change c
LEFT JOIN proc_state p ON p.msg_id = c.msg_id
LEFT JOIN proc_state_hst h ON h.msg_id = c.msg_id
CROSS JOIN LATERAL (SELECT CASE WHEN $3::bigint IS NULL THEN c.msg_id >= $2
    ELSE COALESCE(h.decision_no, p.decision_no) >= $3 END) AS o (after)
WHERE c.flid = ANY ($1::bigint[])
ORDER BY c.flid, c.state_version DESC`

	// The form of the condition is that of the index flight_change_former_master.
	sqlFormerChildren = `
SELECT DISTINCT c.flid FROM flight_change c
WHERE strpos(c.changed::text, '"path":"MAID","before":"') > 0
    AND substring(c.changed::text from '"path":"MAID","before":"([0-9]+)"') = ANY ($1::text[])`

	// Flights that were children and have been removed since leave nothing else behind.
	sqlRemovedChildren = `
SELECT h.flid FROM flight_hst h
WHERE h.removed_at >= $2 AND h.document ->> 'MAID' = ANY ($1::text[])
LIMIT 1`

	sqlReferenceSince = `
SELECT p.msg_id, p.kind FROM proc_state p
WHERE p.msg_id >= $2 AND p.state = 'SUCCEEDED' AND p.kind = ANY ($1::text[]) AND ($3::bigint IS NULL OR p.decision_no >= $3)
ORDER BY p.msg_id
LIMIT 1`
)

// Past is what a message was judged on.
type Past struct {
	View decision.View
	// Holder is the record that held the identity already; nil when it was free.
	Holder *message.Binding
}

// Loss says why the database cannot tell how something was.
type Loss string

// The losses.
const (
	LossUndecided   Loss = "not decided yet"
	LossArchived    Loss = "removed from the current state since"
	LossPruned      Loss = "its history is not kept that far back"
	LossOverwritten Loss = "overwritten since"
	LossOrder       Loss = "a message came late, so the order of deciding is not on record"
	LossBroken      Loss = "its history does not fit its state"
)

// LostError says what it is of the state before a message that the database cannot tell (any more).
type LostError struct {
	MsgID  int64
	What   string // "flight 1000345", "reference data SLST", "message 17"
	Loss   Loss
	Detail string // "" when there is nothing to add
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("%s cannot be told: %s", e.What, e.Loss)
	if e.Detail != "" {
		text += ", " + e.Detail
	}
	return text
}

// ViewBefore rebuilds what a message that has been tried was judged on: the flights that the claim
// names, their masters and all their children as they stood before it, the reference data that its script reads,
// and the record that held its identity. The claim is that of the decoded message.
//
// The state is exact, or there is a *LostError. fault.ErrNotFound: the message was never enqueued.
func (s *Store) ViewBefore(ctx context.Context, claim decision.Claim) (past Past, err error) {
	err = s.read(ctx, fmt.Sprintf("rebuild what message %d was decided on", claim.MsgID), func(ctx context.Context) error {
		tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // it only reads
		r := &rebuilding{store: s, tx: tx, claim: claim}
		past, err = r.run(ctx)
		return err
	})
	return past, err
}

// rebuilding is the state before one message being put together, in one snapshot of the database.
type rebuilding struct {
	store   *Store
	tx      pgx.Tx
	claim   decision.Claim
	message pastMessage
}

// pastMessage is what the record of a message says of its place in the order.
type pastMessage struct {
	state      message.State
	number     *int64 // of its decision, nil when nothing was applied
	enqueued   time.Time
	started    *time.Time
	skipReason string
	sha256     string
}

func (r *rebuilding) lost(what string, loss Loss, detail string) error {
	return &LostError{MsgID: r.claim.MsgID, What: what, Loss: loss, Detail: detail}
}

func (r *rebuilding) run(ctx context.Context) (past Past, err error) {
	if r.message, err = r.record(ctx, r.claim.MsgID); err != nil {
		return past, err
	}
	if r.message.state == message.Pending {
		return past, r.lost(fmt.Sprintf("message %d", r.claim.MsgID), LossUndecided, "")
	}
	if past.Holder, err = r.holder(ctx); err != nil {
		return past, err
	}
	past.View.Flights = map[flight.ID]*flight.State{}
	if len(r.claim.Flights)+len(r.claim.Masters) > 0 {
		if err := r.family(ctx, &past.View); err != nil {
			return past, err
		}
	}
	if len(r.claim.RefTypes) > 0 {
		return past, r.references(ctx, &past.View)
	}
	return past, nil
}

func (r *rebuilding) record(ctx context.Context, msgID int64) (m pastMessage, err error) {
	err = r.tx.QueryRow(ctx, sqlPastMessage, msgID).Scan(&m.state, &m.number, &m.enqueued, &m.started, &m.skipReason, &m.sha256)
	return m, err
}

// holder is the original of a duplicate.
func (r *rebuilding) holder(ctx context.Context) (*message.Binding, error) {
	text, duplicate := strings.CutPrefix(r.message.skipReason, "duplicate-of:")
	if !duplicate {
		return nil, nil //nolint:nilnil // free is an answer
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("skip reason %q: %w", r.message.skipReason, err)
	}
	m, err := r.record(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, r.lost("message "+text, LossArchived, "")
	}
	if err != nil {
		return nil, err
	}
	return &message.Binding{MsgID: id, State: m.state, BodySHA256: m.sha256, EnqueuedAt: m.enqueued.UTC()}, nil
}

// family rebuilds the flights as the load statement would have found them: those named, their
// masters then, and every flight whose MAID was one of those then.
func (r *rebuilding) family(ctx context.Context, view *decision.View) error {
	found := &pastFlights{states: map[flight.ID]*flight.State{}, lastVersions: map[flight.ID]int64{}, done: map[flight.ID]bool{}}
	kin := map[flight.ID]bool{}
	ofKin := func(s *flight.State) bool { master, child := s.Master(); return child && kin[master] }
	stated := slices.Concat(r.claim.Flights, r.claim.Masters)
	for _, id := range stated {
		kin[id] = true
	}
	if err := r.rebuild(ctx, found, stated, ofKin); err != nil {
		return err
	}
	for _, id := range r.claim.Flights {
		if s := found.states[id]; s != nil {
			if master, child := s.Master(); child {
				kin[master] = true
			}
		}
	}
	more, err := r.formerChildren(ctx, kin)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(kin)) {
		if !found.done[id] {
			more = append(more, id)
		}
	}
	if len(more) > 0 {
		if err := r.rebuild(ctx, found, more, ofKin); err != nil {
			return err
		}
	}
	for id, s := range found.states {
		if kin[id] || ofKin(s) {
			view.Flights[id] = s
		}
	}
	for id, version := range found.lastVersions {
		if kin[id] {
			if view.LastVersions == nil {
				view.LastVersions = map[flight.ID]int64{}
			}
			view.LastVersions[id] = version
		}
	}
	deriveMembers(view.Flights)
	return nil
}

func (r *rebuilding) formerChildren(ctx context.Context, kin map[flight.ID]bool) ([]flight.ID, error) {
	texts := make([]string, 0, len(kin))
	for id := range kin {
		texts = append(texts, id.String())
	}
	rows, err := r.tx.Query(ctx, sqlFormerChildren, texts)
	if err != nil {
		return nil, err
	}
	former, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	var removed int64
	err = r.tx.QueryRow(ctx, sqlRemovedChildren, texts, r.message.enqueued).Scan(&removed)
	switch {
	case err == nil:
		return nil, r.lost("flight "+flight.ID(removed).String(), LossArchived, "")
	case !errors.Is(err, pgx.ErrNoRows):
		return nil, err
	}
	out := make([]flight.ID, len(former))
	for i, id := range former {
		out[i] = flight.ID(id)
	}
	return out, nil
}

// references gives the reference data of the types that are read. Only the latest of each is
// kept, so a message about the type since leaves nothing to tell.
func (r *rebuilding) references(ctx context.Context, view *decision.View) error {
	kinds := make([]string, len(r.claim.RefTypes))
	for i, typ := range r.claim.RefTypes {
		kinds[i] = "REF-" + typ
	}
	var since int64
	var kind string
	err := r.tx.QueryRow(ctx, sqlReferenceSince, kinds, r.claim.MsgID, r.message.number).Scan(&since, &kind)
	switch {
	case err == nil:
		return r.lost("reference data "+strings.TrimPrefix(kind, "REF-"), LossOverwritten, fmt.Sprintf("by message %d", since))
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	rows, err := r.tx.Query(ctx, sqlReferences, r.claim.RefTypes)
	if err != nil {
		return err
	}
	return scanReferences(rows, view)
}
