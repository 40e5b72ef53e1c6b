// Package rehearse runs messages in memory, in the given order and without
// any server: the same codec, rules and verdict as the daemon's, over flights that
// live in maps. It is what `msgx try`, the corpus and many tests are made of.
//
// A message that would be tried again (FAILED) is reported as such and left
// behind; in the daemon it would hold the line until its attempts are used up.
// The identity it bound stays bound, as there.
package rehearse

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// Decoder turns a body into a message.
type Decoder interface {
	Decode(raw message.Raw) (*message.Message, error)
}

// Judge says what becomes of a message.
type Judge interface {
	Claim(msg *message.Message) decision.Claim
	Judge(msg *message.Message, claimed decision.Claimed, at time.Time) decision.Settlement
	Broken(raw message.Raw, err error, at time.Time) decision.Settlement
}

// World is what there is before a rehearsal, and after it.
type World struct {
	Flights map[flight.ID]*flight.State
	Refs    map[string]map[string]json.RawMessage // type to key to record
	// LastVersions is the highest version that is known of flights that have no state any more.
	LastVersions map[flight.ID]int64
	// Bound is which message holds an identity.
	Bound map[string]message.Binding
}

// Rehearsal is messages being run. It is for one goroutine.
type Rehearsal struct {
	decoder  Decoder
	judge    Judge
	now      func() time.Time
	world    World
	children map[flight.ID]map[flight.ID]bool // MAID to the flights that state it
	bound    map[string]message.Binding
	lastID   int64
}

// Result is what became of one message.
type Result struct {
	MsgID int64
	// Message is nil when the body could not be decoded.
	Message    *message.Message
	Settlement decision.Settlement
}

// New starts a rehearsal over a world. The world is not altered: states are
// replaced, never changed.
func New(decoder Decoder, judge Judge, now func() time.Time, before World) *Rehearsal {
	r := &Rehearsal{decoder: decoder, judge: judge, now: now,
		world: World{Flights: map[flight.ID]*flight.State{}, Refs: map[string]map[string]json.RawMessage{},
			LastVersions: map[flight.ID]int64{}},
		children: map[flight.ID]map[flight.ID]bool{},
		bound:    map[string]message.Binding{},
	}
	r.Meet(before)
	return r
}

// Meet adds to the world what the rehearsal does not know yet; what it knows, and may have
// changed, stays as it is.
func (r *Rehearsal) Meet(w World) {
	for id, s := range w.Flights {
		if r.world.Flights[id] == nil {
			r.put(s)
		}
	}
	for typ, records := range w.Refs {
		if r.world.Refs[typ] == nil {
			r.world.Refs[typ] = maps.Clone(records)
		}
	}
	maps.Copy(r.world.LastVersions, w.LastVersions)
	for identity, holder := range w.Bound {
		if _, known := r.bound[identity]; !known {
			r.bound[identity] = holder
		}
	}
}

// Run judges one message and takes on its effects. A message without an id
// gets the next one.
func (r *Rehearsal) Run(raw message.Raw) Result {
	result, _ := r.RunBeside(raw, nil)
	return result
}

// RunBeside is Run, and tells what another judge would have made of the same
// message over the same world; of that nothing is taken on.
func (r *Rehearsal) RunBeside(raw message.Raw, other Judge) (Result, decision.Settlement) {
	if raw.MsgID == 0 {
		raw.MsgID = r.lastID + 1
	}
	r.lastID = max(r.lastID, raw.MsgID)
	at := r.now()
	msg, err := r.decoder.Decode(raw)
	result := Result{MsgID: raw.MsgID, Message: msg, Settlement: r.ask(r.judge, raw, msg, err, at)}
	var beside decision.Settlement
	if other != nil {
		beside = r.ask(other, raw, msg, err, at)
	}
	r.take(&result.Settlement)
	return result, beside
}

// ask has one judge settle a message over the world as it is.
func (r *Rehearsal) ask(judge Judge, raw message.Raw, msg *message.Message, broken error, at time.Time) decision.Settlement {
	if broken != nil {
		return judge.Broken(raw, broken, at)
	}
	claim := judge.Claim(msg)
	claimed := decision.Claimed{Head: message.Head{MsgID: raw.MsgID, State: message.Pending, EnqueuedAt: at}, View: r.view(claim)}
	if holder, taken := r.bound[claim.Identity]; taken && claim.Identity != "" && holder.MsgID != raw.MsgID {
		claimed.Holder = &holder
	}
	return judge.Judge(msg, claimed, at)
}

// view reads what the claim names, as the daemon's database does: the flights,
// their masters, and every flight whose MAID is one of those.
func (r *Rehearsal) view(c decision.Claim) decision.View {
	v := decision.View{Flights: map[flight.ID]*flight.State{}}
	wanted := make(map[flight.ID]bool)
	for _, id := range c.Flights {
		wanted[id] = true
		if s := r.world.Flights[id]; s != nil {
			if master, child := s.Master(); child {
				wanted[master] = true
			}
		}
	}
	for _, id := range c.Masters {
		wanted[id] = true
	}
	for id := range wanted {
		if s := r.world.Flights[id]; s != nil {
			v.Flights[id] = s
		} else if last, ok := r.world.LastVersions[id]; ok {
			if v.LastVersions == nil {
				v.LastVersions = map[flight.ID]int64{}
			}
			v.LastVersions[id] = last
		}
		for child := range r.children[id] {
			v.Flights[child] = r.world.Flights[child]
		}
	}
	if len(c.RefTypes) > 0 {
		v.Refs = make(map[string]map[string]json.RawMessage, len(c.RefTypes))
		for _, typ := range c.RefTypes {
			v.Refs[typ] = maps.Clone(r.world.Refs[typ])
		}
	}
	return v
}

func (r *Rehearsal) take(s *decision.Settlement) {
	if s.Identity != "" {
		b := message.Binding{MsgID: s.MsgID, State: s.Outcome.State, BodySHA256: s.SHA256, EnqueuedAt: s.At}
		if b.State == message.Failed {
			b.State = message.Dead // what it is by the time that a later message is looked at
		}
		r.bound[s.Identity] = b
	}
	for i := range s.Effects.Advances {
		r.put(s.Effects.Advances[i].After)
	}
	for _, ref := range s.Effects.Refs {
		records := r.world.Refs[ref.Type]
		if ref.Op == decision.RefDelete {
			delete(records, ref.Key)
			continue
		}
		if records == nil {
			records = make(map[string]json.RawMessage)
			r.world.Refs[ref.Type] = records
		}
		records[ref.Key] = ref.Value
	}
}

// put makes a state the current one of its flight.
func (r *Rehearsal) put(s *flight.State) {
	if old := r.world.Flights[s.ID]; old != nil {
		if master, child := old.Master(); child {
			delete(r.children[master], s.ID)
		}
	}
	if master, child := s.Master(); child {
		if r.children[master] == nil {
			r.children[master] = make(map[flight.ID]bool)
		}
		r.children[master][s.ID] = true
	}
	r.world.Flights[s.ID] = s
}

// World is what there is now. It is for reading.
func (r *Rehearsal) World() World { return r.world }

// Flights lists the current states by FLID. They are for reading.
func (r *Rehearsal) Flights() []*flight.State { return r.world.List() }

// List gives the flights of a world by FLID.
func (w World) List() []*flight.State {
	out := make([]*flight.State, 0, len(w.Flights))
	for _, id := range slices.Sorted(maps.Keys(w.Flights)) {
		out = append(out, w.Flights[id])
	}
	return out
}
