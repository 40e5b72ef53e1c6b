package decision_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/schemas"
)

var (
	zone = time.FixedZone("CST", 8*3600)
	now  = time.Date(2021, 1, 23, 1, 2, 3, 456789123, time.UTC)
)

func options() decision.Options {
	return decision.Options{Zone: zone, CodeShareKey: decision.KeyMaster}
}

func load(t testing.TB) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// active is a flight in the state, with fields written "TAG=value".
func active(id flight.ID, version int64, fields ...string) *flight.State {
	s := &flight.State{ID: id, Status: flight.Active, Version: version, Fields: flight.Fields{}}
	for _, f := range fields {
		tag, value, _ := strings.Cut(f, "=")
		s.Fields[tag] = value
	}
	return s
}

func deleted(id flight.ID, version int64, fields ...string) *flight.State {
	s := active(id, version, fields...)
	s.Status = flight.Deleted
	return s
}

func view(states ...*flight.State) decision.View {
	v := decision.View{Flights: map[flight.ID]*flight.State{}}
	for _, s := range states {
		v.Flights[s.ID] = s
	}
	return v
}

func set(fields ...string) map[string]decision.Value {
	out := map[string]decision.Value{}
	for _, f := range fields {
		tag, value, _ := strings.Cut(f, "=")
		out[tag] = decision.Value{Text: value}
	}
	return out
}

var families = map[message.Family]decision.Context{
	message.Schedule:  {Kind: "SCHD-DNLD", Script: "schedule@1", Writes: []string{"*"}},
	message.Operation: {Kind: "FLOP-STND", Script: "flop@1", Writes: []string{"STND", "FDIV", "GTDT", "MAID"}},
	message.Deletion:  {Kind: "FDEL", Script: "fdel@1"},
	message.Reference: {Kind: "REF-SLST", Script: "reference@1"},
}

// apply runs a decision as a message of the family that names the flights of its changes.
func apply(cat *catalogue.Catalogue, v decision.View, family message.Family, changes ...decision.Change) (decision.Effects, error) {
	msg := &message.Message{ID: 77, Family: family}
	for _, ch := range changes {
		r := message.Record{FLID: ch.FLID, Elements: map[string]message.Element{}}
		if maid := ch.Set["MAID"].Text; maid != "" {
			r.Elements["MAID"] = message.Element{Text: maid}
		}
		msg.Records = append(msg.Records, r)
	}
	c := families[family]
	c.MsgID, c.Family, c.Ruleset, c.Now = 77, family, "cafe", now
	return decision.Apply(cat, v, msg, decision.Decision{Changes: changes}, c, options())
}

// tell writes effects for people: one line per advance.
func tell(e decision.Effects) []string {
	var out []string
	for i, a := range e.Advances {
		var paths []string
		for _, c := range a.Changed {
			paths = append(paths, fmt.Sprintf("%s:%s>%s", c.Path, orNone(c.Before), orNone(c.After)))
		}
		out = append(out, fmt.Sprintf("%s %s v%d key %s %s", a.Op, a.After.ID, a.After.Version, e.Events[2*i].Key, strings.Join(paths, " ")))
	}
	return out
}

func orNone(raw json.RawMessage) string {
	if raw == nil {
		return "-"
	}
	return string(raw)
}

type change = decision.Change

const (
	create, update, revive, remove = decision.Create, decision.Update, decision.Revive, decision.Delete
	early, late                    = "2021-01-23T05:35:00+08:00", "2021-01-24T05:35:00+08:00"
)

