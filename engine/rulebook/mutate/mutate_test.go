package mutate_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx"
	"msgx/engine/rulebook/mutate"
)

var options = mutate.Options{FirstElement: func(tag string) (string, bool) {
	return map[string]string{"GTDT": "GTNO"}[tag], tag == "GTDT"
}}

func TestMutants(t *testing.T) {
	tests := []struct {
		name, source string
		want         []string
	}{
		{"compare", "local x = a < b", []string{"1:13 compare `<` -> `<=`"}},
		{"a condition", "if a == nil then f() end", []string{
			"1:4 condition `a == nil` -> `true`", "1:4 condition `a == nil` -> `false`",
			"1:6 compare `==` -> `~=`", "1:9 word `nil` -> `false`", "1:18 statement without `f()`",
		}},
		{"a condition that no operator negates", "while #a > 0 do break end", []string{
			"1:7 condition `#a > 0` -> `true`", "1:7 condition `#a > 0` -> `false`", "1:7 condition `#a > 0` -> `not (#a > 0)`",
			"1:10 compare `>` -> `>=`", "1:12 number `0` -> `1`", "1:12 number `0` -> `(-1)`", "1:17 statement without `break`",
		}},
		{"not", "repeat f() until not a", []string{
			"1:18 condition `not a` -> `true`", "1:18 condition `not a` -> `false`", "1:8 statement without `f()`", "1:18 logic `not a` -> `a`",
		}},
		{"logic", "local x = a and b or CLEAR", []string{
			"1:19 logic `or` -> `and`", "1:11 logic `a and b or CLEAR` -> `a and b`", "1:11 logic `a and b or CLEAR` -> `CLEAR`",
			"1:13 logic `and` -> `or`", "1:11 logic `a and b` -> `a`", "1:11 logic `a and b` -> `b`", "1:22 word `CLEAR` -> `nil`",
		}},
		{"arithmetic", `local x = -a * 2 .. "s"`, []string{
			"1:11 arithmetic `-a * 2 .. \"s\"` -> `-a * 2`", "1:11 arithmetic `-a * 2 .. \"s\"` -> `\"s\"`",
			"1:14 arithmetic `*` -> `/`", "1:11 arithmetic `-a` -> `a`", "1:16 number `2` -> `3`", "1:16 number `2` -> `1`",
			"1:21 text `\"s\"` -> `\"?\"`", "1:21 text `\"s\"` -> `\"\"`",
		}},
		{"statements", "for _, v in ipairs(t) do\n  a.b = v\nend\ngoto x\n::x::\nreturn a", []string{
			"1:1 statement without `for _, v in ipairs(t) do a.b = v end`", "2:3 statement without `a.b = v`", "4:1 statement without `goto x`",
		}},
		{"a return of a function", "local function f() return nil end", []string{
			"1:20 statement without `return nil`", "1:27 word `nil` -> `false`",
		}},
		{"a table", "local t = { a = x, y }", []string{"1:13 field without `a = x,`", "1:20 field without `y`"}},
		{"a header is checked when it is loaded", `return { kinds = { "A" }, note = "B" }`, []string{
			"1:27 field without `note = \"B\"`", "1:20 field without `\"A\"`",
			"1:34 text `\"B\"` -> `\"?\"`", "1:34 text `\"B\"` -> `\"\"`",
		}},
		{"modes", "local m = require(\"merge\")\nf({ GTDT = m.replace }, m.value)", []string{
			"2:1 statement without `f({ GTDT = m.replace }, m.value)`", "2:5 field without `GTDT = m.replace`",
			"2:12 mode `m.replace` -> `m.set_only(m.replace)`", "2:12 mode `m.replace` -> `m.by_key(\"GTNO\")`",
			"2:25 mode `m.value` -> `m.set_only(m.value)`",
		}},
		{"modes made of others", "local m = require(\"merge\")\nlocal x = { a = m.set_only(m.value), b = m.by_key(C, D) }", []string{
			"2:13 field without `a = m.set_only(m.value),`", "2:38 field without `b = m.by_key(C, D)`",
			"2:17 mode `m.set_only(m.value)` -> `m.value`",
			"2:42 mode `m.by_key(C, D)` -> `m.replace`", "2:42 mode `m.by_key(C, D)` -> `m.set_only(m.by_key(C, D))`",
			"2:42 mode `m.by_key(C, D)` -> `m.by_key(D)`", "2:42 mode `m.by_key(C, D)` -> `m.by_key(C)`",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mutants, err := mutate.Mutants("f.lua", tt.source, options)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, m := range mutants {
				got = append(got, fmt.Sprintf("%d:%d %s %s", m.Line, m.Column, m.Operator, m.Change()))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mutants of %s (-want +got):\n%s", tt.source, diff)
			}
		})
	}
}

func TestMutantsOfABrokenScript(t *testing.T) {
	if _, err := mutate.Mutants("f.lua", "local = 1", options); err == nil || err.Error() != `f.lua:1:7: found "=", expected a name` {
		t.Errorf("%v, expected the place of the fault", err)
	}
}

// Every mutant of what is shipped is another text that keeps its lines, and no two are the same.
func TestMutantsOfTheShippedScripts(t *testing.T) {
	seen := map[string]bool{}
	err := fs.WalkDir(msgx.Files, "rules", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".lua") {
			return err
		}
		data, err := fs.ReadFile(msgx.Files, path)
		if err != nil {
			return err
		}
		source := string(data)
		mutants, err := mutate.Mutants(path, source, options)
		for _, m := range mutants {
			text := m.Apply(source)
			if text == source || seen[path+text] {
				t.Errorf("%s: %s is nothing new", m.Place(), m.Change())
			}
			seen[path+text] = true
			if strings.Count(text, "\n") != strings.Count(source, "\n") {
				t.Errorf("%s: %s has other lines", m.Place(), m.Change())
			}
			if m.Diff(source) == "" || !strings.HasPrefix(m.Diff(source), "- ") {
				t.Errorf("%s: %s shows %q", m.Place(), m.Change(), m.Diff(source))
			}
		}
		return err
	})
	if err != nil || len(seen) < 300 {
		t.Errorf("%d mutants, %v", len(seen), err)
	}
}

func TestDiff(t *testing.T) {
	source := "local a = 1\nfor i = 1, 2 do\n  f(i)\nend\nlocal b = a == 2\n"
	mutants, err := mutate.Mutants("f.lua", source, options)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"without `for i = 1, 2 do f(i) end`": "- for i = 1, 2 do\n-   f(i)\n- end\n",
		"`==` -> `~=`":                       "- local b = a == 2\n+ local b = a ~= 2\n",
	}
	for _, m := range mutants {
		if w, ok := want[m.Change()]; ok {
			if diff := cmp.Diff(w, m.Diff(source)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", m.Change(), diff)
			}
			delete(want, m.Change())
		}
	}
	if len(want) > 0 {
		t.Errorf("no mutants %v", want)
	}
}
