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

func TestBlanksAtTheEndMeanNothing(t *testing.T) {
	text := strings.ReplaceAll(sound, "schd 1 v2\n", "schd 1 v2  \n") + "\n\n"
	report, err := golden.Run(t.Context(), golden.Options{Catalogue: load(t), Rules: msgx.Files, Dir: write(t, "case", text)})
	if err != nil || !report.OK() || report.Passed != 1 {
		t.Errorf("%v, %+v", err, report)
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
		{"no such case", golden.Options{Names: []string{"flop-stdn"}}, `none of`},
		{"a case with a name that is nearly right", golden.Options{Names: []string{"flop-stdn"}}, `"flop-stdn", did you mean flop-stnd?`},
		{"a rule set that cannot be loaded", golden.Options{Rules: fstest.MapFS{"handlers.lua": {Data: []byte("return 1")}}}, "handlers.lua: the manifest returns one table"},
		{"no rule set", golden.Options{}, "no rule set is given"},
		{"a directory without cases", golden.Options{Dir: t.TempDir()}, "found no cases in "},
	}
	for _, tt := range tests {
		tt.o.Catalogue = load(t)
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

// A state that no case shares is left over from one.
func TestSharedStatesAreShared(t *testing.T) {
	files, err := fs.Glob(golden.Corpus, "states/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d states", err, len(files))
	}
	cases, err := golden.Load(golden.Options{Catalogue: load(t), Rules: msgx.Files})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]int{}
	for _, c := range cases {
		for _, name := range c.Settings.Given {
			used["states/"+name+".yaml"]++
		}
	}
	for _, file := range files {
		if used[file] < 2 {
			t.Errorf("%s: %d cases take it, expected some to share it", file, used[file])
		}
	}
}
