package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/flight"
)

const sqlFlightHistory = `
SELECT c.flid, c.state_version, c.msg_id, c.kind, c.op, c.ruleset, c.script, c.changed_at, c.changed::text
FROM flight_change c
WHERE c.flid = $1 AND ($3::bigint IS NULL OR c.state_version < $3)
ORDER BY c.state_version DESC
LIMIT $2`

// Flight is the complete current state of a flight, MAFL included; fault.ErrNotFound if it has no row.
func (s *Store) Flight(ctx context.Context, id flight.ID) (*flight.State, error) {
	op := fmt.Sprintf("read flight %d", id)
	var view decision.View
	err := s.read(ctx, op, func(ctx context.Context) error {
		var b pgx.Batch
		s.flights.queueLoad(&b, []flight.ID{id}, nil, &view)
		return s.pool.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		return nil, err
	}
	if view.Flights[id] == nil {
		return nil, fmt.Errorf("store: %s: %w", op, fault.ErrNotFound)
	}
	return view.Flights[id], nil
}

// FlightChange is one version of a flight: what changed, through which message and rule.
type FlightChange struct {
	FLID    flight.ID              `json:"flid"`
	Version int64                  `json:"version"`
	MsgID   int64                  `json:"msg_id"`
	Kind    string                 `json:"kind"`
	Op      decision.Op            `json:"op"`
	Ruleset string                 `json:"ruleset"`
	Script  string                 `json:"script"`
	At      time.Time              `json:"at"`
	Changed []decision.FieldChange `json:"changed"`
}

// FlightHistory lists the versions of a flight before one, the newest first; before 0 begins with the latest.
func (s *Store) FlightHistory(ctx context.Context, id flight.ID, before int64, limit int) ([]FlightChange, error) {
	var below *int64
	if before > 0 {
		below = &before
	}
	return list(ctx, s, fmt.Sprintf("read the history of flight %d", id), sqlFlightHistory, scanChange, int64(id), limit, below)
}
