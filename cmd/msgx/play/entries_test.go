package play

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestListsAreComparedEntryByEntry(t *testing.T) {
	before := json.RawMessage(`[{"GTNO":1,"GATE":"G1"},{"GTNO":2,"GATE":"G2"}]`)
	after := json.RawMessage(`[{"GTNO":1,"GATE":"G7","PGOT":"x"},{"GTNO":2,"GATE":"G2"},{"GTNO":3}]`)
	got, _ := compareLists(before, after)
	want := []Entry{
		{"-", []Field{{"GTNO", "1", false}, {"GATE", `"G1"`, true}}},
		{"+", []Field{{"GTNO", "1", false}, {"GATE", `"G7"`, true}, {"PGOT", `"x"`, true}}},
		{" ", []Field{{"GTNO", "2", false}, {"GATE", `"G2"`, false}}},
		{"+", []Field{{"GTNO", "3", false}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if _, list := compareLists(json.RawMessage(`"a"`), nil); list {
		t.Error("a scalar was taken for a list")
	}
}

// TestComparedListsAreBothThere: what goes and stays is the old list, what comes and stays the new one.
func TestComparedListsAreBothThere(t *testing.T) {
	list := rapid.Custom(func(t *rapid.T) json.RawMessage {
		entry := rapid.MapOfN(rapid.SampledFrom([]string{"A", "B"}), rapid.IntRange(0, 2), 0, 2)
		out, err := json.Marshal(rapid.SliceOfN(entry, 0, 8).Draw(t, "entries"))
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := list.Draw(t, "before"), list.Draw(t, "after")
		entries, _ := compareLists(before, after)
		var old, now [][]Field
		for _, e := range entries {
			fields := make([]Field, len(e.Fields))
			for i, f := range e.Fields {
				fields[i] = Field{Tag: f.Tag, Value: f.Value}
			}
			if e.Sign != "+" {
				old = append(old, fields)
			}
			if e.Sign != "-" {
				now = append(now, fields)
			}
		}
		for _, side := range []struct {
			list json.RawMessage
			got  [][]Field
		}{{before, old}, {after, now}} {
			raw, _ := listOf(side.list)
			var want [][]Field
			for _, e := range raw {
				want = append(want, fieldsOf(e))
			}
			if diff := cmp.Diff(want, side.got); diff != "" {
				t.Fatalf("%s against %s: -want +got\n%s", before, after, diff)
			}
		}
	})
}
