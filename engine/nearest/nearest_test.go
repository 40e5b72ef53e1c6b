package nearest_test

import (
	"testing"

	"msgx/engine/nearest"
)

func TestName(t *testing.T) {
	known := []string{"STND", "GTDT", "SODT", "day-cutover", "code-share", "state", "Überflug"}
	tests := []struct{ name, want string }{
		{"STDN", "STND"}, // two in each other's place
		{"SODTT", "SODT"},
		{"GDT", "GTDT"},
		{"day-cut-over", "day-cutover"},
		{"codeshare", "code-share"},
		{"STATE", "state"},
		{"Uberflug", "Überflug"},
		{"XXXX", ""},
		{"X", ""},
		{"", ""},
	}
	for _, tt := range tests {
		got, ok := nearest.Name(tt.name, known)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("Name(%q) is %q, %t, expected %q", tt.name, got, ok, tt.want)
		}
	}
	if got := nearest.Hint("STDN", known); got != ", did you mean STND?" {
		t.Errorf("Hint is %q", got)
	}
	if got := nearest.Hint("XXXX", known); got != "" {
		t.Errorf("Hint is %q, expected none", got)
	}
}
