package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/decision"
	"msgx/engine/flight"
)

// pastFlights are flights as they stood before a message.
type pastFlights struct {
	states map[flight.ID]*flight.State
	// lastVersions is of the flights without a row, as in decision.View.
	lastVersions map[flight.ID]int64
	done         map[flight.ID]bool
}

// pastChange is one version of a flight, seen from the message that is looked at.
type pastChange struct {
	id       flight.ID
	version  int64
	msgID    int64
	op       decision.Op
	at       time.Time
	enqueued time.Time // its message
	after    *bool     // came with the message or after it; nil when nobody can tell
	changed  []decision.FieldChange
}

// rebuild adds flights as they stood then, those of the ids and those that are related to them today and
// wanted. What is known already is not read again.
func (r *rebuilding) rebuild(ctx context.Context, out *pastFlights, ids []flight.ID, wanted func(*flight.State) bool) error {
	var today decision.View
	var b pgx.Batch
	r.store.flights.queueLoad(&b, nil, ids, &today)
	if err := r.tx.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	missing := map[flight.ID]bool{}
	for id, s := range today.Flights {
		if !out.done[id] && wanted(s) {
			missing[id] = true
		}
	}
	for _, id := range ids {
		if !out.done[id] {
			missing[id] = true
		}
	}
	wantedIDs := slices.Sorted(maps.Keys(missing))
	changes, err := r.changes(ctx, wantedIDs)
	if err != nil {
		return err
	}
	for _, id := range wantedIDs {
		out.done[id] = true
		state, last, err := r.before(id, today.Flights[id], today.LastVersions[id], changes[id])
		if err != nil {
			return err
		}
		if state != nil {
			out.states[id] = state
		} else if last > 0 {
			out.lastVersions[id] = last
		}
	}
	return nil
}

func (r *rebuilding) changes(ctx context.Context, ids []flight.ID) (map[flight.ID][]pastChange, error) {
	out := map[flight.ID][]pastChange{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := r.tx.Query(ctx, sqlPastChanges, bigints(ids), r.claim.MsgID, r.message.number)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, scanPastChange)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		out[c.id] = append(out[c.id], c)
	}
	return out, nil
}

func scanPastChange(row pgx.CollectableRow) (c pastChange, err error) {
	var id int64
	var changed *string
	if err := row.Scan(&id, &c.version, &c.msgID, &c.op, &c.at, &c.enqueued, &c.after, &changed); err != nil {
		return c, err
	}
	c.id = flight.ID(id)
	if changed != nil {
		err = json.Unmarshal([]byte(*changed), &c.changed)
	}
	return c, err
}

// before takes the later versions back from the state of today, the newest first. A flight that had no
// row then is nil, with the highest version it was known to have had.
func (r *rebuilding) before(id flight.ID, today *flight.State, lastVersion int64, changes []pastChange) (*flight.State, int64, error) {
	what := "flight " + id.String()
	if err := r.inOrder(what, changes); err != nil {
		return nil, 0, err
	}
	if today == nil {
		return r.removed(what, lastVersion, changes)
	}
	s := today.Clone()
	s.Members = nil
	for _, c := range changes {
		if c.version != s.Version {
			return nil, 0, r.lost(what, LossPruned, fmt.Sprintf("version %d is missing", s.Version))
		}
		if !*c.after {
			s.LastMsgID, s.UpdatedAt = c.msgID, c.at.UTC()
			return s, 0, nil
		}
		if c.op == decision.Create {
			if c.version > 1 && c.msgID != r.claim.MsgID {
				return nil, 0, r.lost(what, LossArchived, fmt.Sprintf("it came back as version %d", c.version))
			}
			return nil, c.version - 1, nil
		}
		var err error
		if s, err = decision.Undo(r.store.flights.catalogue, s, c.changed); err != nil {
			return nil, 0, r.lost(what, LossBroken, fmt.Sprintf("version %d: %v", c.version, err))
		}
		s.Version = c.version - 1
	}
	return nil, 0, r.lost(what, LossPruned, fmt.Sprintf("version %d is missing", s.Version))
}

// removed is a flight that has no row today: it had none then either if it came and went since.
func (r *rebuilding) removed(what string, lastVersion int64, changes []pastChange) (*flight.State, int64, error) {
	if len(changes) == 0 && lastVersion == 0 {
		return nil, 0, nil
	}
	if n := len(changes); n > 0 && *changes[n-1].after && changes[n-1].version == 1 {
		return nil, 0, nil
	}
	return nil, 0, r.lost(what, LossArchived, "")
}

// inOrder holds the versions of a flight, the newest first, to one order with the message: first those that
// came after it, then those before. Ids are the order of deciding unless a message came late, which shows in the times.
func (r *rebuilding) inOrder(what string, changes []pastChange) error {
	for i, c := range changes {
		late := c.after == nil || i > 0 && *c.after && !*changes[i-1].after
		if !late && r.message.number == nil {
			if *c.after {
				late = c.msgID != r.claim.MsgID && c.at.Before(r.message.enqueued)
			} else {
				late = r.message.started != nil && c.enqueued.After(*r.message.started)
			}
		}
		if late {
			return r.lost(what, LossOrder, fmt.Sprintf("version %d is of message %d", c.version, c.msgID))
		}
	}
	return nil
}
