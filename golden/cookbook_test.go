package golden_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"msgx"
	"msgx/engine/rulebook/lint"
	"msgx/golden"
)

// guide is the guide for rule authors, which has the cookbook.
const guide = "../rules/README.md"

// recipe is a script of the cookbook and the case that says what it is for.
type recipe struct {
	title  string
	script string // such as "flop-stnd@2"
	lua    string
	text   string // the case
}

// recipeForm is a heading, some prose, a script and a case. The info strings mark them.
var recipeForm = regexp.MustCompile("(?s)\n### ([^\n]+)\n(?:[^#`]|`[^`]|#[^#])*?\n```lua recipe=([a-z-]+@\\d+)\n(.*?)```\n\n```text case\n(.*?)```\n")

func recipes(t *testing.T) []recipe {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	var found []recipe
	for _, m := range recipeForm.FindAllSubmatch(text, -1) {
		found = append(found, recipe{string(m[1]), string(m[2]), string(m[3]), string(m[4])})
	}
	if scripts, cases := bytes.Count(text, []byte("```lua recipe=")), bytes.Count(text, []byte("```text case")); len(found) == 0 || scripts != len(found) || cases != len(found) {
		t.Fatalf("%s: found %d recipes of a heading, a script and a case, in %d scripts and %d cases", guide, len(found), scripts, cases)
	}
	return found
}

// rules is the shipped rule set with the recipe's script in the place of the shipped version.
func (r *recipe) rules(t *testing.T) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	for _, pattern := range []string{"handlers.lua", "rules/*.lua", "rules/lib/*.lua"} {
		names, err := fs.Glob(msgx.Files, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := fs.ReadFile(msgx.Files, name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = &fstest.MapFile{Data: data}
		}
	}
	name, _, _ := strings.Cut(r.script, "@")
	picked := regexp.MustCompile(fmt.Sprintf(`"%s@\d+"`, name))
	manifest := all["handlers.lua"].Data
	if !picked.Match(manifest) {
		t.Fatalf("handlers.lua names no version of %s", name)
	}
	all["handlers.lua"] = &fstest.MapFile{Data: picked.ReplaceAll(manifest, []byte(`"`+r.script+`"`))}
	file := "rules/" + r.script + ".lua"
	if all[file] != nil {
		t.Fatalf("%s is shipped, expected a version to come", file)
	}
	all[file] = &fstest.MapFile{Data: []byte(r.lua)}
	return all
}

// TestTheCookbook holds each recipe to what it says: the script loads and lints clean, its case
// passes with it, runs all of it, and does not pass without it.
func TestTheCookbook(t *testing.T) {
	cat := load(t)
	for _, r := range recipes(t) {
		t.Run(r.title, func(t *testing.T) {
			rules := r.rules(t)
			report, err := lint.Check(rules, cat)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Findings {
				t.Errorf("%s:%d:%d: %s [%s]", f.File, f.Line, f.Column, f.Message, f.Code)
			}
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "cases"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "cases", "recipe.txtar"), []byte(r.text), 0o600); err != nil {
				t.Fatal(err)
			}
			with := golden.Options{Catalogue: cat, Rules: rules, Dir: dir}
			if got := verdictOf(t, with); got.Verdict != golden.Pass {
				t.Fatalf("%s\n%s", got.Verdict, got.Text)
			}
			covered, err := golden.Cover(t.Context(), with, r.script)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range covered.Files {
				for _, missing := range f.Missing {
					t.Errorf("%s:%d: the case does not show %s", f.Name, missing.Line, missing.What)
				}
			}
			with.Rules = msgx.Files
			if got := verdictOf(t, with); got.Verdict != golden.Fail {
				t.Errorf("on the shipped rules: %s, expected the case to tell them from the recipe\n%s", got.Verdict, got.Text)
			}
		})
	}
}

// verdictOf runs the one case of a golden directory.
func verdictOf(t *testing.T, o golden.Options) golden.CaseReport {
	t.Helper()
	report, err := golden.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report.Cases[0]
}
