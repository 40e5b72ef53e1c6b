package decision_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// world is every flight there is, MAFL included.
type world map[flight.ID]*flight.State

func (w world) clone() world {
	out := world{}
	for id, s := range w {
		out[id] = s.Clone()
	}
	return out
}

// members is what MAFL means, said in the slowest possible way.
func (w world) members(id flight.ID) []flight.Member {
	var out []flight.Member
	for _, child := range slices.Sorted(maps.Keys(w)) {
		s := w[child]
		if s.Status == flight.Active && s.Fields["MAID"] == id.String() && child != id {
			out = append(out, flight.Member{FLID: child, FLNO: s.Fields["FLNO"]})
		}
	}
	if m := w[id]; m.Status != flight.Active || m.Fields["MAID"] != "" {
		return nil
	}
	return out
}

// step is one random message.
type step struct {
	family  message.Family
	changes []change
}

func (s step) named() []flight.ID {
	var out []flight.ID
	for _, ch := range s.changes {
		out = append(out, ch.FLID)
	}
	return out
}

// model applies a step to the whole world at once: fields, then cascade, then
// MAFL of everybody, and a version for whoever differs from before.
func (w world) model(s step) world {
	next := w.clone()
	for _, ch := range s.changes {
		f := next[ch.FLID]
		switch ch.Op {
		case create:
			f = &flight.State{ID: ch.FLID, Status: flight.Active, Fields: flight.Fields{}}
			next[ch.FLID] = f
		case revive:
			f.Status, f.Fields = flight.Active, flight.Fields{}
		case remove:
			f.Status = flight.Deleted
			if w[ch.FLID].Fields["MAID"] == "" {
				for id, c := range next {
					if id != ch.FLID && c.Fields["MAID"] == ch.FLID.String() {
						c.Status = flight.Deleted
					}
				}
			}
		}
		for tag, v := range ch.Set {
			f.Fields[tag] = v.Text
		}
		for _, tag := range ch.Clear {
			delete(f.Fields, tag)
		}
	}
	for id, f := range next {
		f.Members = next.members(id)
		old := w[id]
		if old == nil || old.Status != f.Status || !maps.Equal(old.Fields, f.Fields) || !slices.Equal(old.Members, f.Members) {
			f.Version++
		}
	}
	return next
}

// view holds what the store promises to read for a message, and no more.
func (w world) view(flights, masters []flight.ID) decision.View {
	wanted := map[string]bool{}
	for _, id := range flights {
		wanted[id.String()] = true
		if s := w[id]; s != nil && s.Fields["MAID"] != "" {
			wanted[s.Fields["MAID"]] = true
		}
	}
	for _, id := range masters {
		wanted[id.String()] = true
	}
	v := decision.View{Flights: map[flight.ID]*flight.State{}}
	for id, s := range w {
		if wanted[id.String()] || wanted[s.Fields["MAID"]] {
			v.Flights[id] = s
		}
	}
	return v
}

// drawStep makes a message that fits the world as it is.
func drawStep(t *rapid.T, w world) step {
	ids := rapid.SliceOfNDistinct(rapid.Int64Range(1, 6), 1, 4, rapid.ID[int64]).Draw(t, "flights")
	s := step{family: rapid.SampledFrom([]message.Family{message.Schedule, message.Schedule, message.Deletion}).Draw(t, "family")}
	for _, n := range ids {
		id := flight.ID(n)
		if s.family == message.Deletion {
			if f := w[id]; f != nil && f.Status == flight.Active {
				s.changes = append(s.changes, change{FLID: id, Op: remove})
			}
			continue
		}
		ch := change{FLID: id, Op: update, Set: set()}
		if f := w[id]; f == nil {
			ch.Op = create
		} else if f.Status == flight.Deleted {
			ch.Op = revive
		}
		for tag, values := range map[string][]string{"FLNO": {"CA1", "ZH2"}, "STND": {"7"}, "MAID": {"1", "2", "3", "4", "5", "6"}} {
			switch rapid.SampledFrom([]string{"absent", "clear", "set", "set"}).Draw(t, fmt.Sprintf("%s of %d", tag, n)) {
			case "clear":
				ch.Clear = append(ch.Clear, tag)
			case "set":
				ch.Set[tag] = decision.Value{Text: rapid.SampledFrom(values).Draw(t, tag)}
			}
		}
		s.changes = append(s.changes, ch)
	}
	return s
}

