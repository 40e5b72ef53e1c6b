package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"msgx"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/comparison"
	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/store"
	"msgx/tools/feed"
)

// watching is a judge that keeps what it was asked.
type watching struct {
	judge rehearse.Judge
	seen  map[int64]decision.Claimed
}

func (w watching) Claim(msg *message.Message) decision.Claim { return w.judge.Claim(msg) }

func (w watching) Broken(raw message.Raw, err error, at time.Time) decision.Settlement {
	return w.judge.Broken(raw, err, at)
}

func (w watching) Judge(msg *message.Message, claimed decision.Claimed, at time.Time) decision.Settlement {
	w.seen[msg.ID] = claimed
	return w.judge.Judge(msg, claimed, at)
}

// What every message of a day was judged on can be told afterwards, exactly, and judging it
// again on that gives what is on record: outcome, script, versions, changes, notes and events.
func TestThePastOfEveryMessage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	day, err := feed.Generate(feed.Options{Seed: 7, Date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Zone: p.config().Airport.Location,
		Flights: 120, Operations: 700, BadPerMille: 20})
	if err != nil {
		t.Fatal(err)
	}
	bodies := make([]*string, 0, len(day)+8)
	for i := range day {
		body := string(day[i].Body)
		bodies = append(bodies, &body)
	}
	// What a day hardly does: children that change their master, one without, a master that goes and comes back.
	for n, payload := range []string{"1", "2", "9"} {
		for _, master := range []string{"1", "2", "77", ""} {
			body := moved(fmt.Sprintf("99%d%s", n, master), payload, master)
			bodies = append(bodies, &body)
		}
		gone := envelope("FDEL", "FDEL", "<FLOP><FLID>"+payload+"</FLID><FDEL/></FLOP>")
		bodies = append(bodies, &gone)
	}
	bodies = append(bodies, bodies[3]) // a duplicate
	p.putAll(bodies...)
	d := p.start()
	p.await("0", fmt.Sprintf(`SELECT %d - (SELECT count(*) FROM proc_state WHERE state IN ('SUCCEEDED', 'SKIPPED', 'DEAD'))`, len(p.sent)))
	if err := d.end(); err != nil {
		t.Fatal(err)
	}

	mind := p.core()
	db, err := daemon.OpenStore(t.Context(), p.config(), mind)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	seen := watching{mind.Judge, map[int64]decision.Claimed{}}
	rehearsal := rehearse.New(mind.Codec, seen, time.Now, rehearse.World{})
	states := map[message.State]int{}
	versions := map[flight.ID][]decision.Advance{}
	for _, m := range p.sent {
		result := rehearsal.Run(message.Raw{MsgID: m.id, Body: []byte(*m.body), Characters: true})
		for _, a := range result.Settlement.Effects.Advances {
			versions[a.After.ID] = append(versions[a.After.ID], a)
		}
		states[p.again(db, mind, seen, m.id)]++
	}
	if states[message.Succeeded] < 600 || states[message.Skipped] < 3 || states[message.Dead] < 3 {
		t.Errorf("what became of the day: %v, expected something of everything", states)
	}
	p.everyVersion(db, versions)
	p.compareOver(db, mind)
}

// everyVersion rebuilds every version of every flight, which has to be what it was when it came about, with each value from the
// version that last changed it.
func (p *place) everyVersion(db *store.Store, versions map[flight.ID][]decision.Advance) {
	p.t.Helper()
	looked := 0
	for id, advances := range versions {
		sources := map[string]int64{}
		for _, a := range advances {
			looked++
			for _, f := range a.Changed {
				sources[f.Path] = a.After.Version
			}
			at, err := db.FlightAt(p.t.Context(), id, store.Moment{Version: a.After.Version})
			if err != nil {
				p.t.Errorf("flight %s version %d: %v", id, a.After.Version, err)
				continue
			}
			told := map[string]int64{}
			for path, by := range at.Sources {
				told[path] = by.Version
			}
			ignore := cmpopts.IgnoreFields(flight.State{}, "CreatedAt", "UpdatedAt", "Members")
			if diff := cmp.Diff(a.After, at.State, ignore, cmpopts.EquateEmpty()); diff != "" {
				p.t.Errorf("flight %s version %d (-want +got):\n%s", id, a.After.Version, diff)
			}
			if diff := cmp.Diff(sources, told); diff != "" {
				p.t.Errorf("flight %s version %d: where values came from (-want +got):\n%s", id, a.After.Version, diff)
			}
			if again, err := db.FlightAt(p.t.Context(), id, store.Moment{Time: at.By.At}); err != nil || again.State.Version < a.After.Version {
				p.t.Errorf("flight %s at the time of version %d: %v, %v", id, a.After.Version, again.State, err)
			}
		}
		last := advances[len(advances)-1].After.Version
		for _, m := range []store.Moment{{Version: last + 1}, {Time: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}} {
			if _, err := db.FlightAt(p.t.Context(), id, m); !errors.Is(err, fault.ErrNotFound) {
				p.t.Errorf("flight %s at %+v: got %v, want that it was not known", id, m, err)
			}
		}
	}
	if looked < 600 {
		p.t.Errorf("%d versions were looked at, expected more", looked)
	}
}

