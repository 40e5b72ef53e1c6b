package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/failpoint"
	"msgx/engine/fault"
)

const (
	sqlPaused = `SELECT subject, value FROM operator_control WHERE control = 'pause'`

	sqlControls = `SELECT subject, value = 'paused', changed_by, reason, changed_at FROM operator_control WHERE control = 'pause'`

	sqlSetControl = `
INSERT INTO operator_control (control, subject, value, changed_by, reason, changed_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (control, subject) DO UPDATE SET
    value = excluded.value, changed_by = excluded.changed_by, reason = excluded.reason, changed_at = excluded.changed_at`

	sqlLogOperator = `INSERT INTO operator_log (at, who, action, subject, reason) VALUES ($1, $2, $3, $4, $5)`

	sqlFact = `SELECT value FROM instance_fact WHERE name = $1`

	sqlSetFact = `
INSERT INTO instance_fact (name, value, set_at) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, set_at = excluded.set_at`
)

// Stages that can be paused.
var Stages = []string{"inbox", "pump", "backfill", "KAFKA:msg", "KAFKA:schd"}

// Paused tells of each stage that an operator ever paused whether it is paused now.
func (s *Store) Paused(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	err := s.read(ctx, "read what is paused", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, sqlPaused)
		if err != nil {
			return err
		}
		var stage, value string
		_, err = pgx.ForEachRow(rows, []any{&stage, &value}, func() error { out[stage] = value == "paused"; return nil })
		return err
	})
	return out, err
}

// Control is whether a stage is paused, and who changed that last; nobody ever has where By is empty.
type Control struct {
	Stage  string    `json:"stage"`
	Paused bool      `json:"paused"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Controls are those of every stage, in the order of Stages.
func (s *Store) Controls(ctx context.Context) ([]Control, error) {
	known, err := list(ctx, s, "read what is paused", sqlControls, func(row pgx.CollectableRow) (c Control, err error) {
		err = row.Scan(&c.Stage, &c.Paused, &c.By, &c.Reason, &c.At)
		c.At = c.At.UTC()
		return c, err
	})
	if err != nil {
		return nil, err
	}
	all := make([]Control, len(Stages))
	for i, stage := range Stages {
		all[i].Stage = stage
		if at := slices.IndexFunc(known, func(c Control) bool { return c.Stage == stage }); at >= 0 {
			all[i] = known[at]
		}
	}
	return all, nil
}

// SetPaused pauses or resumes a stage for every instance, now and after a restart, and
// writes down who did it and why.
func (s *Store) SetPaused(ctx context.Context, stage string, paused bool, who, why string, at time.Time) error {
	value, action := "running", "resume"
	if paused {
		value, action = "paused", "pause"
	}
	op := action + " " + stage
	if !slices.Contains(Stages, stage) {
		return fmt.Errorf("store: %s: %w: no such stage, expected one of %q", op, fault.ErrRefused, Stages)
	}
	who, why = safe(who, nameLimit), safe(why, reasonLimit)
	if who == "" || why == "" {
		return fmt.Errorf("store: %s: %w: it needs a name and a reason", op, fault.ErrRefused)
	}
	err := s.InTx(ctx, failpoint.Pause, func(tx *Tx) error {
		tx.Finally(sqlSetControl, "pause", stage, value, who, why, at)
		tx.Finally(sqlLogOperator, at, who, action, stage, why)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store: %s: %w", op, err)
	}
	return nil
}

// Fact reads a setting that data depend on; false when it was never set.
func (s *Store) Fact(ctx context.Context, name string) (value string, found bool, err error) {
	err = s.read(ctx, "read fact "+name, func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, sqlFact, name).Scan(&value)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		found = err == nil
		return err
	})
	return value, found, err
}

// SetFact keeps a setting that data depend on.
func (w *Writer) SetFact(ctx context.Context, name, value string, at time.Time) error {
	return w.inTx(ctx, failpoint.KeepFact, "keep fact "+name, nil, func(tx *Tx) error {
		tx.Finally(sqlSetFact, name, value, at)
		return nil
	})
}
