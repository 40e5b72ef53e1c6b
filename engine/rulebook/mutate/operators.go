package mutate

import (
	"slices"
	"strconv"

	"msgx/engine/rulebook/syntax/tree"
)

// swaps are operators and what takes their place.
var swaps = map[string]struct{ operator, to string }{
	"==": {"compare", "~="}, "~=": {"compare", "=="}, "<": {"compare", "<="}, "<=": {"compare", "<"},
	">": {"compare", ">="}, ">=": {"compare", ">"},
	"and": {"logic", "or"}, "or": {"logic", "and"},
	"+": {"arithmetic", "-"}, "-": {"arithmetic", "+"}, "*": {"arithmetic", "/"}, "/": {"arithmetic", "*"},
	"%": {"arithmetic", "*"}, "^": {"arithmetic", "*"},
}

// words are names and constants and what takes their place.
var words = map[string]string{"true": "false", "false": "true", "nil": "false", "CLEAR": "nil"}

func (b *breeder) node(n *tree.Node) {
	switch n.Kind {
	case tree.Local:
		b.require(n)
	case tree.Binary:
		b.binary(n)
	case tree.Unary:
		b.unary(n)
	case tree.Atom:
		b.atom(n)
	case tree.Clause, tree.While:
		if len(n.Kids) == 2 {
			b.condition(n.Kids[0], n)
		}
	case tree.Repeat:
		b.condition(n.Kids[1], n)
	case tree.Assign, tree.CallStmt, tree.For, tree.Return, tree.Jump:
		b.statementLeft(n)
	case tree.Table:
		b.fields(n)
	case tree.Index, tree.Call:
		b.mode(n)
	}
}

func (b *breeder) binary(n *tree.Node) {
	op := b.tokens[n.Op]
	if s, ok := swaps[op.Text]; ok {
		b.add(s.operator, op, op, s.to)
	}
	switch op.Text {
	case "and", "or":
		b.replace("logic", n, b.text(n.Kids[0]))
		b.replace("logic", n, b.text(n.Kids[1]))
	case "..":
		b.replace("arithmetic", n, b.text(n.Kids[0]))
		b.replace("arithmetic", n, b.text(n.Kids[1]))
	}
}

func (b *breeder) unary(n *tree.Node) {
	switch b.tokens[n.Op].Text {
	case "not":
		b.replace("logic", n, b.text(n.Kids[0]))
	case "-":
		b.replace("arithmetic", n, b.text(n.Kids[0]))
	}
}

func (b *breeder) atom(n *tree.Node) {
	t := b.tokens[n.First]
	switch t.Kind {
	case tree.NumberToken:
		if v, err := strconv.ParseFloat(t.Text, 64); err == nil {
			b.replace("number", n, number(v+1))
			b.replace("number", n, number(v-1))
		}
	case tree.StringToken:
		if b.required(n) || b.declared() {
			return // what is no library, kind, tag or operation is refused when the script is loaded
		}
		b.replace("text", n, `"?"`)
		b.replace("text", n, `""`)
	case tree.KeywordToken, tree.NameToken:
		if to, ok := words[t.Text]; ok {
			b.replace("word", n, to)
		}
	}
}

// header are the parts of a script's table in which every text is a name that the host knows.
var header = []string{"kind", "kinds", "writes", "ops", "reads"}

// needed are the parts without which the host refuses a script.
var needed = []string{"kind", "kinds", "writes", "decide"}

// declared tells whether the node at hand is within such a part.
func (b *breeder) declared() bool {
	return len(b.above) > 3 && b.above[1].Kind == tree.Return && b.above[2].Kind == tree.Table && b.above[3].Kind == tree.Field &&
		slices.Contains(header, b.tokens[b.above[3].First].Text)
}

// number writes a number; a minus must not meet another, which would begin a comment.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if v < 0 {
		return "(" + text + ")"
	}
	return text
}

// negated are the operators that compare and logic turn round already.
var negated = []string{"==", "~=", "not"}

// condition breaks what decides in a statement. A comparison and "not" are negated by other operators.
func (b *breeder) condition(c, in *tree.Node) {
	above := b.above
	b.above = append(b.above[:len(b.above):len(b.above)], in)
	defer func() { b.above = above }()
	b.replace("condition", c, "true")
	b.replace("condition", c, "false")
	if c.Op == 0 || !slices.Contains(negated, b.tokens[c.Op].Text) {
		b.replace("condition", c, "not ("+b.text(c)+")")
	}
}

// statementLeft leaves a statement out. Declarations stay: without one the host refuses the script. So
// does the last return of a file.
func (b *breeder) statementLeft(n *tree.Node) {
	if n.Kind == tree.Return && len(b.above) == 1 {
		return
	}
	if n.Kind == tree.Jump && b.tokens[n.First].Text == "::" {
		return
	}
	above := b.above
	b.above = append(b.above[:len(b.above):len(b.above)], n)
	defer func() { b.above = above }()
	b.replace("statement", n, "")
}

// fields leaves each entry of a table out, with the comma after it.
func (b *breeder) fields(n *tree.Node) {
	required := len(b.above) == 2 && b.above[1].Kind == tree.Return // the table of a script
	for _, f := range n.Kids {
		if required && slices.Contains(needed, b.tokens[f.First].Text) {
			continue
		}
		last := b.tokens[f.Last]
		if next := b.tokens[f.Last+1]; next.Text == "," || next.Text == ";" {
			last = next
		}
		b.add("field", b.tokens[f.First], last, "")
	}
}