// compareOver compares another rule set over what is on record, which has to give the same as over the
// messages alone: groups, branches, examples and flights that end differently.
func (p *place) compareOver(db *store.Store, mind *core.Core) {
	p.t.Helper()
	q := *p
	candidate := rulesWith(p.t, map[string]string{
		"rules/flop-dely@1.lua": `local merge = require("merge")
return { kind = "FLOP-DELY", writes = { "DELY" }, decide = function(view, msg) return merge.flop(view, msg, { DELY = merge.replace }) end }`,
		"rules/flop-stnd@1.lua": `local merge = require("merge")
return { kind = "FLOP-STND", writes = { "STND" }, decide = function(view, msg)
  for _, record in ipairs(msg.records) do
    local flight = view.flights[record.flid]
    if flight and flight.STND and #flight.STND > 2 then return { skip = "stand-known" } end
  end
  return merge.flop(view, msg, { STND = merge.value })
end }`,
	})
	q.set = append(slices.Clone(p.set), "rules.dir="+candidate)
	other := q.core()
	traced := func() (old, newer *rulebook.Rulebook, err error) {
		if old, err = core.Traced(p.config(), mind.Catalogue, msgx.Files, "shipped", rulebook.Settings{}); err == nil {
			newer, err = core.Traced(p.config(), mind.Catalogue, os.DirFS(candidate), candidate, rulebook.Settings{})
		}
		return old, newer, err
	}
	epoch := func() time.Time { return time.Unix(0, 0) }
	memory := comparison.Sequence{Name: "day", Decoder: mind.Codec, Old: mind.Judge, New: other.Judge, Traced: traced}
	over := comparison.New(epoch)
	recorded := over.Recorded(comparison.Recorded{Name: "day", Decoder: mind.Codec, Old: mind.Judge, New: other.Judge, Traced: traced,
		Lost: func(error) bool { return false },
		Before: func(claim decision.Claim) (decision.Claimed, error) {
			past, err := db.ViewBefore(p.t.Context(), claim)
			return decision.Claimed{Holder: past.Holder, View: past.View}, err
		}})
	for _, m := range p.sent {
		raw := message.Raw{MsgID: m.id, Body: []byte(*m.body), Characters: true}
		memory.Messages = append(memory.Messages, raw)
		if err := recorded.Add(raw); err != nil {
			p.t.Fatal(err)
		}
	}
	recorded.End()
	alone := comparison.New(epoch)
	if err := alone.Add(p.t.Context(), memory); err != nil {
		p.t.Fatal(err)
	}
	want := alone.Report()
	if d := cmp.Diff(want, over.Report()); d != "" {
		p.t.Errorf("comparison (-in memory +over the record):\n%s", d)
	}
	if want.Differing == 0 || len(want.Finals) == 0 {
		p.t.Errorf("%d messages and %d flights differ, expected some of each", want.Differing, len(want.Finals))
	}
}

// moved is a schedule that gives a flight a master, or none.
func moved(sequence, flid, master string) string {
	return fmt.Sprintf(`<MSG><META><SNDR>AODB</SNDR><SEQN>%s</SEQN><TYPE>SCHD</TYPE><STYP>ADFT</STYP></META><SCHD><RECS>1</RECS>
<FLTR><FLID>%s</FLID><FFID>X</FFID><FLNO>CA%s</FLNO><SODT>01MAR260930</SODT><MAID>%s</MAID></FLTR></SCHD></MSG>`, sequence, flid, flid, master)
}

