package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"msgx/engine/decision"
	"msgx/engine/evidence"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
)

// errStop ends a rebuild that cannot go on; why is in the report.
var errStop = errors.New("not comparable")

// bodyBytes bounds the bodies that are read from the mailbox at once.
const bodyBytes = 16 << 20

// maker makes the decisions again, each under the rule set on record.
type maker struct {
	*Audit
	snap Snapshot
	set  *Ruleset
	run  *rehearse.Rehearsal
	// identity is that of the message at hand.
	identity string
	// removed are flights whose rows were removed: what history knew of them does not come again.
	removed map[flight.ID]bool
}

// rebuild makes all decisions again, from the first or from a message on, and compares what
// they come to with the state.
func (a *Audit) rebuild(ctx context.Context, s Snapshot) error {
	if !a.o.Rebuild {
		return nil
	}
	m := &maker{Audit: a, snap: s, removed: map[flight.ID]bool{}}
	first, err := m.start(ctx)
	if err == nil {
		err = m.decide(ctx, first)
	}
	if err == nil {
		err = m.compare(ctx)
	}
	if errors.Is(err, errStop) {
		a.report.Line(Rebuild).Compared = 0
		return nil
	}
	return err
}

func (m *maker) stop(format string, args ...any) error {
	m.report.limit(Rebuild, format, args...)
	return errStop
}

// Decode and the rest make the maker decoder and judge of its own rehearsal: those of the
// rule set that is on record for the decision at hand. The identity is left out, since who holds which
// was settled then.
func (m *maker) Decode(raw message.Raw) (*message.Message, error) { return m.set.Decoder.Decode(raw) }

// Claim names what the message needs, without its identity.
func (m *maker) Claim(msg *message.Message) decision.Claim {
	c := m.set.Judge.Claim(msg)
	c.Identity = ""
	return c
}

// Judge settles a message and binds no identity.
func (m *maker) Judge(msg *message.Message, claimed decision.Claimed, at time.Time) decision.Settlement {
	s := m.set.Judge.Judge(msg, claimed, at)
	m.identity, s.Identity = s.Identity, ""
	return s
}

// Broken settles a message that does not decode any more.
func (m *maker) Broken(raw message.Raw, err error, at time.Time) decision.Settlement {
	return m.set.Judge.Broken(raw, err, at)
}

// start begins with nothing, or with the state before a message as history gives it, and tells
// the number of the first decision to make.
func (m *maker) start(ctx context.Context) (first int64, err error) {
	world := rehearse.World{Flights: map[flight.ID]*flight.State{}}
	first = 1
	if m.o.From > 0 {
		if first, err = m.firstFrom(ctx); err != nil {
			return 0, err
		}
		m.report.limit(Rebuild, "reference data, of which there is no history")
		if world, err = m.before(ctx, first); err != nil {
			return 0, err
		}
	}
	m.run = rehearse.New(m, m, func() time.Time { return m.now }, world)
	return first, nil
}

// decide makes the decisions from one on, in their order.
func (m *maker) decide(ctx context.Context, first int64) error {
	for after := first - 1; ; {
		found, err := m.snap.Decisions(ctx, after, page/10)
		if err != nil || len(found) == 0 {
			return err
		}
		bodies, err := m.bodies(ctx, found)
		if err != nil {
			return err
		}
		for i := range found {
			d := &found[i]
			if d.No != after+1 {
				return m.stop("decision %d is not on record", after+1)
			}
			after = d.No
			raw, there := bodies[d.MsgID]
			if err := m.one(ctx, d, raw, there); err != nil {
				return err
			}
		}
	}
}

// bodies finds what was decided: in our own copies, else in the mailbox.
func (m *maker) bodies(ctx context.Context, decisions []evidence.Decision) (map[int64]message.Raw, error) {
	ids := make([]int64, len(decisions))
	for i := range decisions {
		ids[i] = decisions[i].MsgID
	}
	copies, err := m.snap.Copies(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[int64]message.Raw, len(ids))
	for _, raw := range copies {
		out[raw.MsgID] = raw
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool { _, copied := out[id]; return copied })
	slices.Sort(ids)
	for m.n.Mailbox != nil && len(ids) > 0 {
		raws, last, err := m.n.Mailbox.Bodies(ctx, ids, bodyBytes)
		if err != nil {
			return nil, err
		}
		for _, raw := range raws {
			out[raw.MsgID] = raw
		}
		ids = slices.DeleteFunc(ids, func(id int64) bool { return id <= last })
	}
	return out, nil
}

