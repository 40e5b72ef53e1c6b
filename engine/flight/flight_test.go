package flight_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/flight"
)

func TestParseID(t *testing.T) {
	good := map[string]flight.ID{"1000345": 1000345, "0": 0, "999999999999999999": 999999999999999999, "900719925474099312": 900719925474099312}
	good[" 000123\n"] = 123
	for text, want := range good {
		if got, err := flight.ParseID(text); err != nil || got != want {
			t.Errorf("ParseID(%q) = %d, %v; expected %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "  ", "-1", "+1", "1.0", "12A", "1 2", "1000000000000000000", strings.Repeat("0", 19), "１２"} {
		if got, err := flight.ParseID(text); err == nil {
			t.Errorf("ParseID(%q) = %d, expected an error", text, got)
		}
	}
}

func example() *flight.State {
	return &flight.State{ID: 1, Status: flight.Active, Version: 2, Fields: flight.Fields{"STND": "1"},
		Lists: map[string][]flight.Record{"VIPF": {{Fields: flight.Fields{"VPCD": "V1"},
			Lists: map[string][]flight.Record{"VIPT": {{Fields: flight.Fields{"VSCD": "CAR"}}}}}}},
		Members: []flight.Member{{FLID: 2, FLNO: "ZH2"}}}
}

func TestCloneIsDeep(t *testing.T) {
	s := example()
	c := s.Clone()
	c.Fields["STND"] = "2"
	c.Lists["VIPF"][0].Fields["VPCD"] = "V2"
	c.Lists["VIPF"][0].Lists["VIPT"][0].Fields["VSCD"] = "BUS"
	c.Members[0].FLNO = "X"
	if diff := cmp.Diff(example(), s); diff != "" {
		t.Errorf("changing the copy changed the original:\n%s", diff)
	}
	if (*flight.State)(nil).Clone() != nil {
		t.Error("the copy of no state is a state")
	}
}

func TestEqualLists(t *testing.T) {
	lists := func(tag string, codes ...string) map[string][]flight.Record {
		var records []flight.Record
		for _, c := range codes {
			records = append(records, flight.Record{Fields: flight.Fields{"CODE": c}})
		}
		return map[string][]flight.Record{tag: records}
	}
	nested := example().Lists
	other := example().Lists
	other["VIPF"][0].Lists["VIPT"] = nil
	tests := []struct {
		name string
		a, b map[string][]flight.Record
		want bool
	}{
		{"a missing list equals an empty one", nil, lists("DELY"), true},
		{"order counts", lists("DELY", "1", "2"), lists("DELY", "2", "1"), false},
		{"number counts", lists("DELY", "1"), lists("DELY", "1", "1"), false},
		{"one more list", nil, lists("DELY", "1"), false},
		{"another list", lists("DELY", "1"), lists("GTDT", "1"), false},
		{"nested lists count", nested, other, false},
		{"equal", nested, example().Lists, true},
	}
	for _, tt := range tests {
		if got := flight.EqualLists(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: EqualLists = %t, expected %t", tt.name, got, tt.want)
		}
		if got := flight.EqualLists(tt.b, tt.a); got != tt.want {
			t.Errorf("%s, the other way round: EqualLists = %t, expected %t", tt.name, got, tt.want)
		}
	}
}

func TestIsMaster(t *testing.T) {
	s := example()
	if !s.IsMaster() {
		t.Error("an active flight without MAID is no master")
	}
	s.Fields["MAID"] = "1"
	if s.IsMaster() {
		t.Error("a flight with MAID, its own even, is a master")
	}
	s = example()
	s.Status = flight.Deleted
	if s.IsMaster() || (*flight.State)(nil).IsMaster() {
		t.Error("a deleted or unknown flight is a master")
	}
}