// again judges one message on what it was judged on and compares everything with the record.
func (p *place) again(db *store.Store, mind *core.Core, seen watching, id int64) message.State {
	p.t.Helper()
	record, err := db.Message(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	raw, found, err := db.RawCopy(p.t.Context(), id)
	if err != nil || !found {
		p.t.Fatalf("message %d: copy found %t, %v", id, found, err)
	}
	msg, err := mind.Codec.Decode(raw)
	if err != nil {
		return record.State
	}
	past, err := db.ViewBefore(p.t.Context(), mind.Judge.Claim(msg))
	if err != nil {
		p.t.Errorf("%v", err)
		return record.State
	}
	sameView := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(time.Time{})}
	if d := cmp.Diff(seen.seen[id].View, past.View, sameView); d != "" {
		p.t.Errorf("message %d: view (-rehearsed +rebuilt):\n%s", id, d)
	}
	at := record.Times.Updated
	if len(record.Changes) > 0 {
		at = record.Changes[0].At
	}
	s := mind.Judge.Judge(msg, decision.Claimed{Holder: past.Holder, View: past.View}, at)
	p.compareAgain(record, s)
	return record.State
}

// compareAgain compares a settlement with what is on record of it.
func (p *place) compareAgain(r store.Record, s decision.Settlement) {
	p.t.Helper()
	type told struct {
		Outcome         message.Outcome
		Script, Ruleset string
		Notes           []decision.Note
		Changes         []store.FlightChange
		Events          []string
	}
	want := told{Outcome: message.Outcome{State: r.State, Class: r.Failure.Class, Reason: r.Failure.LastError + r.Failure.SkipReason},
		Script: r.Decided.Script, Ruleset: r.Decided.Ruleset, Notes: r.Decided.Notes, Changes: r.Changes}
	want.Events = p.list(`SELECT event_id || target || partition_key || event_type || flid || state_version || coalesce(payload::text, '')
		FROM msg_event WHERE msg_id = $1 ORDER BY event_id`, r.MsgID)
	for i, text := range want.Events {
		_, want.Events[i], _ = strings.Cut(text, "KAFKA:")
	}
	got := told{Outcome: s.Outcome, Script: s.Script, Ruleset: s.Ruleset, Notes: s.Effects.Notes}
	if s.Outcome.State == message.Failed {
		got.Outcome = message.Exhaust(s.Outcome.Class, s.Outcome.Reason)
	}
	for _, a := range s.Effects.Advances {
		got.Changes = append(got.Changes, store.FlightChange{FLID: a.After.ID, Version: a.After.Version, MsgID: s.MsgID, Kind: s.Kind, Op: a.Op,
			Ruleset: s.Ruleset, Script: s.Script, At: s.At, Changed: a.Changed})
	}
	for _, e := range s.Effects.Events {
		text := strings.TrimPrefix(string(e.Target), "KAFKA:") + e.Key + string(e.Type) + e.FLID.String() + fmt.Sprint(e.Version) + string(e.Payload)
		if e.Target == event.Msg || slices.Contains(want.Events, text) { // the latest state of a flight is overwritten by the next
			got.Events = append(got.Events, text)
		}
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), jsonText); d != "" {
		p.t.Errorf("message %d (-recorded +judged again):\n%s", r.MsgID, d)
	}
}

// jsonText compares changes by what their JSON means; null is none.
var jsonText = cmp.Transformer("value", func(c decision.FieldChange) [3]any {
	value := func(raw []byte) (v any) {
		_ = json.Unmarshal(raw, &v)
		return v
	}
	return [3]any{c.Path, value(c.Before), value(c.After)}
})

