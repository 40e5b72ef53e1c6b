package ruleset_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"msgx/engine/ruleset"
)

func TestGoesOn(t *testing.T) {
	recorded := ruleset.Live{Place: ruleset.Place{Origin: "a:/rules", Seen: "1"}}
	tests := []struct {
		name         string
		origin, seen string
		takesOver    bool
		want         bool
	}{
		{"as it was", "a:/rules", "1", false, true},
		{"changed since", "a:/rules", "2", false, false},
		{"changed since, taken over", "a:/rules", "2", true, false},
		{"cannot be read", "a:/rules", "", false, true},
		{"another place", "b:/rules", "2", false, false},
		{"another place, taken over", "b:/rules", "2", true, true},
		{"another place, the same content", "b:/rules", "1", false, true},
		{"the rule set of the binary instead, taken over", "binary", "3", true, true},
	}
	for _, tt := range tests {
		if got := ruleset.GoesOn(recorded, ruleset.Place{Origin: tt.origin, Seen: tt.seen}, tt.takesOver); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRead(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	fsys := fstest.MapFS{
		"handlers.lua": file("h"), "rules/a@1.lua": file("a"), "rules/lib/m.lua": file(""), "rules/stray.txt": file("s"),
		"rules/.swp": file("x"), "rules/.git/config": file("x"), "README.md": file("x"),
	}
	got, err := ruleset.Read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"handlers.lua": []byte("h"), "rules/a@1.lua": []byte("a"), "rules/lib/m.lua": {}, "rules/stray.txt": []byte("s")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what was read (-want +got):\n%s", diff)
	}
	for name, broken := range map[string]fs.FS{
		"no manifest": fstest.MapFS{"rules/a@1.lua": file("a")},
		"too large":   fstest.MapFS{"handlers.lua": file(strings.Repeat("x", 33<<20))},
		"nothing":     fstest.MapFS{},
	} {
		if files, err := ruleset.Read(broken); err == nil {
			t.Errorf("%s: read %d files, want an error", name, len(files))
		}
	}
}

// Any change of a name or a byte is another content, and nothing else is.
func TestContentTellsEveryChange(t *testing.T) {
	files := rapid.MapOfN(rapid.StringMatching(`[a-c]{1,3}`), rapid.SliceOfN(rapid.Byte(), 0, 3), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := files.Draw(t, "a"), files.Draw(t, "b")
		same := len(a) == len(b)
		for name, data := range a {
			other, found := b[name]
			same = same && found && slices.Equal(data, other)
		}
		if got := ruleset.Content(a) == ruleset.Content(b); got != same {
			t.Fatalf("content of %v and %v is the same: %v, want %v", a, b, got, same)
		}
	})
}

func TestSettle(t *testing.T) {
	// Each look: what lies there, whether it is to be tried.
	type look struct {
		content string
		try     bool
	}
	tests := []struct {
		name  string
		looks []look
	}{
		{"rests as it was considered", []look{{"live", false}, {"live", false}}},
		{"changes and rests", []look{{"live", false}, {"new", false}, {"new", true}}},
		{"is being written", []look{{"half", false}, {"more", false}, {"new", false}, {"new", true}}},
		{"is written and put back", []look{{"half", false}, {"live", false}, {"live", false}}},
		{"goes and comes back", []look{{"", false}, {"", false}, {"live", false}, {"live", false}}},
		{"goes and comes back changed", []look{{"", false}, {"new", false}, {"new", true}}},
	}
	for _, tt := range tests {
		var s ruleset.Settle
		s.Consider("live")
		for i, l := range tt.looks {
			if got := s.Look(l.content); got != l.try {
				t.Errorf("%s: look %d at %q: to be tried %v, want %v", tt.name, i+1, l.content, got, l.try)
			}
		}
	}
}
