package decision_test

import (
	"errors"
	"strings"
	"testing"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
)

func TestApplyRefuses(t *testing.T) {
	cat := load(t)
	object := func(o map[string]string) map[string]decision.Value {
		return map[string]decision.Value{"FDIV": {Object: o}}
	}
	tests := []struct {
		name   string
		view   decision.View
		family message.Family
		change change
		want   string
	}{
		{"create of a known flight", view(active(1, 1)), message.Schedule, change{FLID: 1, Op: create}, "create a flight that is ACTIVE, expected unknown"},
		{"create of a deleted flight", view(deleted(1, 1)), message.Schedule, change{FLID: 1, Op: create}, "create a flight that is DELETED, expected unknown"},
		{"update of an unknown flight", view(), message.Operation, change{FLID: 1, Op: update}, "update a flight that is unknown, expected ACTIVE"},
		{"update of a deleted flight", view(deleted(1, 1)), message.Operation, change{FLID: 1, Op: update}, "update a flight that is DELETED, expected ACTIVE"},
		{"revive of an active flight", view(active(1, 1)), message.Schedule, change{FLID: 1, Op: revive}, "revive a flight that is ACTIVE, expected DELETED"},
		{"delete of a deleted flight", view(deleted(1, 1)), message.Deletion, change{FLID: 1, Op: remove}, "delete a flight that is DELETED, expected ACTIVE"},
		{"delete by a schedule", view(active(1, 1)), message.Schedule, change{FLID: 1, Op: remove}, "for a message of family schedule"},
		{"create by an operation", view(), message.Operation, change{FLID: 1, Op: create}, "for a message of family operation"},
		{"an unknown operation", view(active(1, 1)), message.Operation, change{FLID: 1, Op: "upsert"}, `op "upsert"`},
		{"outside the footprint", view(active(1, 1)), message.Operation, change{FLID: 1, Op: update, Set: set("RUNW=1")}, "RUNW is outside the footprint"},
		{"clear outside the footprint", view(active(1, 1)), message.Operation, change{FLID: 1, Op: update, Clear: []string{"RUNW"}}, "RUNW is outside the footprint"},
		{"list outside the footprint", view(active(1, 1)), message.Operation,
			change{FLID: 1, Op: update, Lists: map[string][]flight.Record{"CKDT": nil}}, "CKDT is outside the footprint"},
		{"an unknown tag", view(active(1, 1)), message.Schedule, change{FLID: 1, Op: update, Set: set("STAND=1")}, "STAND, which is no scalar or object"},
		{"MAFL by hand", view(active(1, 1)), message.Schedule, change{FLID: 1, Op: update, Set: set("MAFL=1")}, "MAFL, which is no scalar or object"},
		{"a scalar as a list", view(active(1, 1)), message.Operation,
			change{FLID: 1, Op: update, Lists: map[string][]flight.Record{"STND": nil}}, "STND is not a list there"},
		{"another identity", view(active(1, 1)), message.Schedule, change{FLID: 1, Op: update, Set: set("FLID=2")}, `set FLID to "2"`},
		{"set and clear", view(active(1, 1)), message.Operation, change{FLID: 1, Op: update, Set: set("STND=1"), Clear: []string{"STND"}}, "is set or cleared already"},
		{"an empty text", view(active(1, 1)), message.Operation, change{FLID: 1, Op: update, Set: set("STND=")}, "expected a text"},
		{"a text too long", view(active(1, 1)), message.Operation, change{FLID: 1, Op: update, Set: set("STND=123456789")}, "at most 8 characters"},
		{"a NUL", view(active(1, 1)), message.Operation, change{FLID: 1, Op: update, Set: set("STND=a\x00b")}, "valid UTF-8 without NUL"},
		{"a flag outside its list", view(active(1, 1)), message.Operation, change{FLID: 1, Op: update, Set: object(map[string]string{"DDIR": "UP"})}, "expected one of TO, FROM"},
		{"an unknown part", view(active(1, 1)), message.Operation, change{FLID: 1, Op: update, Set: object(map[string]string{"X": "UP"})}, "X is not a part of it"},
		{"an object without parts", view(active(1, 1)), message.Operation, change{FLID: 1, Op: update, Set: object(map[string]string{})}, "without parts"},
		{"a bad list entry", view(active(1, 1)), message.Operation, change{FLID: 1, Op: update,
			Lists: map[string][]flight.Record{"GTDT": {{}, {Fields: flight.Fields{"GTNO": "01"}}}}}, `flight 1.GTDT[2].GTNO: is "01"`},
		{"an integer with leading zeros", view(active(1, 1)), message.Schedule, change{FLID: 1, Op: update, Set: set("MAXP=007")}, "an integer of 32 bits"},
		{"a delete that sets", view(active(1, 1)), message.Deletion, change{FLID: 1, Op: remove, Set: set("STND=1")}, "sets, clears and lists nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := apply(cat, tt.view, tt.family, tt.change)
			if err == nil {
				t.Fatalf("Apply accepted it: %v, expected an error with %q", tell(e), tt.want)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Apply: %v\nexpected a text with %q", err, tt.want)
			}
			if len(e.Advances)+len(e.Events) > 0 {
				t.Errorf("a refused decision has effects: %v", tell(e))
			}
		})
	}
}

