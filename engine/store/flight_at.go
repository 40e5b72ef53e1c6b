package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/flight"
)

// versionsAtOnce bounds how far back a flight is rebuilt: far more versions than one has in its life.
const versionsAtOnce = 20_000

// Moment is a version of a flight, or the one that it had at a time; exactly one of them is set.
type Moment struct {
	Version int64
	Time    time.Time
}

// FlightAt is a flight as it was.
type FlightAt struct {
	State *flight.State // its members are known of the latest version only
	By    FlightChange  // what led to this version
	// Sources are the versions that gave fields, objects' parts and lists the values that they have here, by path. What is
	// not in it has its value from versions that are not kept any more.
	Sources map[string]FlightChange
}

// FlightAt rebuilds a flight as it was at a moment: later versions are taken back from the current state, and each has to fit. The state
// is exact, or there is a *LostError. fault.ErrNotFound: there was no such flight then.
func (s *Store) FlightAt(ctx context.Context, id flight.ID, m Moment) (FlightAt, error) {
	op := fmt.Sprintf("rebuild flight %d", id)
	var view decision.View
	var changes []FlightChange // the newest first
	err := s.read(ctx, op, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			var b pgx.Batch
			s.flights.queueLoad(&b, []flight.ID{id}, nil, &view)
			b.Queue(sqlFlightHistory, int64(id), versionsAtOnce, nil).Query(func(rows pgx.Rows) (err error) {
				changes, err = pgx.CollectRows(rows, scanChange)
				return err
			})
			return tx.SendBatch(ctx, &b).Close()
		})
	})
	if err != nil {
		return FlightAt{}, err
	}
	at, err := s.rebuildAt(view.Flights[id], changes, m)
	var lost *LostError
	switch {
	case errors.As(err, &lost):
		lost.What = "flight " + id.String()
		return at, err
	case err != nil:
		return at, fmt.Errorf("store: %s: %w", op, err)
	}
	return at, nil
}

func (s *Store) rebuildAt(today *flight.State, changes []FlightChange, m Moment) (at FlightAt, err error) {
	if today == nil && len(changes) == 0 {
		return at, fault.ErrNotFound
	}
	place := slices.IndexFunc(changes, func(c FlightChange) bool {
		return m.Version > 0 && c.Version == m.Version || m.Version == 0 && !c.At.After(m.Time)
	})
	switch {
	case today == nil:
		return at, &LostError{Loss: LossArchived}
	case place < 0 && (m.Version > today.Version || len(changes) > 0 && changes[len(changes)-1].Version == 1):
		return at, fault.ErrNotFound
	case place < 0:
		return at, &LostError{Loss: LossPruned}
	}
	state := today
	for _, c := range changes[:place] {
		switch {
		case c.Version != state.Version:
			return at, &LostError{Loss: LossPruned, Detail: fmt.Sprintf("version %d is missing", state.Version)}
		case c.Op == decision.Create:
			return at, &LostError{Loss: LossArchived, Detail: fmt.Sprintf("it came back as version %d", c.Version)}
		}
		if state, err = decision.Undo(s.flights.catalogue, state, c.Changed); err != nil {
			return at, &LostError{Loss: LossBroken, Detail: fmt.Sprintf("version %d: %v", c.Version, err)}
		}
		state.Version = c.Version - 1
	}
	at = FlightAt{State: state, By: changes[place], Sources: map[string]FlightChange{}}
	if at.By.Version != state.Version {
		return FlightAt{}, &LostError{Loss: LossPruned, Detail: fmt.Sprintf("version %d is missing", state.Version)}
	}
	if place > 0 {
		state.LastMsgID, state.UpdatedAt = at.By.MsgID, at.By.At
	}
	for _, c := range changes[place:] {
		for _, f := range c.Changed {
			if _, later := at.Sources[f.Path]; !later {
				at.Sources[f.Path] = c
			}
		}
		if c.Op == decision.Create {
			break // what was before is another life of the flight
		}
	}
	return at, nil
}
