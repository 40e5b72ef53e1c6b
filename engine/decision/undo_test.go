package decision_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// whatUndoLeaves is what the changes do not tell.
var whatUndoLeaves = cmpopts.IgnoreFields(flight.State{}, "Version", "LastMsgID", "CreatedAt", "UpdatedAt", "Members")

// Whatever a message does to a flight that was there, undoing it gives the flight as it was.
func TestUndoFollowsApply(t *testing.T) {
	cat := load(t)
	rapid.Check(t, func(t *rapid.T) {
		w := world{}
		for range rapid.IntRange(1, 12).Draw(t, "messages") {
			s := drawStep(t, w)
			if len(s.changes) == 0 {
				continue
			}
			_, masters := decision.Needs(stating(s))
			e, err := apply(cat, w.view(s.named(), masters), s.family, s.changes...)
			if err != nil {
				t.Fatalf("Apply: %v", err)
			}
			for _, a := range e.Advances {
				if a.Before != nil {
					got, err := decision.Undo(cat, a.After, a.Changed)
					if diff := cmp.Diff(a.Before, got, ignoreEmpty, whatUndoLeaves); diff != "" || err != nil {
						t.Fatalf("Undo: %v (-before +undone):\n%s", err, diff)
					}
				}
				w[a.After.ID] = a.After
			}
		}
	})
}

func TestUndoOfEveryShape(t *testing.T) {
	cat := load(t)
	before := active(1, 4, "FLNO=CA1", "MAXP=180", "FDIV.DDES=PEK", "FDIV.TEXT=<fog> & \"rain\"")
	before.Lists = map[string][]flight.Record{
		"GTDT": {{Fields: flight.Fields{"GTNO": "1", "GATE": "12"}}, {Fields: flight.Fields{}}},
		"VIPF": {{Fields: flight.Fields{"VPCD": "A"}, Lists: map[string][]flight.Record{"VIPT": {{Fields: flight.Fields{"VSCD": "X", "VTQY": "2"}}}}}},
	}
	msg := &message.Message{ID: 77, Family: message.Operation, Records: []message.Record{{FLID: 1}}}
	d := decision.Decision{Changes: []decision.Change{{FLID: 1, Op: decision.Update,
		Set:   map[string]decision.Value{"MAXP": {Text: "-5"}, "STND": {Text: "7"}, "FDIV": {Object: map[string]string{"DDES": "SHA"}}},
		Clear: []string{"FLNO"},
		Lists: map[string][]flight.Record{"GTDT": {}, "VIPF": {{Fields: flight.Fields{"VPCD": "B"}}}, "PSDT": {{Fields: flight.Fields{"PSST": "3"}}}}}}}
	e, err := decision.Apply(cat, view(before), msg, d, decision.Context{MsgID: 77, Family: message.Operation, Writes: []string{"*"}, Now: now}, options())
	if err != nil {
		t.Fatal(err)
	}
	after := e.Advances[0].After
	pristine := after.Clone()
	got, err := decision.Undo(cat, after, e.Advances[0].Changed)
	if diff := cmp.Diff(before, got, ignoreEmpty, whatUndoLeaves); diff != "" || err != nil {
		t.Errorf("Undo: %v (-before +undone):\n%s", err, diff)
	}
	if diff := cmp.Diff(pristine, after); diff != "" {
		t.Errorf("Undo altered the state it was given:\n%s", diff)
	}
}

func TestUndoRefusesWhatDoesNotFit(t *testing.T) {
	cat := load(t)
	s := active(1, 4, "STND=7")
	s.Lists = map[string][]flight.Record{"GTDT": {{Fields: flight.Fields{"GATE": "12"}}}}
	for path, after := range map[string]string{
		"STND": `"8"`, "REMC": `"x"`, "STATE": `"DELETED"`, "OPERATION_DAY": `"2021-01-23"`, "GTDT": `[{"GATE":"13"}]`, "PSDT": `7`,
	} {
		_, err := decision.Undo(cat, s, []decision.FieldChange{{Path: path, After: []byte(after)}})
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s that should be %s: %v, expected an error about it", path, after, err)
		}
	}
}
