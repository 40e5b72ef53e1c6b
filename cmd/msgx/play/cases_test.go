package play

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheInputBecomesACase(t *testing.T) {
	p := start(t)
	q := NewCase{Question: p.gates("merge.replace", `merge.by_key("GTNO")`), Name: "gates-by-number", Comment: "Gates are told apart by number."}
	preview := ask[Composed](p, "api/compose", q, http.StatusOK)
	if preview.File != "" || !strings.HasPrefix(preview.Text, q.Comment) || !strings.Contains(preview.Text, "01-replaces.xml: SUCCEEDED") {
		t.Errorf("found %+v, expected the text and nothing filed", preview)
	}
	saved := ask[Composed](p, "api/case", q, http.StatusOK)
	text, err := os.ReadFile(filepath.Join(p.golden, "cases/gates-by-number.txtar"))
	if err != nil || string(text) != saved.Text || saved.Text != preview.Text {
		t.Errorf("found %v and\n%s\nexpected the text of the preview\n%s", err, text, preview.Text)
	}
	// With the text that it was made with, it comes out as it expects.
	q.Input = fetch[Case](p, "api/case?name=gates-by-number", http.StatusOK).Input
	if a := p.evaluated(q.Question); a.Result == nil || a.Result.Expected == nil || !*a.Result.Expected {
		t.Errorf("found %+v, expected the case to come out", a)
	}
	p.refused("api/case", q, http.StatusConflict, "Choose another name")
}

func TestACaseThatCannotBeIsRefused(t *testing.T) {
	p := start(t)
	good := p.gates()
	broken := p.gates("return {", "return")
	for _, test := range []struct {
		name, says string
		q          NewCase
	}{
		{"no comment", "no comment", NewCase{good, "new", "!zone: UTC"}},
		{"a path as a name", "small letters", NewCase{good, "../new", "New."}},
		{"no name", "small letters", NewCase{good, "", "New."}},
		{"a broken script", "flop-gtdt@1.lua", NewCase{broken, "new", "New."}},
		{"a broken state", "line 1", NewCase{Question{good.File, good.Source, Input{State: "x", Messages: good.Input.Messages}}, "new", "New."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.refused("api/compose", test.q, http.StatusBadRequest, test.says)
			p.refused("api/case", test.q, http.StatusBadRequest, test.says)
		})
	}
	fetch[refusal](p, "api/case?name=flop-gtdtt", http.StatusNotFound)
}

func TestTheScriptsOfACaseAreNamed(t *testing.T) {
	p := start(t)
	if got := fetch[Case](p, "api/case?name=flop-gtdt", http.StatusOK).Files; len(got) != 1 || got[0] != gatesFile {
		t.Errorf("found %v, expected the script that decides it", got)
	}
}

func TestTheCorpusRunsWithTheTextOfTheEditor(t *testing.T) {
	p := start(t)
	q := p.gates()
	a := ask[CorpusAnswer](p, "api/corpus", CorpusQuestion{q.File, q.Source}, http.StatusOK)
	if a.Cases < 100 || len(a.Failing)+len(a.Faults) > 0 || a.Coverage == nil || a.Coverage.Name != q.File || a.Coverage.Lines.Total != 3 {
		t.Errorf("found %+v, expected all cases to pass and the coverage of the file", a)
	}
	q = p.gates("return merge.flop", `if msg.kind == "X" then return { skip = "x" } end return merge.flop`, "merge.replace", `merge.by_key("GTNO")`)
	a = ask[CorpusAnswer](p, "api/corpus", CorpusQuestion{q.File, q.Source}, http.StatusOK)
	if len(a.Failing) == 0 || !strings.Contains(a.Failing[0].Text, "GTDT") || len(a.Coverage.Missing) == 0 {
		t.Errorf("found %+v, expected cases that differ and an outcome that no case has", a)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "rules/mine@1.lua"), []byte("return {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	a = ask[CorpusAnswer](p, "api/corpus", CorpusQuestion{"rules/mine@1.lua", gatesText}, http.StatusOK)
	if a.Cases < 100 || a.Coverage != nil || len(a.Failing)+len(a.Faults) > 0 {
		t.Errorf("found %+v, expected the corpus to pass and no coverage of a script that nothing names", a)
	}
	a = ask[CorpusAnswer](p, "api/corpus", CorpusQuestion{q.File, "return"}, http.StatusOK)
	if !slices.ContainsFunc(a.Faults, func(f Fault) bool { return f.File == q.File }) {
		t.Errorf("found %+v, expected why the rule set does not load", a)
	}
}