// one makes one decision again.
func (m *maker) one(ctx context.Context, d *evidence.Decision, raw message.Raw, there bool) (err error) {
	switch m.set, err = m.ruleset(ctx, d.Ruleset); {
	case err != nil:
		return err
	case m.set == nil:
		return m.stop("rule set %s is not at hand (decision %d, message %d)", d.Ruleset, d.No, d.MsgID)
	case !there:
		return m.stop("the body of message %d is gone (decision %d)", d.MsgID, d.No)
	case d.SHA256 != "" && raw.SHA256() != d.SHA256:
		return m.stop("the body of message %d is not the one that was decided (decision %d)", d.MsgID, d.No)
	}
	m.report.compared(Rebuild, 1)
	m.report.count("decisions made again", 1)
	if o := m.run.Run(raw).Settlement.Outcome; o.State != message.Succeeded {
		m.report.broken(Rebuild, fmt.Sprintf("decision %d", d.No), fmt.Sprintf("message %d is %s %s now", d.MsgID, o.State, o.Reason), "SUCCEEDED, as on record")
	} else if d.Identity != "" && d.Identity != m.identity {
		m.report.broken(Identity, place(d.MsgID), "identity "+d.Identity, m.identity+", as the message has it")
	}
	return nil
}

// compare holds the state to what the decisions came to.
func (m *maker) compare(ctx context.Context) error {
	world := m.run.World()
	pending := make(map[flight.ID]bool, len(world.Flights))
	for id := range world.Flights {
		pending[id] = true
	}
	for after := flight.ID(-1); ; {
		ids, err := m.snap.FlightIDs(ctx, after, 0, 0, flightPage)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		after = ids[len(ids)-1]
		found, err := m.snap.Flights(ctx, ids)
		if err != nil {
			return err
		}
		for i := range found {
			f := &found[i]
			delete(pending, f.ID)
			if f.RemovedVersion > 0 {
				m.report.limit(Rebuild, "flights whose rows were removed, such as %s", f.ID)
				continue
			}
			if err := m.same(f, world.Flights[f.ID]); err != nil {
				return err
			}
		}
	}
	for id := range pending {
		m.report.broken(Rebuild, "flight "+id.String(), "nothing known of it", "the flight that the decisions made")
	}
	if m.o.From == 0 {
		return m.sameReferences(ctx, world)
	}
	return nil
}

// same compares a flight with what the decisions came to, all but the times of writing.
func (m *maker) same(f *evidence.Flight, made *flight.State) error {
	place := "flight " + f.ID.String()
	m.report.compared(Rebuild, 1)
	switch {
	case f.State == nil && made == nil:
		return nil
	case f.State == nil:
		m.report.broken(Rebuild, place, "no row", fmt.Sprintf("version %d, as the decisions come to", made.Version))
		return nil
	case made == nil:
		m.report.broken(Rebuild, place, fmt.Sprintf("version %d", f.State.Version), "no such flight: no decision makes it")
		return nil
	case f.State.Version != made.Version || f.State.LastMsgID != made.LastMsgID:
		m.report.broken(Rebuild, place, fmt.Sprintf("version %d of message %d", f.State.Version, f.State.LastMsgID),
			fmt.Sprintf("version %d of message %d, as the decisions come to", made.Version, made.LastMsgID))
		return nil
	}
	is, err := stateParts(m.n.Catalogue, f.State)
	if err != nil {
		return err
	}
	want, err := stateParts(m.n.Catalogue, made)
	if err != nil {
		return err
	}
	for _, path := range differing(is, want) {
		m.report.broken(Rebuild, place+" "+path, shown(is[path]), shown(want[path])+", as the decisions come to")
	}
	return nil
}

// sameReferences compares reference data with what the decisions came to.
func (m *maker) sameReferences(ctx context.Context, world rehearse.World) error {
	left := map[[2]string]json.RawMessage{}
	for typ, records := range world.Refs {
		for key, value := range records {
			left[[2]string{typ, key}] = value
		}
	}
	for typ, key := "", ""; ; {
		found, err := m.snap.References(ctx, typ, key, page)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			break
		}
		for _, r := range found {
			typ, key = r.Type, r.Key
			place := [2]string{typ, key}
			m.report.compared(Rebuild, 1)
			if want := left[place]; !sameJSON([]byte(r.Value), want) {
				m.report.broken(Rebuild, "reference "+typ+" "+key, shown([]byte(r.Value)), shown(want)+", as the decisions come to")
			}
			delete(left, place)
		}
	}
	places := make([][2]string, 0, len(left))
	for place := range left {
		places = append(places, place)
	}
	slices.SortFunc(places, func(x, y [2]string) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) })
	for _, place := range places {
		m.report.broken(Rebuild, "reference "+place[0]+" "+place[1], "no such record", shown(left[place])+", as the decisions come to")
	}
	return nil
}
