package syntax_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"msgx"
	"msgx/engine/rulebook/syntax"
)

// located parses a source and fails when a name or constant is not where its place says.
func located(t *testing.T, name, source string) int {
	t.Helper()
	chunk, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		t.Fatal(err)
	}
	places, lines, n := syntax.Locate(source, chunk), strings.Split(source, "\n"), 0
	syntax.Inspect(chunk, func(node ast.PositionHolder, _ []ast.PositionHolder) bool {
		var text string
		switch node := node.(type) {
		case *ast.IdentExpr:
			text = node.Value
		case *ast.NumberExpr:
			text = node.Value
		case *ast.StringExpr:
			text = node.Value
		case *ast.FunctionExpr:
			text = "function"
		case *ast.TableExpr:
			text = "{"
		case *ast.ReturnStmt:
			text = "return"
		default:
			return true
		}
		n++
		at := places.Of(node)
		if at.Column == 0 {
			t.Fatalf("%s: %T %q has no place", name, node, text)
		}
		there := strings.TrimLeft(lines[at.Line-1][at.Column-1:], `"'[`)
		if !strings.HasPrefix(there, text) {
			t.Errorf("%s: %T %q: found %q at %d:%d", name, node, text, there, at.Line, at.Column)
		}
		return true
	})
	return n
}

func TestPlacesOfTheShippedRules(t *testing.T) {
	names, err := fs.Glob(msgx.Files, "rules/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "handlers.lua", "rules/lib/merge.lua", "rules/lib/draft.lua") {
		source, err := fs.ReadFile(msgx.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		if located(t, name, string(source)) == 0 {
			t.Errorf("%s: found no node", name)
		}
	}
}

func TestPlacesOfEveryForm(t *testing.T) {
	located(t, "forms", `local function f() return function() end end
local a, b = function(x, ...) return x, ... end, { 1, x = 2, ["y"] = {}, [f] = 'z' }
function a.b.c(p) return p end function a:m(q) return self, q end
for i = 1, 10, 2 do f(i) end for k, v in pairs(b) do f(k, v) end
while true do break end repeat local u = 1 until u
if a then f() elseif b then f{} else f"s" end
do goto done end ::done::
a.b["c"], d = -1, not #a
local s = [[long]] .. a:m(1):m(2) .. (f)(function() end, function() end)
return a and b or (1 + 2) * 3 ^ 4`)
}