func TestApplyRefusesWholes(t *testing.T) {
	cat := load(t)
	msg := &message.Message{Family: message.Operation, Records: []message.Record{{FLID: 1}}}
	c := families[message.Operation]
	c.Family = message.Operation
	one := change{FLID: 1, Op: update, Set: set("STND=1")}
	tests := []struct {
		name string
		d    decision.Decision
		want string
	}{
		{"two entries", decision.Decision{Changes: []change{one, one}}, "two entries"},
		{"a flight that is not named", decision.Decision{Changes: []change{{FLID: 2, Op: update}}}, "does not name it"},
		{"a master that is not stated", decision.Decision{Changes: []change{{FLID: 1, Op: update, Set: set("MAID=9")}}}, "which the message does not state"},
		{"skip and change", decision.Decision{Skip: "x", Changes: []change{one}}, "yet changes something"},
		{"skip and reject", decision.Decision{Skip: "x", Reject: "y"}, "both skips and rejects"},
		{"reference data of a flight message", decision.Decision{Refs: []decision.RefChange{{Type: "SLST", Key: "1", Op: decision.RefDelete}}}, "does not carry that type"},
		{"an unknown request", decision.Decision{Outbound: []decision.Outbound{{Request: "HELO"}}}, "there is no such request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decision.Apply(cat, view(active(1, 1), active(2, 1)), msg, tt.d, c, options())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Apply: %v\nexpected a text with %q", err, tt.want)
			}
		})
	}
}

func TestApplyOperationDayConflict(t *testing.T) {
	cat := load(t)
	with := func(s *flight.State) *flight.State { s.OperationDay = "2021-01-23"; return s }
	for name, s := range map[string]*flight.State{"active": with(active(1, 1)), "deleted": with(deleted(1, 1))} {
		op := update
		if s.Status == flight.Deleted {
			op = revive
		}
		e, err := apply(cat, view(s), message.Schedule,
			change{FLID: 1, Op: op, Set: set("SODT=" + late)}, change{FLID: 2, Op: create, Set: set("FLNO=CA2")})
		var conflict *decision.ProtocolError
		if !errors.As(err, &conflict) || len(e.Advances) > 0 {
			t.Errorf("%s: Apply = %v, %v; expected a ProtocolError and no effects", name, tell(e), err)
		} else if want := "flight 1: operation day is 2021-01-23, SODT " + late + " gives 2021-01-24"; conflict.Error() != want {
			t.Errorf("%s: conflict %q, expected %q", name, conflict, want)
		}
	}
}
