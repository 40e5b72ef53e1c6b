package decision

import (
	"maps"
	"slices"
	"time"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// Whose key the KAFKA:msg event of a code-share child goes out under.
const (
	KeyMaster = "master" // its master's, so that consumers of the master see it
	KeyOwn    = "own"
)

// Options are the settings of the airport that applying depends on.
type Options struct {
	Zone         *time.Location
	DayCutover   time.Duration // when the operation day begins, on the wall clock
	CodeShareKey string        // KeyMaster or KeyOwn
}

// application is one decision being applied.
type application struct {
	catalogue *catalogue.Catalogue
	view      View
	message   *message.Message
	context   Context
	options   Options
	drafts    map[flight.ID]*draft
	writes    map[string]bool // the footprint
	masters   []flight.ID     // that the message states, by FLID; nil until asked for
	faults    []string
	conflicts []string
}

// draft is one flight on its way to the next state. Records of lists are
// shared with the view and the decision and never altered.
type draft struct {
	op     Op
	before *flight.State
	after  *flight.State
	was    []flight.Member // MAFL before, derived like the one after
}

// Apply turns a decision into everything that follows from it. The error is
// a *ProtocolError for a conflict of operation days, and otherwise says how the decision
// breaks a rule of the house. A decision that skips or rejects has no effects.
func Apply(cat *catalogue.Catalogue, view View, msg *message.Message, d Decision, c Context, o Options) (Effects, error) {
	c.Now = c.Now.Truncate(time.Microsecond) // what the database keeps
	a := &application{catalogue: cat, view: view, message: msg, context: c, options: o,
		drafts: make(map[flight.ID]*draft, len(d.Changes)), writes: make(map[string]bool, len(c.Writes))}
	for _, tag := range c.Writes {
		a.writes[tag] = true
	}
	a.checkWhole(&d)
	if err := a.broken(); err != nil {
		return Effects{}, err
	}
	if d.Skip != "" || d.Reject != "" {
		return Effects{Notes: d.Notes}, nil
	}
	for i := range d.Changes {
		a.draft(&d.Changes[i])
	}
	if len(a.conflicts) > 0 {
		return Effects{}, &ProtocolError{Reasons: a.conflicts}
	}
	a.cascade()
	a.deriveMembers()
	e := Effects{Refs: foldRefs(d.Refs), Outbound: d.Outbound, Notes: d.Notes}
	for _, id := range slices.Sorted(maps.Keys(a.drafts)) {
		if adv, moved := a.advance(a.drafts[id]); moved {
			e.Advances = append(e.Advances, adv)
		}
	}
	for i := range e.Advances {
		e.Events = append(e.Events, a.msgEvent(&e.Advances[i]), a.schdEvent(&e.Advances[i]))
	}
	return e, nil
}

// draft works out the next state of one flight from what the change says of it.
func (a *application) draft(ch *Change) {
	before := a.view.Flights[ch.FLID]
	after := start(ch, before)
	for tag, v := range ch.Set {
		if v.Object == nil {
			if tag != "FLID" {
				after.Fields[tag] = v.Text
			}
			continue
		}
		a.clearObject(after, tag)
		for part, text := range v.Object {
			after.Fields[tag+"."+part] = text
		}
	}
	for _, tag := range ch.Clear {
		delete(after.Fields, tag)
		a.clearObject(after, tag)
	}
	for tag, records := range ch.Lists {
		if len(records) == 0 {
			delete(after.Lists, tag)
		} else {
			after.Lists[tag] = records
		}
	}
	if conflict := a.settleDay(after, ch); conflict != "" {
		a.conflicts = append(a.conflicts, conflict)
	}
	a.drafts[ch.FLID] = &draft{op: ch.Op, before: before, after: after}
}

// start is the state that a change builds on. A flight that is revived keeps
// what it is (identity, version, operation day, when its row was made) and nothing of what it had.
func start(ch *Change, before *flight.State) *flight.State {
	after := &flight.State{ID: ch.FLID, Status: flight.Active}
	if before != nil {
		after.Version, after.OperationDay, after.CreatedAt = before.Version, before.OperationDay, before.CreatedAt
	}
	switch ch.Op {
	case Create, Revive:
		after.Fields, after.Lists = make(flight.Fields), make(map[string][]flight.Record)
	default:
		after.Fields, after.Lists = copyFields(before.Fields), copyLists(before.Lists)
		after.Status = before.Status
	}
	if ch.Op == Delete {
		after.Status = flight.Deleted
	}
	return after
}

func copyFields(fields flight.Fields) flight.Fields {
	if fields == nil {
		return make(flight.Fields)
	}
	return maps.Clone(fields)
}

func copyLists(lists map[string][]flight.Record) map[string][]flight.Record {
	if lists == nil {
		return make(map[string][]flight.Record)
	}
	return maps.Clone(lists)
}

func (a *application) clearObject(s *flight.State, tag string) {
	o, ok := a.catalogue.Object(tag)
	if !ok {
		return
	}
	for _, p := range o.Parts {
		delete(s.Fields, tag+"."+p.Tag)
	}
}

// cascade deletes the direct active children of every master that is deleted.
func (a *application) cascade() {
	var masters []flight.ID
	for id, d := range a.drafts {
		if d.op == Delete && d.before.IsMaster() {
			masters = append(masters, id)
		}
	}
	if len(masters) == 0 {
		return
	}
	for id, s := range a.view.Flights {
		if _, drafted := a.drafts[id]; drafted || s == nil || s.Status != flight.Active {
			continue
		}
		if master, child := s.Master(); child && slices.Contains(masters, master) {
			a.draft(&Change{FLID: id, Op: Delete})
		}
	}
}

// advance finishes a draft, and reports false when the flight is left equal.
func (a *application) advance(d *draft) (Advance, bool) {
	adv := Advance{Before: d.before, After: d.after, Op: d.op}
	a.compare(&adv, d.was)
	if len(adv.Changed) == 0 {
		return Advance{}, false
	}
	if d.before == nil {
		d.after.Version = a.view.LastVersions[d.after.ID]
		d.after.CreatedAt = a.context.Now
	}
	d.after.Version++
	d.after.LastMsgID = a.context.MsgID
	d.after.UpdatedAt = a.context.Now
	return adv, true
}

// foldRefs leaves one change per reference record, the last: one message may
// carry a record twice.
func foldRefs(refs []RefChange) []RefChange {
	type name struct{ typ, key string }
	last := make(map[name]int, len(refs))
	for i, r := range refs {
		last[name{r.Type, r.Key}] = i
	}
	if len(last) == len(refs) {
		return refs
	}
	var out []RefChange
	for i, r := range refs {
		if last[name{r.Type, r.Key}] == i {
			out = append(out, r)
		}
	}
	return out
}
