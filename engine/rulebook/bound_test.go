package rulebook_test

import (
	"strings"
	"testing"

	"msgx/engine/rulebook"
)

func boundTo(t *testing.T, names string, files map[string]string) (*rulebook.Rulebook, error) {
	t.Helper()
	return rulebook.Load(changed(t, files), shippedCatalogue(t), rulebook.Settings{Bound: names}, rulebook.Limits{})
}

// A bound script takes the place of the manifest's pick for its kinds, and no others.
func TestBound(t *testing.T) {
	newer := map[string]string{"rules/flop-gtdt@9.lua": deciding(`return { skip = "nine" }`)}
	b, err := boundTo(t, "flop-gtdt@9", newer)
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.Decide(msg("FLOP-GTDT", record(1, elements{"GTDT": list(rec("GATE", "12"))})), view(active(1, nil, nil)))
	if err != nil || d.Skip != "nine" {
		t.Errorf("decided %+v, %v, expected version 9 to decide", d, err)
	}
	plain, err := boundTo(t, "", newer)
	if err != nil {
		t.Fatal(err)
	}
	if b.Hash() == plain.Hash() {
		t.Error("a bound rule set has the hash of the plain one")
	}
	for _, s := range plain.Scripts() {
		if with, _ := b.Script(s.Kind); with.ID() != s.ID() && s.Kind != "FLOP-GTDT" {
			t.Errorf("%s is handled by %s, expected %s as without the bound script", s.Kind, with.ID(), s.ID())
		}
	}
}

func TestBoundFaults(t *testing.T) {
	tests := []struct {
		name, names string
		files       map[string]string
		want        string
	}{
		{"no such version", "flop-gtdt@7", nil, `bound: found "flop-gtdt@7", expected flop-gtdt@1`},
		{"no version", "flop-gtdt", nil, `bound: found "flop-gtdt", expected flop-gtdt@1`},
		{"no such script", "flop-nope@1", nil, "expected a script at a version"},
		{"a library", "lib/merge", nil, `bound: found "lib/merge"`},
		{"two for one kind", "flop-gtdt@1 flop-gtdt@2", map[string]string{"rules/flop-gtdt@2.lua": fine}, "bound: FLOP-GTDT is served by flop-gtdt@1 and by flop-gtdt@2"},
		{"one that cannot be loaded", "flop-gtdt@2", map[string]string{"rules/flop-gtdt@2.lua": "return 1"}, "rules/flop-gtdt@2.lua: a script returns one table"},
	}
	for _, tt := range tests {
		if _, err := boundTo(t, tt.names, tt.files); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, expected an error with %q", tt.name, err, tt.want)
		}
	}
}
