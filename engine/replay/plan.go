package replay

import (
	"context"
	"slices"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
)

// Effect is what a message would come to.
type Effect string

// The effects; doc.go tells them apart.
const (
	Change     Effect = "CHANGE"
	Superseded Effect = "SUPERSEDED"
	Nothing    Effect = "NOTHING"
	Fails      Effect = "FAILS"
)

// Forecast is what a message would do if it were decided now.
type Forecast struct {
	Message message.Standing   `json:"message"`
	Effect  Effect             `json:"effect"`
	Kind    string             `json:"kind,omitempty"`
	State   message.State      `json:"state"`
	Class   message.ErrorClass `json:"class,omitempty"`
	Reason  string             `json:"reason,omitempty"` // of a failure or a skip
	Script  string             `json:"script,omitempty"`
	Changes []FlightChange     `json:"changes,omitempty"`
	Refs    int                `json:"references,omitempty"` // how many records of reference data change
	// Later are the last versions that later messages gave the flights which would change.
	Later []message.Touch `json:"later,omitempty"`
	// Overwrites are values that later messages have set and that would be set again.
	Overwrites []Overwrite `json:"overwrites,omitempty"`
	// Named are the flights that the message names, changed or not.
	Named []flight.ID `json:"flights,omitempty"`
}

// FlightChange is one flight that would change.
type FlightChange struct {
	FLID    flight.ID              `json:"flid"`
	Op      decision.Op            `json:"op"`
	Version int64                  `json:"version"`
	Changed []decision.FieldChange `json:"changed"`
}

// Overwrite is a value of a flight that a later message has set.
type Overwrite struct {
	FLID  flight.ID `json:"flid"`
	Path  string    `json:"path"`
	MsgID int64     `json:"msg_id"`
}

// Plan is what would be sent through again, and what would not and why.
type Plan struct {
	Forecasts []Forecast     `json:"messages"`
	Left      []message.Left `json:"left_out"`
}

// laterLimit bounds how many later versions of one flight are told.
const laterLimit = 3

// Plan says what each of the messages would do, in the order of their ids, and leaves out those
// that may not be sent through. It changes nothing.
func (r *Replay) Plan(ctx context.Context, wanted []message.Standing) (Plan, error) {
	p := Plan{Forecasts: []Forecast{}, Left: []message.Left{}}
	trial := rehearse.New(r.Decoder, r.Judge, r.Clock.Now, rehearse.World{})
	for _, m := range inOrder(wanted) {
		if reason := r.Leave(m); reason != "" {
			p.Left = append(p.Left, message.Left{MsgID: m.MsgID, Reason: reason})
			continue
		}
		f, reason, err := r.foresee(ctx, trial, m)
		if err != nil {
			return Plan{}, err
		}
		if reason != "" {
			p.Left = append(p.Left, message.Left{MsgID: m.MsgID, Reason: reason})
			continue
		}
		p.Forecasts = append(p.Forecasts, f)
	}
	return p, nil
}

// Foresee says what one message would do if it were decided now, whatever its state; a reason says
// why that cannot be told.
func (r *Replay) Foresee(ctx context.Context, m message.Standing) (f Forecast, reason string, err error) {
	return r.foresee(ctx, rehearse.New(r.Decoder, r.Judge, r.Clock.Now, rehearse.World{}), m)
}

func inOrder(messages []message.Standing) []message.Standing {
	return slices.SortedFunc(slices.Values(messages), func(a, b message.Standing) int { return int(a.MsgID - b.MsgID) })
}

// foresee lets the trial meet what the message names, and runs the message in it.
func (r *Replay) foresee(ctx context.Context, trial *rehearse.Rehearsal, m message.Standing) (f Forecast, reason string, err error) {
	raw, reason, err := r.body(ctx, m.MsgID)
	if err != nil || reason != "" {
		return f, reason, err
	}
	f.Message = m
	if msg, broken := r.Decoder.Decode(raw); broken == nil {
		claim := r.Judge.Claim(msg)
		f.Named = claim.Flights
		if err := r.meet(ctx, trial, m, claim); err != nil {
			return f, "", err
		}
	}
	settled := trial.Run(raw).Settlement
	f.Kind, f.Script = settled.Kind, settled.Script
	f.State, f.Class, f.Reason = settled.Outcome.State, settled.Outcome.Class, settled.Outcome.Reason
	f.Refs = len(settled.Effects.Refs)
	for _, a := range settled.Effects.Advances {
		f.Changes = append(f.Changes, FlightChange{a.After.ID, a.Op, a.After.Version, a.Changed})
	}
	if err := r.compare(ctx, &f); err != nil {
		return f, "", err
	}
	f.Effect = f.effect()
	return f, "", nil
}

// meet reads what the claim names. The identity of a message that has bound one is its own.
func (r *Replay) meet(ctx context.Context, trial *rehearse.Rehearsal, m message.Standing, claim decision.Claim) error {
	view, err := r.Store.Look(ctx, claim)
	if err != nil {
		return err
	}
	world := rehearse.World{Flights: view.Flights, Refs: view.Refs, LastVersions: view.LastVersions}
	if claim.Identity != "" && claim.Identity != m.Identity {
		if world.Bound, err = r.Store.Holders(ctx, []string{claim.Identity}); err != nil {
			return err
		}
		if r.IdentityMemory > 0 {
			for identity, holder := range world.Bound {
				if holder.EnqueuedAt.Before(r.Clock.Now().Add(-r.IdentityMemory)) {
					delete(world.Bound, identity)
				}
			}
		}
	}
	trial.Meet(world)
	return nil
}

// compare finds what later messages have done to the flights that would change.
func (r *Replay) compare(ctx context.Context, f *Forecast) (err error) {
	if len(f.Changes) == 0 {
		return nil
	}
	ids := make([]flight.ID, len(f.Changes))
	changes := map[flight.ID]map[string]bool{}
	for i, c := range f.Changes {
		ids[i], changes[c.FLID] = c.FLID, map[string]bool{}
		for _, field := range c.Changed {
			changes[c.FLID][field.Path] = true
		}
	}
	if f.Later, err = r.Store.Touches(ctx, ids, f.Message.MsgID, laterLimit); err != nil {
		return err
	}
	told := map[Overwrite]bool{}
	for _, t := range f.Later {
		for _, path := range t.Paths {
			key := Overwrite{FLID: t.FLID, Path: path}
			if changes[t.FLID][path] && !told[key] { // the newest first: that is whose value would be lost
				told[key] = true
				f.Overwrites = append(f.Overwrites, Overwrite{t.FLID, path, t.MsgID})
			}
		}
	}
	return nil
}

func (f *Forecast) effect() Effect {
	switch {
	case f.State == message.Failed || f.State == message.Dead:
		return Fails
	case len(f.Changes) == 0 && f.Refs == 0:
		return Nothing
	case len(f.Later) > 0:
		return Superseded
	}
	return Change
}
