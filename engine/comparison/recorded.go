package comparison

import (
	"maps"
	"slices"
	"time"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
)

// Recorded compares over messages that a daemon has decided, each on what it was decided on.
// It holds the flights on which the two rule sets have come apart, and no others.
type Recorded struct {
	Name     string
	Decoder  rehearse.Decoder
	Old, New rehearse.Judge
	Traced   Traced // nil: differences are not followed to their branch
	// Before gives what a message was decided on: the flights and reference data of the claim, and the holder
	// of its identity. Lost tells an error that only means that this one message cannot be compared.
	Before func(decision.Claim) (decision.Claimed, error)
	Lost   func(error) bool

	comparer *Comparer
	parting  *parting
	apart    map[flight.ID]pair
}

// pair is a flight as each rule set would have left it; nil where it would not be there.
type pair struct{ old, newer *flight.State }

// maxSuch bounds the messages that are named because they could not be compared.
const maxSuch = 10

// Recorded begins a comparison over recorded messages. End has to be called after the last.
func (c *Comparer) Recorded(r Recorded) *Recorded {
	r.comparer, r.parting, r.apart = c, &parting{load: r.Traced}, map[flight.ID]pair{}
	return &r
}

// Add compares the next message. An error ends the comparison.
func (r *Recorded) Add(raw message.Raw) error {
	at := r.comparer.now()
	msg, err := r.Decoder.Decode(raw)
	if err != nil {
		old, newer := r.Old.Broken(raw, err, at), r.New.Broken(raw, err, at)
		return r.comparer.message(r.Name, raw, &old, &newer, func(_, _ *decision.Settlement) (*Branch, error) { return nil, nil }) //nolint:nilnil // no rule is asked
	}
	claim := r.claim(msg)
	claimed, err := r.Before(claim)
	switch {
	case err != nil && r.Lost(err):
		r.Untold(raw.MsgID, err.Error())
		return nil
	case err != nil:
		return err
	}
	old, newer := r.Old.Judge(msg, claimed, at), r.New.Judge(msg, claimed, at)
	err = r.comparer.message(r.Name, raw, &old, &newer, func(old, newer *decision.Settlement) (*Branch, error) {
		return r.parting.follow(msg, claimed.View, old, newer)
	})
	if err != nil {
		return err
	}
	r.goOn(msg, claim, claimed, &old, &newer, at)
	return nil
}

// Untold counts a message that cannot be compared.
func (r *Recorded) Untold(msgID int64, why string) {
	report := &r.comparer.report
	report.Untold++
	if len(report.Such) < maxSuch {
		report.Such = append(report.Such, Untold{MsgID: msgID, Why: why})
	}
}

// claim names what either rule set reads, and the masters that flights have on either side.
func (r *Recorded) claim(msg *message.Message) decision.Claim {
	claim, other := r.Old.Claim(msg), r.New.Claim(msg)
	for _, typ := range other.RefTypes {
		if !slices.Contains(claim.RefTypes, typ) {
			claim.RefTypes = append(slices.Clone(claim.RefTypes), typ)
		}
	}
	for _, id := range claim.Flights {
		p := r.apart[id]
		for _, s := range []*flight.State{p.old, p.newer} {
			if s == nil {
				continue
			}
			if master, child := s.Master(); child && !slices.Contains(claim.Masters, master) {
				claim.Masters = append(slices.Clone(claim.Masters), master)
			}
		}
	}
	return claim
}

// goOn lets each rule set decide over what it would have made itself, where that is not what was there, and
// keeps the flights that the two leave differently.
func (r *Recorded) goOn(msg *message.Message, claim decision.Claim, claimed decision.Claimed, old, newer *decision.Settlement, at time.Time) {
	oldView, met := r.overlay(claim, claimed.View, func(p pair) *flight.State { return p.old })
	newView, _ := r.overlay(claim, claimed.View, func(p pair) *flight.State { return p.newer })
	if met {
		with := claimed
		with.View = oldView
		again := r.Old.Judge(msg, with, at)
		with.View = newView
		other := r.New.Judge(msg, with, at)
		old, newer = &again, &other
	}
	oldAfter, newAfter := afterwards(oldView, old), afterwards(newView, newer)
	ids := maps.Clone(oldAfter)
	maps.Copy(ids, newAfter)
	for id := range ids {
		if len(differing(oldAfter[id], newAfter[id])) > 0 {
			r.apart[id] = pair{oldAfter[id], newAfter[id]}
		} else {
			delete(r.apart, id)
		}
	}
}

// overlay is a view with the flights of one side that are apart in place of those that were there.
func (r *Recorded) overlay(claim decision.Claim, view decision.View, side func(pair) *flight.State) (decision.View, bool) {
	if len(r.apart) == 0 {
		return view, false
	}
	kin := map[flight.ID]bool{}
	for _, id := range slices.Concat(claim.Flights, claim.Masters) {
		kin[id] = true
	}
	out, met := view, false
	out.Flights = maps.Clone(view.Flights)
	for id, p := range r.apart {
		s := side(p)
		_, seen := view.Flights[id]
		if s != nil {
			master, child := s.Master()
			seen = seen || child && kin[master]
		}
		if !seen && !kin[id] {
			continue
		}
		met = true
		if s == nil {
			delete(out.Flights, id)
		} else {
			out.Flights[id] = s
		}
	}
	return out, met
}

// afterwards is the flights of a view with what a settlement made of them.
func afterwards(view decision.View, s *decision.Settlement) map[flight.ID]*flight.State {
	out := maps.Clone(view.Flights)
	if out == nil {
		out = map[flight.ID]*flight.State{}
	}
	for i := range s.Effects.Advances {
		out[s.Effects.Advances[i].After.ID] = s.Effects.Advances[i].After
	}
	return out
}

// End tells which flights the two rule sets leave differently.
func (r *Recorded) End() {
	for _, id := range slices.Sorted(maps.Keys(r.apart)) {
		p := r.apart[id]
		r.comparer.report.Finals = append(r.comparer.report.Finals, Final{Sequence: r.Name, FLID: id.String(), Paths: differing(p.old, p.newer)})
	}
}