func TestApplyFollowsModel(t *testing.T) {
	cat := load(t)
	rapid.Check(t, func(t *rapid.T) {
		w := world{}
		for range rapid.IntRange(1, 12).Draw(t, "messages") {
			s := drawStep(t, w)
			if len(s.changes) == 0 {
				continue
			}
			want := w.model(s)
			_, masters := decision.Needs(stating(s))
			seen := w.view(s.named(), masters)
			pristine := w.clone()
			e, err := apply(cat, seen, s.family, s.changes...)
			if err != nil {
				t.Fatalf("Apply: %v", err)
			}
			again, _ := apply(cat, w.clone().view(s.named(), masters), s.family, s.changes...)
			if diff := cmp.Diff(e, again); diff != "" {
				t.Fatalf("the same decision gave other effects:\n%s", diff)
			}
			if diff := cmp.Diff(pristine, w, ignoreEmpty); diff != "" {
				t.Fatalf("Apply altered its input:\n%s", diff)
			}
			checkEffects(t, w, e)
			for _, a := range e.Advances {
				w[a.After.ID] = a.After
			}
			if diff := cmp.Diff(want, w, ignoreEmpty, ignoreStamps); diff != "" {
				t.Fatalf("world after %+v (-model +got):\n%s", s, diff)
			}
		}
	})
}

var (
	ignoreEmpty  = cmpopts.EquateEmpty()
	ignoreStamps = cmpopts.IgnoreFields(flight.State{}, "LastMsgID", "CreatedAt", "UpdatedAt")
)

// stating is the message that apply makes of a step.
func stating(s step) *message.Message {
	msg := &message.Message{Family: s.family}
	for _, ch := range s.changes {
		r := message.Record{FLID: ch.FLID, Elements: map[string]message.Element{}}
		if maid := ch.Set["MAID"].Text; maid != "" {
			r.Elements["MAID"] = message.Element{Text: maid}
		}
		msg.Records = append(msg.Records, r)
	}
	return msg
}

// checkEffects holds the effects to what is true of any message.
func checkEffects(t *rapid.T, w world, e decision.Effects) {
	if len(e.Events) != 2*len(e.Advances) {
		t.Fatalf("%d events for %d advances, expected two each", len(e.Events), len(e.Advances))
	}
	last := flight.ID(-1)
	for i, a := range e.Advances {
		id := a.After.ID
		if id <= last {
			t.Fatalf("advance of %s after %s, expected ascending FLIDs, each once", id, last)
		}
		last = id
		from := int64(0)
		if w[id] != nil {
			from = w[id].Version
		}
		if a.After.Version != from+1 || len(a.Changed) == 0 {
			t.Fatalf("flight %s went from version %d to %d with %d changes", id, from, a.After.Version, len(a.Changed))
		}
		msg, schd := e.Events[2*i], e.Events[2*i+1]
		if msg.Target != event.Msg || schd.Target != event.Schd || msg.FLID != id || schd.FLID != id ||
			msg.Version != a.After.Version || schd.Key != id.String() {
			t.Fatalf("events of flight %s are %+v and %+v", id, msg, schd)
		}
		deleted := a.After.Status == flight.Deleted
		if deleted != (msg.Type == event.Tombstone) || deleted != (schd.Payload == nil) || (deleted && msg.Key != id.String()) {
			t.Fatalf("flight %s is %s, its events are %s %s and %s", id, a.After.Status, msg.Type, msg.Key, schd.Type)
		}
	}
}