func TestApply(t *testing.T) {
	cat := load(t)
	day := func(s *flight.State) *flight.State { s.OperationDay = "2021-01-23"; return s }
	gates := []flight.Record{{Fields: flight.Fields{"GATE": "G1", "GTNO": "1"}}, {Fields: flight.Fields{"GATE": "G1"}}}
	withGates := active(1, 4)
	withGates.Lists = map[string][]flight.Record{"GTDT": gates}
	tests := []struct {
		name    string
		view    decision.View
		family  message.Family
		changes []change
		want    []string
	}{
		{"a new flight starts at version 1 with its operation day", view(), message.Schedule,
			[]change{{FLID: 1, Op: create, Set: set("FLID=1", "FLNO=CA1", "SODT="+early)}},
			[]string{`create 1 v1 key 1 STATE:->"ACTIVE" OPERATION_DAY:->"2021-01-23" FLNO:->"CA1" SODT:->"` + early + `"`}},
		{"an additional flight without SODT has no day", view(), message.Schedule,
			[]change{{FLID: 1, Op: create, Set: set("FLNO=CA1")}}, []string{`create 1 v1 key 1 STATE:->"ACTIVE" FLNO:->"CA1"`}},
		{"a flight without a day gets it from a schedule", view(active(1, 3)), message.Schedule,
			[]change{{FLID: 1, Op: update, Set: set("SODT=" + early)}},
			[]string{`update 1 v4 key 1 OPERATION_DAY:->"2021-01-23" SODT:->"` + early + `"`}},
		{"integers are numbers, identifiers and decimals strings", view(active(1, 1)), message.Schedule,
			[]change{{FLID: 1, Op: update, Set: set("MAXP=180", "TAID=900719925474099312", "LBWT=12.5")}},
			[]string{`update 1 v2 key 1 TAID:->"900719925474099312" MAXP:->180 LBWT:->"12.5"`}},
		{"clear takes a value away", view(active(1, 1, "STND=12")), message.Operation,
			[]change{{FLID: 1, Op: update, Clear: []string{"STND", "FDIV"}}}, []string{`update 1 v2 key 1 STND:"12">-`}},
		{"an object is set as a whole", view(active(1, 1, "FDIV.DDES=PEK", "FDIV.TEXT=fog")), message.Operation,
			[]change{{FLID: 1, Op: update, Set: map[string]decision.Value{"FDIV": {Object: map[string]string{"DDES": "CAN", "DDIR": "TO"}}}}},
			[]string{`update 1 v2 key 1 FDIV.DDES:"PEK">"CAN" FDIV.DDIR:->"TO" FDIV.TEXT:"fog">-`}},
		{"an object is cleared as a whole", view(active(1, 1, "FDIV.DDES=PEK", "FDIV.TEXT=fog")), message.Operation,
			[]change{{FLID: 1, Op: update, Clear: []string{"FDIV"}}},
			[]string{`update 1 v2 key 1 FDIV.DDES:"PEK">- FDIV.TEXT:"fog">-`}},
		{"a list is one change", view(active(1, 1)), message.Operation,
			[]change{{FLID: 1, Op: update, Lists: map[string][]flight.Record{"GTDT": gates}}},
			[]string{`update 1 v2 key 1 GTDT:->[{"GTNO":1,"GATE":"G1"},{"GATE":"G1"}]`}},
		{"an empty list clears", view(withGates), message.Operation,
			[]change{{FLID: 1, Op: update, Lists: map[string][]flight.Record{"GTDT": nil}}},
			[]string{`update 1 v5 key 1 GTDT:[{"GTNO":1,"GATE":"G1"},{"GATE":"G1"}]>-`}},
		{"what changes nothing does nothing", view(withGates), message.Operation,
			[]change{{FLID: 1, Op: update, Clear: []string{"STND"}, Lists: map[string][]flight.Record{"GTDT": flight.CloneRecords(gates)}}}, nil},
		{"a flight left equal is not touched beside one that changes", view(active(1, 1, "STND=1"), active(2, 1)), message.Operation,
			[]change{{FLID: 2, Op: update, Set: set("STND=1")}, {FLID: 1, Op: update, Set: set("STND=1")}}, []string{`update 2 v2 key 2 STND:->"1"`}},
		{"a deletion keeps the details", view(active(1, 8, "STND=1")), message.Deletion,
			[]change{{FLID: 1, Op: remove}}, []string{`delete 1 v9 key 1 STATE:"ACTIVE">"DELETED"`}},
		{"a revived flight starts blank but for its day", view(day(deleted(1, 9, "STND=1"))), message.Schedule,
			[]change{{FLID: 1, Op: revive, Set: set("FLNO=CA1")}},
			[]string{`revive 1 v10 key 1 STATE:"DELETED">"ACTIVE" FLNO:->"CA1" STND:"1">-`}},
		{"a schedule without SODT gives no day", view(active(1, 1, "SODT="+early)), message.Schedule,
			[]change{{FLID: 1, Op: update, Set: set("STND=1")}}, []string{`update 1 v2 key 1 STND:->"1"`}},
		{"an operation never derives a day", view(active(1, 1, "SODT="+early)), message.Operation,
			[]change{{FLID: 1, Op: update, Set: set("STND=1")}}, []string{`update 1 v2 key 1 STND:->"1"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := apply(cat, tt.view, tt.family, tt.changes...)
			if err != nil {
				t.Fatalf("Apply: %v", err)
			}
			if diff := cmp.Diff(tt.want, tell(e)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyFamilies(t *testing.T) {
	cat := load(t)
	family := func() decision.View {
		return view(active(1, 5, "FLNO=CA1"), active(2, 1, "MAID=1", "FLNO=ZH2"), active(3, 1, "MAID=1", "FLNO=MU3"),
			active(4, 1, "MAID=2"), deleted(5, 1, "MAID=1"), active(9, 2))
	}
	const both = `[{"FLID":"2","FLNO":"ZH2"},{"FLID":"3","FLNO":"MU3"}]`
	tests := []struct {
		name    string
		view    decision.View
		family  message.Family
		changes []change
		want    []string
	}{
		{"a child joins: it speaks under its master's key", view(active(1, 5)), message.Schedule,
			[]change{{FLID: 2, Op: create, Set: set("MAID=1", "FLNO=ZH2")}},
			[]string{`update 1 v6 key 1 MAFL:->[{"FLID":"2","FLNO":"ZH2"}]`, `create 2 v1 key 1 STATE:->"ACTIVE" FLNO:->"ZH2" MAID:->"1"`}},
		{"a child's other fields leave its master alone", family(), message.Operation,
			[]change{{FLID: 2, Op: update, Set: set("STND=7")}}, []string{`update 2 v2 key 1 STND:->"7"`}},
		{"a child's number shows in its master", family(), message.Schedule,
			[]change{{FLID: 2, Op: update, Set: set("FLNO=ZH9")}},
			[]string{`update 1 v6 key 1 MAFL:` + both + `>[{"FLID":"2","FLNO":"ZH9"},{"FLID":"3","FLNO":"MU3"}]`, `update 2 v2 key 1 FLNO:"ZH2">"ZH9"`}},
		{"a child moves", family(), message.Schedule,
			[]change{{FLID: 3, Op: update, Set: set("MAID=9")}},
			[]string{`update 1 v6 key 1 MAFL:` + both + `>[{"FLID":"2","FLNO":"ZH2"}]`, `update 3 v2 key 9 MAID:"1">"9"`,
				`update 9 v3 key 9 MAFL:->[{"FLID":"3","FLNO":"MU3"}]`}},
		{"a child leaves and has a child of its own: it becomes a master", family(), message.Schedule,
			[]change{{FLID: 2, Op: update, Clear: []string{"MAID"}}},
			[]string{`update 1 v6 key 1 MAFL:` + both + `>[{"FLID":"3","FLNO":"MU3"}]`, `update 2 v2 key 2 MAID:"1">- MAFL:->[{"FLID":"4"}]`}},
		{"a chained flight announces itself", family(), message.Operation,
			[]change{{FLID: 4, Op: update, Set: set("STND=7")}}, []string{`update 4 v2 key 4 STND:->"7"`}},
		{"a master that joins another loses its members", family(), message.Schedule,
			[]change{{FLID: 1, Op: update, Set: set("MAID=9")}},
			[]string{`update 1 v6 key 9 MAID:->"9" MAFL:` + both + `>-`, `update 9 v3 key 9 MAFL:->[{"FLID":"1","FLNO":"CA1"}]`}},
		{"one advance for a master that changes itself too", family(), message.Schedule,
			[]change{{FLID: 3, Op: update, Clear: []string{"MAID"}}, {FLID: 1, Op: update, Set: set("STND=1")}},
			[]string{`update 1 v6 key 1 STND:->"1" MAFL:` + both + `>[{"FLID":"2","FLNO":"ZH2"}]`, `update 3 v2 key 3 MAID:"1">-`}},
		{"a child's deletion goes under its own key", family(), message.Deletion, []change{{FLID: 3, Op: remove}},
			[]string{`update 1 v6 key 1 MAFL:` + both + `>[{"FLID":"2","FLNO":"ZH2"}]`, `delete 3 v2 key 3 STATE:"ACTIVE">"DELETED"`}},
		{"a master takes its direct children with it", family(), message.Deletion, []change{{FLID: 1, Op: remove}},
			[]string{`delete 1 v6 key 1 STATE:"ACTIVE">"DELETED" MAFL:` + both + `>-`,
				`delete 2 v2 key 2 STATE:"ACTIVE">"DELETED"`, `delete 3 v2 key 3 STATE:"ACTIVE">"DELETED"`}},
		{"a chained flight leaves its followers alone", family(), message.Deletion, []change{{FLID: 2, Op: remove}},
			[]string{`update 1 v6 key 1 MAFL:` + both + `>[{"FLID":"3","FLNO":"MU3"}]`, `delete 2 v2 key 2 STATE:"ACTIVE">"DELETED"`}},
		{"master and child named together are deleted once each", family(), message.Deletion,
			[]change{{FLID: 2, Op: remove}, {FLID: 1, Op: remove}},
			[]string{`delete 1 v6 key 1 STATE:"ACTIVE">"DELETED" MAFL:` + both + `>-`,
				`delete 2 v2 key 2 STATE:"ACTIVE">"DELETED"`, `delete 3 v2 key 3 STATE:"ACTIVE">"DELETED"`}},
		{"a master that appears later gets its members", view(active(2, 1, "MAID=1", "FLNO=ZH2")), message.Schedule,
			[]change{{FLID: 1, Op: create, Set: set("FLNO=CA1")}},
			[]string{`create 1 v1 key 1 STATE:->"ACTIVE" FLNO:->"CA1" MAFL:->[{"FLID":"2","FLNO":"ZH2"}]`}},
		{"a dangling reference blocks nothing", view(), message.Schedule,
			[]change{{FLID: 2, Op: create, Set: set("MAID=1")}}, []string{`create 2 v1 key 2 STATE:->"ACTIVE" MAID:->"1"`}},
		{"a self reference is nobody's member", view(), message.Schedule,
			[]change{{FLID: 2, Op: create, Set: set("MAID=2")}}, []string{`create 2 v1 key 2 STATE:->"ACTIVE" MAID:->"2"`}},
		{"a deleted master stays as it is", view(deleted(1, 5)), message.Schedule,
			[]change{{FLID: 2, Op: create, Set: set("MAID=1")}}, []string{`create 2 v1 key 2 STATE:->"ACTIVE" MAID:->"1"`}},
		{"a revived master finds the children that came back before", view(deleted(1, 5), active(2, 3, "MAID=1"), deleted(3, 1, "MAID=1")), message.Schedule,
			[]change{{FLID: 1, Op: revive}}, []string{`revive 1 v6 key 1 STATE:"DELETED">"ACTIVE" MAFL:->[{"FLID":"2"}]`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := apply(cat, tt.view, tt.family, tt.changes...)
			if err != nil {
				t.Fatalf("Apply: %v", err)
			}
			if diff := cmp.Diff(tt.want, tell(e)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVersionGoesOnAfterPhysicalRemoval(t *testing.T) {
	v := view()
	v.LastVersions = map[flight.ID]int64{1: 41}
	e, err := apply(load(t), v, message.Schedule, change{FLID: 1, Op: create})
	if err != nil || e.Advances[0].After.Version != 42 {
		t.Errorf("version %v, %v; expected 42", e.Advances, err)
	}
}

func TestReferencesFold(t *testing.T) {
	c := families[message.Reference]
	c.Family = message.Reference
	refs := []decision.RefChange{
		{Type: "SLST", Key: "a", Op: decision.RefUpsert, Value: json.RawMessage(`{"n":1}`)},
		{Type: "SLST", Key: "b", Op: decision.RefUpsert, Value: json.RawMessage(`{}`)},
		{Type: "SLST", Key: "a", Op: decision.RefDelete},
	}
	e, err := decision.Apply(load(t), view(), &message.Message{Family: message.Reference}, decision.Decision{Refs: refs}, c, options())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(refs[1:], e.Refs); diff != "" {
		t.Errorf("refs (-want +got):\n%s", diff)
	}
}

func TestEvents(t *testing.T) {
	s := active(1, 5, "STND=7", "REMC=\"雾\"\n", "MAXP=180", "FDIV.DDES=PEK")
	s.OperationDay = "2021-01-23"
	s.Lists = map[string][]flight.Record{"VIPF": {{Fields: flight.Fields{"VPCD": "V1", "VFES": "2"},
		Lists: map[string][]flight.Record{"VIPT": {{Fields: flight.Fields{"VSCD": "CAR"}}}}}}}
	e, err := apply(load(t), view(s, active(2, 1, "MAID=1", "FLNO=ZH2")), message.Operation, change{FLID: 1, Op: update, Set: set("STND=8")})
	if err != nil {
		t.Fatal(err)
	}
	head := `"flid":"1","state_version":6,"state":"ACTIVE","operation_day":"2021-01-23","msg_id":"77","kind":"FLOP-STND","ruleset":"cafe","updated_at":"2021-01-23T09:02:03.456789+08:00",`
	want := []string{
		`{"schema_version":1,"type":"UPSERT",` + head + `"op":"update","script":"flop@1","key":"1","changes":[{"path":"STND","before":"7","after":"8"}]}`,
		`{"schema_version":1,` + head + `"MAXP":180,"STND":"8","REMC":"\"雾\"\n","FDIV":{"DDES":"PEK"},"VIPF":[{"VPCD":"V1","VFES":2,"VIPT":[{"VSCD":"CAR"}]}],"MAFL":[{"FLID":"2","FLNO":"ZH2"}]}`,
	}
	if diff := cmp.Diff(want, []string{string(e.Events[0].Payload), string(e.Events[1].Payload)}); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
	gone, err := apply(load(t), view(s), message.Deletion, change{FLID: 1, Op: remove})
	if err != nil {
		t.Fatal(err)
	}
	msg, schd := gone.Events[0], gone.Events[1]
	if msg.Type != event.Tombstone || msg.Payload == nil || schd.Type != event.Tombstone || schd.Payload != nil {
		t.Errorf("deletion: msg %s %s, schd %s %s; expected tombstones, JSON on msg and nothing on schd", msg.Type, msg.Payload, schd.Type, schd.Payload)
	}
}

func TestOwnKey(t *testing.T) {
	msg := &message.Message{Family: message.Operation, Records: []message.Record{{FLID: 2}}}
	c := families[message.Operation]
	c.Family = message.Operation
	o := options()
	o.CodeShareKey = decision.KeyOwn
	d := decision.Decision{Changes: []change{{FLID: 2, Op: update, Set: set("STND=1")}}}
	e, err := decision.Apply(load(t), view(active(1, 1), active(2, 1, "MAID=1")), msg, d, c, o)
	if err != nil || e.Events[0].Key != "2" {
		t.Errorf("key %v, %v; expected the child's own", e.Events, err)
	}
}

func TestOperationDay(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		sodt    string
		zone    *time.Location
		cutover time.Duration
		want    string
	}{
		{early, zone, 0, "2021-01-23"},
		{early, zone, 5*time.Hour + 35*time.Minute, "2021-01-23"},
		{early, zone, 5*time.Hour + 36*time.Minute, "2021-01-22"},
		{"2021-01-01T00:10:00+08:00", zone, 4 * time.Hour, "2020-12-31"},
		{"2021-01-22T21:35:00Z", zone, 0, "2021-01-23"},
		{"2021-03-28T03:30:00+02:00", berlin, 3 * time.Hour, "2021-03-28"}, // an hour of this day never was
		{"2021-03-28T01:30:00+01:00", berlin, 3 * time.Hour, "2021-03-27"},
	}
	for _, tt := range tests {
		if got, err := decision.OperationDay(tt.sodt, tt.zone, tt.cutover); got != tt.want || err != nil {
			t.Errorf("OperationDay(%s, %s, %s) = %s, %v; expected %s", tt.sodt, tt.zone, tt.cutover, got, err, tt.want)
		}
	}
	if _, err := decision.OperationDay("23JAN210535", zone, 0); err == nil {
		t.Error("a SODT in wire format was accepted")
	}
}
