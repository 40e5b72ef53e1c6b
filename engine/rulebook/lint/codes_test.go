package lint_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"msgx"
	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rulebook"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/lint"
	"msgx/engine/verdict"
	"msgx/schemas"
)

var update = flag.Bool("update", false, "write what came out into testdata/codes and rules/DIAGNOSTICS.md")

// fixture is one code: a rule set that has it, what is reported, and the same mended.
type fixture struct {
	code          diagnostic.Code
	path          string
	prose         string
	broken, fixed map[string]string
	expect        string
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	paths, err := filepath.Glob("testdata/codes/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out []fixture
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		a := txtar.Parse(data)
		f := fixture{code: diagnostic.Code(strings.TrimSuffix(filepath.Base(path), ".txtar")), path: path, prose: strings.TrimSpace(string(a.Comment)),
			broken: map[string]string{}, fixed: map[string]string{}}
		for _, file := range a.Files {
			if name, ok := strings.CutPrefix(file.Name, "fixed/"); ok {
				f.fixed[name] = string(file.Data)
			} else if file.Name == "expect" {
				f.expect = strings.TrimSpace(string(file.Data))
			} else {
				f.broken[file.Name] = string(file.Data)
			}
		}
		out = append(out, f)
	}
	return out
}

func (f fixture) save(t *testing.T, got string) {
	t.Helper()
	data, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(data), "-- expect --\n")
	if err := os.WriteFile(f.path, []byte(before+"-- expect --\n"+got+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCodes: each code on a rule set that has it, in full, and the mended one without
// a finding.
func TestCodes(t *testing.T) {
	cat := shippedCatalogue(t)
	for _, f := range fixtures(t) {
		t.Run(string(f.code), func(t *testing.T) {
			kind, known := diagnostic.KindOf(f.code)
			if !known {
				t.Fatalf("%s: there is no such code", f.path)
			}
			got := reported(t, cat, kind, f.broken)
			if !strings.Contains(got, "["+string(f.code)+"]") {
				t.Errorf("%s is not reported:\n%s", f.code, got)
			}
			if *update {
				f.save(t, got)
			} else if diff := cmp.Diff(f.expect, got); diff != "" {
				t.Errorf("%s (-want +got), -update writes it:\n%s", f.path, diff)
			}
			if len(f.fixed) == 0 {
				return
			}
			want := "no findings"
			if kind.Run {
				want = "no error"
			}
			if mended := reported(t, cat, kind, f.fixed); !strings.HasSuffix(mended, want) {
				t.Errorf("the mended rule set:\n%s", mended)
			}
		})
	}
}

// needed are the scripts that handlers names; rest takes what is left.
var needed = []string{"rules/flop-gtdt@1.lua", "rules/flop-ckdt@1.lua", "rules/flop-stnd@1.lua", "rules/fdel@1.lua", "rules/ref@1.lua"}

const (
	handlers = `return {
  ["FLOP-GTDT"] = "flop-gtdt@1", ["FLOP-CKDT"] = "flop-ckdt@1", ["FLOP-STND"] = "flop-stnd@1", ["FDEL"] = "fdel@1",
  defaults = { ["REF-*"] = "ref@1", ["*"] = "rest@1" },
}
`
	rest = `return { kinds = { "*" }, writes = {}, decide = function() return {} end }
`
)

// reported is what the linter says, or for a code of a running rule the error.
func reported(t *testing.T, cat *catalogue.Catalogue, kind diagnostic.Kind, files map[string]string) string {
	t.Helper()
	rules := overlaid(t, files)
	for name := range rules { // no more than is needed, to be quick
		_, given := files[name]
		if !given && strings.HasPrefix(name, "rules/") && !strings.HasPrefix(name, "rules/lib/") && !slices.Contains(needed, name) {
			delete(rules, name)
		}
	}
	if _, given := files["handlers.lua"]; !given {
		rules["handlers.lua"] = &fstest.MapFile{Data: []byte(handlers)}
		rules["rules/rest@1.lua"] = &fstest.MapFile{Data: []byte(rest)}
	}
	report, err := lint.Check(rules, cat)
	if err != nil {
		t.Fatal(err)
	}
	if kind.Run {
		if hard := slices.DeleteFunc(report.Findings, func(f lint.Finding) bool { return f.Code != diagnostic.Syntax }); len(hard) > 0 {
			t.Fatalf("does not load: %v", hard)
		}
		return ran(t, cat, rules, strings.HasPrefix(files["rules/flop-gtdt@1.lua"], "!broken state\n"))
	}
	var b strings.Builder
	if err := report.Write(&b); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// ran gives a gate change to the rules, and returns the error that comes of it.
func ran(t *testing.T, cat *catalogue.Catalogue, rules fs.FS, broken bool) string {
	t.Helper()
	book, err := rulebook.Load(rules, cat, rulebook.Settings{}, rulebook.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	msg := &message.Message{ID: 1, Kind: "FLOP-GTDT", Family: message.Operation, Meta: message.Meta{Sequence: "17", SentAt: "2021-01-23T22:31:26+08:00"},
		Records: []message.Record{{FLID: 1000345, Elements: map[string]message.Element{"GTDT": {Records: []flight.Record{{Fields: flight.Fields{"GATE": "12"}}}}}}}}
	state := &flight.State{ID: 1000345, Status: flight.Active, Version: 1, Fields: flight.Fields{"FLID": "1000345", "MAXP": "180", "MVIN": "A"}, Lists: map[string][]flight.Record{}}
	if broken {
		state.Fields["MAXP"] = "many"
	}
	view := decision.View{Flights: map[flight.ID]*flight.State{1000345: state}}
	if _, err := book.Decide(msg, view); err != nil {
		return err.Error()
	}
	zone := time.FixedZone("Asia/Shanghai", 8*3600)
	judge := verdict.New(cat, book, verdict.Options{Options: decision.Options{Zone: zone}})
	s := judge.Judge(msg, decision.Claimed{View: view}, time.Date(2021, 1, 23, 22, 31, 26, 0, zone))
	if s.Outcome.State == message.Failed {
		return s.Outcome.Reason
	}
	return "no error"
}

// overlaid is the shipped rule set with some files put in place of, or beside, its own.
func overlaid(t testing.TB, files map[string]string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(msgx.Files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(msgx.Files, name)
		out[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		text = strings.TrimPrefix(text, "!broken state\n")
		if text == "!large\n" {
			text = strings.Repeat("-- large\n", 40_000)
		}
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func shippedCatalogue(t testing.TB) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// TestEveryCodeHasAFixture, and each says in words of its own what it means.
func TestEveryCodeHasAFixture(t *testing.T) {
	there := map[diagnostic.Code]fixture{}
	for _, f := range fixtures(t) {
		there[f.code] = f
	}
	for _, k := range diagnostic.All() {
		if f, ok := there[k.Code]; !ok || f.prose == "" {
			t.Errorf("%s: no fixture with a comment in testdata/codes", k.Code)
		}
		if k.Title == "" || k.Cause == "" || k.Fix == "" {
			t.Errorf("%s: a code has a title, a cause and a fix", k.Code)
		}
	}
	if !slices.IsSortedFunc(diagnostic.All(), func(a, b diagnostic.Kind) int { return strings.Compare(string(a.Code), string(b.Code)) }) {
		t.Error("the codes are not in order")
	}
}

const pagesFile = "../../../rules/DIAGNOSTICS.md"

// TestPages: the pages are made of the codes and their fixtures.
func TestPages(t *testing.T) {
	want := pages(fixtures(t))
	if *update {
		if err := os.WriteFile(pagesFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(pagesFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("rules/DIAGNOSTICS.md is stale, -update writes it (-want +got):\n%s", diff)
	}
	for _, k := range diagnostic.All() {
		if page, ok := diagnostic.PageOf(msgx.Diagnostics, k.Code); !ok || !strings.Contains(page, upper(k.Title)) {
			t.Errorf("%s: found no page with its title", k.Code)
		}
	}
}

var families = map[string]string{
	"MX0": "Files and manifest", "MX1": "Purity", "MX2": "Footprint", "MX3": "Catalogue", "MX4": "Shape", "MX5": "Hygiene", "MX6": "While a rule runs",
}

func pages(list []fixture) string {
	var b strings.Builder
	b.WriteString("# Diagnostics\n\nWhat `msgx rules lint`, the loading of a rule set and a running rule report, by number.\n" +
		"`msgx rules lint --explain MX301` prints a page. Every example is checked by a test.\n\n" +
		"<!-- Made by: go test ./engine/rulebook/lint -update -->\n")
	family := ""
	for _, f := range list {
		k, _ := diagnostic.KindOf(f.code)
		if next := string(f.code[:3]); next != family {
			family = next
			fmt.Fprintf(&b, "\n## %s\n", families[family])
		}
		fmt.Fprintf(&b, "\n### %s\n\n**%s.** %s\n\n- Why: %s.\n- What to do: %s.\n", f.code, upper(k.Title), f.prose, k.Cause, k.Fix)
		examples(&b, "", f.broken)
		fmt.Fprintf(&b, "\n```text\n%s\n```\n", f.expect)
		examples(&b, "Mended:\n", f.fixed)
	}
	return b.String()
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// examples shows files; what only fills a rule set up is left out.
func examples(b *strings.Builder, head string, files map[string]string) {
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range files {
			if !strings.Contains(n, "-any@") && !yield(n) {
				return
			}
		}
	}) {
		if files[name] == "!large\n" {
			continue
		}
		fmt.Fprintf(b, "\n%s", head)
		if head != "" {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "```lua\n-- %s\n%s```\n", name, strings.TrimPrefix(files[name], "!broken state\n"))
		head = ""
	}
}
