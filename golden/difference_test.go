package golden

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDifference(t *testing.T) {
	tests := []struct{ name, want, got, diff string }{
		{"a line changes", "a\nb\nc\n", "a\nx\nc\n", "  a\n- b\n+ x\n  c\n"},
		{"a line comes", "a\n", "a\nb\n", "  a\n+ b\n"},
		{"a line goes", "a\nb\n", "b\n", "- a\n  b\n"},
		{"far from anything", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", "  …\n  2\n  3\n  4\n- 5\n+ x\n  6\n  7\n  8\n  …\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.diff, difference(tt.want, tt.got)); diff != "" {
				t.Errorf("difference(%q, %q) (-want +got):\n%s", tt.want, tt.got, diff)
			}
		})
	}
}

// Whoever takes the "-" lines away has what was got, and the other way round.
func TestDifferenceTellsBothSides(t *testing.T) {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n"}), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		want, got := strings.Join(lines.Draw(t, "want"), ""), strings.Join(lines.Draw(t, "got"), "")
		if want == got {
			return
		}
		var left, right strings.Builder
		for line := range strings.Lines(difference(want, got)) {
			if line[0] != '+' {
				left.WriteString(strings.TrimPrefix(line[2:], "…\n"))
			}
			if line[0] != '-' {
				right.WriteString(strings.TrimPrefix(line[2:], "…\n"))
			}
		}
		if l, r := strings.TrimRight(left.String(), "\n"), strings.TrimRight(right.String(), "\n"); l != strings.TrimRight(want, "\n") || r != strings.TrimRight(got, "\n") {
			t.Fatalf("difference(%q, %q) is\n%s", want, got, difference(want, got))
		}
	})
}
