package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/rehearse"
)

// firstFrom is the number of the first decision on the message From or a later one.
func (m *maker) firstFrom(ctx context.Context) (int64, error) {
	for after := int64(0); ; {
		found, err := m.snap.Decisions(ctx, after, page)
		if err != nil {
			return 0, err
		}
		if len(found) == 0 {
			return 0, m.stop("no decision on message %d or a later one", m.o.From)
		}
		for i := range found {
			if found[i].MsgID >= m.o.From {
				return found[i].No, nil
			}
		}
		after = found[len(found)-1].No
	}
}

// before is every flight as it was before a decision: its state with all later changes taken back.
func (m *maker) before(ctx context.Context, first int64) (rehearse.World, error) {
	world := rehearse.World{Flights: map[flight.ID]*flight.State{}}
	for after := flight.ID(-1); ; {
		ids, err := m.snap.FlightIDs(ctx, after, 0, 0, flightPage)
		if err != nil || len(ids) == 0 {
			return world, err
		}
		after = ids[len(ids)-1]
		found, err := m.dossiers(ctx, m.snap, ids)
		if err != nil {
			return world, err
		}
		for _, d := range found {
			if d.State == nil {
				continue
			}
			state, err := m.takeBack(d, first)
			if err != nil {
				return world, err
			}
			if state != nil {
				world.Flights[d.ID] = state
			}
		}
	}
}

// takeBack is a flight as it was before a decision, nil when it was not there.
func (m *maker) takeBack(d *dossier, first int64) (*flight.State, error) {
	s := d.State.Clone()
	for i, v := range slices.Backward(d.versions) {
		switch {
		case v.DecisionNo == 0:
			return nil, m.stop("flight %s version %d: the decision that made it is not on record", d.ID, v.Version)
		case v.DecisionNo < first:
			s.LastMsgID = v.MsgID
			return s, nil
		case v.Version != s.Version:
			return nil, m.stop("flight %s: the history of version %d is gone", d.ID, s.Version)
		}
		for _, c := range v.Changed {
			if err := undo(m.n.Catalogue, s, c); err != nil {
				return nil, fmt.Errorf("flight %s version %d: %s: %w", d.ID, v.Version, c.Path, err)
			}
		}
		s.Version--
		if i == 0 && s.Version > 0 {
			s.LastMsgID = 0 // the history before is gone, and nothing asks for it
		}
	}
	if s.Version == 0 {
		return nil, nil
	}
	return s, nil
}

// undo takes one change of a state back.
func undo(cat *catalogue.Catalogue, s *flight.State, c decision.FieldChange) error {
	switch {
	case c.Path == decision.PathState:
		s.Status = flight.Status(plainText(c.Before))
	case c.Path == decision.PathOperationDay:
		s.OperationDay = plainText(c.Before)
	case c.Path == decision.PathMembers:
		s.Members = nil
		if none(c.Before) {
			return nil
		}
		var members []member
		if err := json.Unmarshal(c.Before, &members); err != nil {
			return err
		}
		for _, m := range members {
			id, err := flight.ParseID(m.FLID)
			if err != nil {
				return err
			}
			s.Members = append(s.Members, flight.Member{FLID: id, FLNO: m.FLNO})
		}
	case slices.ContainsFunc(cat.Flight.Lists, func(l catalogue.List) bool { return l.Tag == c.Path }):
		delete(s.Lists, c.Path)
		if none(c.Before) {
			return nil
		}
		records, err := recordsOf(c.Before)
		if err != nil {
			return err
		}
		s.Lists[c.Path] = records
	case none(c.Before):
		delete(s.Fields, c.Path)
	default:
		text, err := scalarOf(c.Before)
		if err != nil {
			return err
		}
		s.Fields[c.Path] = text
	}
	return nil
}

// scalarOf is the canonical text of a published value: a string, or a number as it stands.
func scalarOf(raw json.RawMessage) (text string, err error) {
	if raw[0] != '"' {
		return string(raw), nil
	}
	err = json.Unmarshal(raw, &text)
	return text, err
}

// recordsOf reads a published list: members that are arrays are nested lists.
func recordsOf(raw json.RawMessage) ([]flight.Record, error) {
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, err
	}
	out := make([]flight.Record, len(entries))
	for i, entry := range entries {
		out[i].Fields = flight.Fields{}
		for tag, value := range entry {
			var err error
			if value[0] != '[' {
				out[i].Fields[tag], err = scalarOf(value)
			} else {
				if out[i].Lists == nil {
					out[i].Lists = map[string][]flight.Record{}
				}
				out[i].Lists[tag], err = recordsOf(value)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
