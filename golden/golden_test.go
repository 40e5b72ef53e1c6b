package golden_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"


	"msgx"
	"msgx/engine/catalogue"
	"msgx/golden"
	"msgx/schemas"
)

func load(t testing.TB) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func TestCorpus(t *testing.T) {
	report, err := golden.Run(t.Context(), golden.Options{
		Catalogue: load(t), Rules: msgx.Files, Dir: ".", Command: "go run ./cmd/msgx golden run --dir golden",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if c.Verdict != golden.Pass {
				t.Errorf("%s\n%s\nagain: %s", c.Verdict, c.Text, c.Again)
			}
		})
	}
}

// write makes a golden directory with one case.
func write(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "cases"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cases", name+".txtar"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEveryKindHasACase(t *testing.T) {
	cat := load(t)
	covered, err := golden.Coverage(golden.Options{Catalogue: cat, Rules: msgx.Files})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range cat.Kinds {
		if len(covered[k.Name]) == 0 {
			t.Errorf("no case has a message of kind %s that takes effect", k.Name)
		}
	}
}

// sound is a case that passes.
const sound = `A stand is set.

-- state --
- flight: 1
-- 01-stand.xml --
<MSG>
  <META><SNDR>A</SNDR><SEQN>1</SEQN><TYPE>FLOP</TYPE><STYP>STND</STYP></META>
  <FLOP><FLID>1</FLID><STND>7</STND></FLOP>
</MSG>
-- expect --
01-stand.xml: SUCCEEDED
  msg  1 v2 update
    STND: "7"
  schd 1 v2

afterwards:
- flight: 1
  version: 2
  STND: 7
`

func TestRunTellsWhatDiffers(t *testing.T) {
	wrongRules := fstest.MapFS{"handlers.lua": {Data: []byte("return 1")}}
	tests := []struct {
		name, text string
		rules      fs.FS
		want       string
	}{
		{"pass", sound, msgx.Files, "PASS  case\n1 passed, 0 failed, 0 errors\n"},
		{"blanks at the end mean nothing", strings.ReplaceAll(sound, "schd 1 v2\n", "schd 1 v2  \n") + "\n\n", msgx.Files, "PASS  case\n1 passed, 0 failed, 0 errors\n"},
		{"fail", strings.Replace(sound, `STND: "7"`, `STND: "8"`, 1), msgx.Files, "FAIL  case\n" +
			"        01-stand.xml: SUCCEEDED\n          msg  1 v2 update\n      -     STND: \"8\"\n      +     STND: \"7\"\n" +
			"          schd 1 v2\n        \n        afterwards:\n        …\n      again: msgx golden run case\n0 passed, 1 failed, 0 errors\n"},
		{"no message", "Nothing.\n-- state --\n", msgx.Files, "expected at least one message"},
		{"no comment", strings.Replace(sound, "A stand is set.\n", "", 1), msgx.Files, "expected a comment that says what the case shows"},
		{"bad state", strings.Replace(sound, "- flight: 1\n", "- flight: x\n", 1), msgx.Files, `state: line 1: flight: found "x"`},
		{"stray file", sound + "-- notes.md --\n", msgx.Files, `file "notes.md": expected state, expect or NN-name.xml`},
		{"unknown setting", strings.Replace(sound, "\n\n", "\n!colour: red\n\n", 1), msgx.Files, `setting "colour: red": expected one of zone,`},
		{"bad setting", strings.Replace(sound, "\n\n", "\n!code-share: both\n\n", 1), msgx.Files, `found "both", expected one of master, own`},
		{"encoding of nothing", strings.Replace(sound, "\n\n", "\n!encoding 02-x.xml: GBK\n\n", 1), msgx.Files, `a setting names "02-x.xml", which is no message of the case`},
		{"unknown encoding", strings.Replace(sound, "\n\n", "\n!encoding 01-stand.xml: EBCDIC\n\n", 1), msgx.Files, "expected one of GBK, GB18030, UTF-16, UTF-8-BOM"},
		{"bad rules", sound, wrongRules, "no script for the kind"},
	}
	cat := load(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report, err := golden.Run(t.Context(), golden.Options{Catalogue: cat, Rules: tt.rules, Dir: write(t, "case", tt.text)})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := report.WriteText(&out, true); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), tt.want) {
				t.Errorf("Run printed\n%s\nexpected\n%s", out.String(), tt.want)
			}
			if report.OK() != strings.HasPrefix(tt.want, "PASS") {
				t.Errorf("report is %s", report)
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	tests := []struct {
		name string
		o    golden.Options
		want string
	}{
		{"an empty selection", golden.Options{Pattern: "no-such-case"}, `matches "no-such-case"`},
		{"a bad pattern", golden.Options{Pattern: "("}, "golden: pattern"},
		{"a directory without cases", golden.Options{Dir: t.TempDir()}, "none of 0 cases"},
	}
	for _, tt := range tests {
		if _, err := golden.Run(t.Context(), tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, expected an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestCorpusInTheBinaryPasses(t *testing.T) {
	report, err := golden.Run(t.Context(), golden.Options{Catalogue: load(t), Rules: msgx.Files, Pattern: "^flop-s"})
	if err != nil || !report.OK() || report.Passed < 2 {
		t.Errorf("%v, %+v", err, report)
	}
}
