package tree_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/gopher-lua/parse"

	"msgx"
	"msgx/engine/rulebook/syntax/tree"
)

// sources are the shipped scripts, and every form of the language.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"all": strings.Join([]string{
		`local function va(...) local a, b = ..., 2; if ... then return a, ... end return b end`,
		`local x = { f = 1, ["g h"] = 2; 3, [a.b[c]] = { }, function() end, }`,
		`function x.y.z:m(a, b) return self end`,
		`for i = 1, 10, 2 do if i == 2 then goto continue elseif not i then break else i = -i ^ 2 end ::continue:: end`,
		`while a and b or c do repeat a = a .. "x" .. 'y\'' .. [[z]] .. [=[]]]=] until #a >= 0x1F or 1e-5 ~= .5 end`,
		`x.f{1}; x:g"s" (x or y)(1)[2].z = 1, 2`,
		"-- a comment --[[ not long\n--[==[ long\n]] ]==]",
		`do return end`,
	}, "\n")}
	err := fs.WalkDir(msgx.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lua") {
			data, err := fs.ReadFile(msgx.Files, path)
			out[path] = string(data)
			return err
		}
		return err
	})
	if err != nil || len(out) < 50 {
		t.Fatalf("%d sources, %v", len(out), err)
	}
	return out
}

// The compiler's scanner finds the same tokens at the same places.
func TestTokensAreTheCompilers(t *testing.T) {
	for name, source := range sources(t) {
		var want, got []string
		s, lexer := parse.NewScanner(strings.NewReader(source), name), &parse.Lexer{}
		for {
			token, err := s.Scan(lexer)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if token.Type == parse.EOF {
				break
			}
			text := token.Str
			switch token.Type {
			case parse.TString:
				text = "string"
			case '.':
				text = "." // the compiler leaves the text out
			}
			want = append(want, fmt.Sprintf("%d:%d %s", token.Pos.Line, token.Pos.Column, text))
		}
		tokens, err := tree.Tokens(source)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, token := range tokens[:len(tokens)-1] {
			text := token.Text
			if token.Kind == tree.StringToken {
				text = "string"
			}
			got = append(got, fmt.Sprintf("%d:%d %s", token.Line, token.Column, text))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: tokens (-compiler +ours):\n%s", name, diff)
		}
	}
}

func TestTreeTakesWhatTheCompilerTakes(t *testing.T) {
	for name, source := range sources(t) {
		tokens, root, err := tree.Parse(source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tree.Walk(root, func(n *tree.Node, above []*tree.Node) bool {
			if n.First > n.Last && len(n.Kids) > 0 || n.Last >= len(tokens) {
				t.Errorf("%s: %s takes tokens %d to %d", name, n.Kind, n.First, n.Last)
			}
			if len(above) > 0 {
				if up := above[len(above)-1]; n.Kind != tree.Block && (n.First < up.First || n.Last > up.Last) {
					t.Errorf("%s: %s (tokens %d to %d) is not within %s (%d to %d)", name, n.Kind, n.First, n.Last, up.Kind, up.First, up.Last)
				}
			}
			return true
		})
	}
}

// shape writes a tree with the text of its operators.
func shape(source string, tokens []tree.Token, n *tree.Node) string {
	if n.Kind == tree.Atom {
		return source[tokens[n.First].Start:tokens[n.Last].End]
	}
	parts := []string{string(n.Kind)}
	if n.Op > 0 {
		parts[0] = tokens[n.Op].Text
	}
	for _, kid := range n.Kids {
		parts = append(parts, shape(source, tokens, kid))
	}
	return "(" + strings.Join(parts, " ") + ")"
}

func TestTreeOfOperators(t *testing.T) {
	tests := []struct{ source, want string }{
		{"return a or b and c or d", "(or (or a (and b c)) d)"},
		{"return not a == b", "(== (not a) b)"},
		{"return -a ^ b ^ c", "(- (^ a (^ b c)))"},
		{"return a .. b .. c + 1", "(.. a (.. b (+ c 1)))"},
		{"return (a or b) and #c.d > 0", "(and (parentheses (or a b)) (> (# (index c)) 0))"},
		{"return f(1){2}:g()[3]", "(index (function call (function call (function call f 1) (table (field 2)))) 3)"},
	}
	for _, tt := range tests {
		tokens, root, err := tree.Parse(tt.source)
		if err != nil {
			t.Errorf("%s: %v", tt.source, err)
			continue
		}
		want := "(block (return " + tt.want + "))"
		if diff := cmp.Diff(want, shape(tt.source, tokens, root)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.source, diff)
		}
	}
}

func TestTreeRefuses(t *testing.T) {
	tests := []struct{ source, want string }{
		{"return (1", `1:10: found "", expected )`},
		{"local 1", `1:7: found "1", expected a name`},
		{"x = ", `1:5: found "", expected a name`},
		{"if x then", `1:10: found "", expected end`},
		{"x = 'a\n'", "1:5: a string does not end on its line"},
		{"x = [[a", "1:5: found no ]]"},
		{"x = $", "1:5: found '$'"},
		{"f( end", `1:4: found "end", expected a name`},
		{"function f(a b", `1:15: found "", expected a name`},
	}
	for _, tt := range tests {
		if _, _, err := tree.Parse(tt.source); err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, expected %s", tt.source, err, tt.want)
		}
	}
}

// What the compiler takes has a tree, and whatever stands there, parsing ends.
func FuzzParse(f *testing.F) {
	for _, source := range []string{
		"", "return", "local a <b> = 1", "a.b:c 'd' { e } [[f]]", "goto x ::x::", "for a, b in c do end", "if a then elseif b then else end;",
		"repeat until not not -#a", "x = 0x1p4 .. 1e+5 .. .5", "--[==[ a ]=] ]==] return 1", "f(a, ...)", "return function(a, ...) end",
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		_, root, err := tree.Parse(source)
		if _, wrong := parse.Parse(strings.NewReader(source), ""); wrong != nil {
			return
		}
		if err != nil || root == nil {
			t.Errorf("the compiler takes %q: %v", source, err)
		}
	})
}
