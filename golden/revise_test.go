package golden

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx"
)

func TestRevise(t *testing.T) {
	before, _, _ := strings.Cut(standCase, "-- expect --")
	wrong := strings.Replace(standCase, `"6" -> "7"`, `"6" -> "8"`, 1)
	said := "# the second message\n02-second.xml: SUCCEEDED\n  contains: STND: \"6\" -> \"7\"\nafterwards:\n  contains: 1 STND: 7\n"
	tests := []struct {
		name, text string
		want       string // the case afterwards
		refused    string
	}{
		{name: "nothing to do", text: standCase, want: standCase},
		{name: "an empty expectation", text: before + "-- expect --\n", want: standCase},
		{name: "no expectation", text: before, want: standCase},
		{name: "a wrong line", text: wrong, want: standCase},
		{name: "line ends of Windows", text: strings.ReplaceAll(wrong, "\n", "\r\n"), want: strings.ReplaceAll(standCase, "\n", "\r\n")},
		{name: "some lines that are plain", want: someCase(said),
			text: someCase(strings.NewReplacer("SUCCEEDED", "DEAD(PROTOCOL)", `-> "7"`, `-> "9"`, "STND: 7", "STND: 9").Replace(said))},
		{name: "a line that could be anything", text: someCase("02-second.xml:\n  none: event\n"),
			refused: "case.txtar: nothing tells what these lines would have to be; change them by hand\nline 17: none: event\n    found msg 1 v3\n"},
		{name: "a line that there is nothing like", text: someCase("02-second.xml:\n  contains: MAXP: 7\n"), refused: "line 17: contains: MAXP: 7\n    not found\n"},
		{name: "a case with faults", text: "Nothing.\n", refused: "case.txtar:1: found no message"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Catalogue: catalogueOf(t), Rules: msgx.Files, Dir: files(t, map[string]string{"cases/case.txtar": tt.text})}
			r, err := Revise(t.Context(), o, "case")
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("%v, expected an error with\n%s", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(r.Text)); diff != "" {
				t.Errorf("the case (-want +got):\n%s", diff)
			}
			if (r.Difference == "") != (tt.text == tt.want) || r.File != "cases/case.txtar" {
				t.Errorf("%s: the difference is %q", r.File, r.Difference)
			}
			o.Dir = files(t, map[string]string{"cases/case.txtar": string(r.Text)})
			if report, err := Run(t.Context(), o); err != nil || !report.OK() {
				t.Errorf("the revised case: %v, %+v", err, report)
			}
		})
	}
}
