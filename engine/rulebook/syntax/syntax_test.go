package syntax_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"msgx/engine/rulebook/syntax"
)

func TestWhatIsShownReadsAsTheSame(t *testing.T) {
	for _, text := range []string{
		"a.b[c].d", "a[1]", `a["b c"]`, `a["end"]`, "f(x, y)", "a.b:c(1)(2)", "#drafts == 0 and #notes > 0",
		"not (a and b)", "not a == b", "(a or b) and c", "a and b or c", "a or b and c", "-(1 + 2) * 3", "1 - (2 - 3)",
		"2 ^ 3 ^ 4", "(2 ^ 3) ^ 4", "-2 ^ 2", "a .. b .. c", "(a .. b) .. c", `{ 1, a = 2, ["x y"] = 3, [k] = v }`, "{}",
		`"a\"b\\c\n\009"`, "...", "(#a)[1]", `("x"):upper()`, "true", "nil", "false", "a ~= b", "a <= b", "a % b / c",
	} {
		parsed := expr(t, text)
		if got := syntax.Expr(parsed); got != text {
			t.Errorf("shown as %s, expected %s", got, text)
		}
	}
}

func expr(t *testing.T, text string) ast.Expr {
	t.Helper()
	chunk, err := parse.Parse(strings.NewReader("return "+text), "test")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return chunk[0].(*ast.ReturnStmt).Exprs[0]
}

func TestStatements(t *testing.T) {
	for _, tt := range [][2]string{
		{"local a, b = 1, 2", "local a, b = 1, 2"},
		{"local a", "local a"},
		{"a.b, c = d, e", "a.b, c = d, e"},
		{"f(1)", "f(1)"},
		{"do f() end", "do … end"},
		{"while a do f() end", "while a do … end"},
		{"repeat f() until a", "repeat … until a"},
		{"if a then f() else g() end", "if a then … end"},
		{"for i = 1, 10, 2 do f() end", "for i = 1, 10, 2 do … end"},
		{"for k, v in pairs(t) do f() end", "for k, v in pairs(t) do … end"},
		{"function a.b:c(x, ...) end", "function a.b:c(x, ...) … end"},
		{"local function f(x) end", "local f = function(x) … end"},
		{"return", "return"},
		{"return a, b", "return a, b"},
		{"goto x ::x::", "goto x"},
	} {
		chunk, err := parse.Parse(strings.NewReader(tt[0]), "test")
		if err != nil {
			t.Fatalf("%s: %v", tt[0], err)
		}
		if got := syntax.Stmt(chunk[0]); got != tt[1] {
			t.Errorf("%s: shown as %s, expected %s", tt[0], got, tt[1])
		}
	}
}

func TestWords(t *testing.T) {
	source := "-- if\nif a and\n   b then x = \"if\" elseif c then end\n--[[ and\n]] local s = 'or' or d"
	want := []syntax.Place{{"if", 2, 1}, {"and", 2, 6}, {"elseif", 3, 20}, {"or", 5, 19}}
	if diff := cmp.Diff(want, syntax.Words(source, "if", "elseif", "and", "or")); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}