// What the database cannot tell it says.
func TestThePastThatIsLost(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(moved("1", "1", ""))
	p.put(moved("2", "2", "1"))
	p.put(moved("3", "2", ""))
	stand := p.put(envelope("FLOP", "STND", "<FLOP><FLID>1</FLID><STND>12</STND></FLOP>"))
	last := p.put(envelope("FLOP", "STND", "<FLOP><FLID>1</FLID><STND>13</STND></FLOP>"))
	d := p.start()
	p.await("0", `SELECT 5 - count(*) FROM proc_state WHERE state = 'SUCCEEDED'`)
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	mind := p.core()
	db, err := daemon.OpenStore(t.Context(), p.config(), mind)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	claim := decision.Claim{MsgID: stand, Flights: []flight.ID{1}}
	lost := func(what string, claim decision.Claim, want store.Loss, statement string) {
		t.Helper()
		if statement != "" {
			p.list(statement)
		}
		_, err := db.ViewBefore(t.Context(), claim)
		var e *store.LostError
		if want == "" && err != nil || want != "" && (!errors.As(err, &e) || e.Loss != want) {
			t.Errorf("%s: %v, expected %q", what, err, want)
		}
	}
	refs := claim
	refs.RefTypes = []string{"SLST"}
	lost("all there", claim, "", "")
	lost("references never touched", refs, "", "")
	lost("reference overwritten", refs, store.LossOverwritten, fmt.Sprintf(
		`INSERT INTO proc_state (msg_id, state, kind, decision_no, enqueued_at, updated_at) VALUES (%d, 'SUCCEEDED', 'REF-SLST', 6, now(), now()) RETURNING kind`, last+1))
	lost("pending", decision.Claim{MsgID: last + 2}, store.LossUndecided, fmt.Sprintf(
		`INSERT INTO proc_state (msg_id, enqueued_at, updated_at) VALUES (%d, now(), now()) RETURNING state`, last+2))
	change := `UPDATE flight_change SET changed = replace(changed::text, '"%s"', '"%s"')::json WHERE flid = 1 AND msg_id = 5 RETURNING op`
	lost("a history that does not fit", claim, store.LossBroken, fmt.Sprintf(change, "13", "14"))
	lost("mended", claim, "", fmt.Sprintf(change, "14", "13"))
	lost("a message that came late", claim, store.LossOrder, `UPDATE proc_state SET decision_no = 7 WHERE msg_id = 1 RETURNING state`)
	lost("in order again", claim, "", `UPDATE proc_state SET decision_no = 1 WHERE msg_id = 1 RETURNING state`)
	lost("history pruned", claim, store.LossPruned, `DELETE FROM flight_change WHERE flid = 1 AND state_version < 4 RETURNING op`)
	lost("removed", decision.Claim{MsgID: stand, Flights: []flight.ID{2}}, store.LossArchived, `DELETE FROM flight_schd WHERE flid = 2 RETURNING state`)
}

// A flight whose row was removed and that came back goes on from its last version, then and when it is told again.
func TestThePastOfAFlightThatCameBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.put(moved("1", "1", ""))
	stand := p.put(envelope("FLOP", "STND", "<FLOP><FLID>1</FLID><STND>12</STND></FLOP>"))
	run := func(n int) {
		t.Helper()
		d := p.start()
		p.await("0", fmt.Sprintf(`SELECT %d - count(*) FROM proc_state WHERE state = 'SUCCEEDED'`, n))
		if err := d.end(); err != nil {
			t.Fatal(err)
		}
	}
	run(2)
	p.list(`DELETE FROM flight_schd WHERE flid = 1 RETURNING state`)
	back := p.put(moved("2", "1", ""))
	run(3)
	mind := p.core()
	db, err := daemon.OpenStore(t.Context(), p.config(), mind)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	past, err := db.ViewBefore(t.Context(), decision.Claim{MsgID: back, Flights: []flight.ID{1}})
	want := store.Past{View: decision.View{LastVersions: map[flight.ID]int64{1: 2}}}
	if d := cmp.Diff(want, past, cmpopts.EquateEmpty()); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	p.again(db, mind, watching{seen: map[int64]decision.Claimed{back: {View: want.View}}}, back)
	for _, id := range []int64{first, stand} {
		_, err := db.ViewBefore(t.Context(), decision.Claim{MsgID: id, Flights: []flight.ID{1}})
		var lost *store.LostError
		if !errors.As(err, &lost) || lost.Loss != store.LossArchived {
			t.Errorf("before the row was removed: %v, expected %q", err, store.LossArchived)
		}
	}
}
