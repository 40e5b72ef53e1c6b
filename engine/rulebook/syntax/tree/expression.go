package tree

// binding is how tightly a binary operator binds to its left and right; a larger left side
// makes it bind to the left.
var binding = map[string][2]int{
	"or": {1, 1}, "and": {2, 2},
	"<": {3, 3}, ">": {3, 3}, "<=": {3, 3}, ">=": {3, 3}, "~=": {3, 3}, "==": {3, 3},
	"..": {5, 4}, "+": {6, 6}, "-": {6, 6}, "*": {7, 7}, "/": {7, 7}, "%": {7, 7}, "^": {10, 9},
}

const unaryBinding = 8

func (p *parser) list() []*Node {
	out := []*Node{p.expression(0)}
	for p.accept(",") {
		out = append(out, p.expression(0))
	}
	return out
}

// expression parses operators that bind more tightly than the limit.
func (p *parser) expression(limit int) *Node {
	var left *Node
	if p.is("not", "-", "#") {
		left = p.open(Unary)
		left.Op = p.at
		p.at++
		p.close(left, p.expression(unaryBinding))
	} else {
		left = p.simple()
	}
	for p.peek().Kind == SymbolToken || p.peek().Kind == KeywordToken {
		b, ok := binding[p.peek().Text]
		if !ok || b[0] <= limit {
			break
		}
		n := &Node{Kind: Binary, First: left.First, Op: p.at}
		p.at++
		left = p.close(n, left, p.expression(b[1]))
	}
	return left
}

func (p *parser) simple() *Node {
	n := p.open(Atom)
	switch t := p.peek(); {
	case t.Kind == NumberToken, t.Kind == StringToken, p.is("nil", "true", "false", "..."):
		p.at++
		return p.close(n)
	case p.is("{"):
		return p.table()
	case p.accept("function"):
		n.Kind = Function
		return p.body(n)
	}
	return p.suffixed()
}

// suffixed parses a name or parentheses with what follows: keys and calls.
func (p *parser) suffixed() *Node {
	n := p.open(Atom)
	if p.accept("(") {
		n.Kind = Paren
		inner := p.expression(0)
		p.expect(")")
		p.close(n, inner)
	} else {
		p.name()
		p.close(n)
	}
	for p.err == nil {
		outer := &Node{Kind: Index, First: n.First, Kids: []*Node{n}}
		switch {
		case p.accept("."):
			p.name()
		case p.accept("["):
			outer.Kids = append(outer.Kids, p.expression(0))
			p.expect("]")
		case p.accept(":"):
			p.name()
			outer.Kind = Call
			outer.Kids = append(outer.Kids, p.arguments()...)
		case p.is("(", "{"), p.peek().Kind == StringToken:
			outer.Kind = Call
			outer.Kids = append(outer.Kids, p.arguments()...)
		default:
			return n
		}
		n = p.close(outer)
	}
	return n
}

func (p *parser) arguments() []*Node {
	switch {
	case p.peek().Kind == StringToken:
		n := p.open(Atom)
		p.at++
		return []*Node{p.close(n)}
	case p.is("{"):
		return []*Node{p.table()}
	}
	p.expect("(")
	if p.accept(")") {
		return nil
	}
	args := p.list()
	p.expect(")")
	return args
}

func (p *parser) table() *Node {
	t := p.open(Table)
	p.expect("{")
	for !p.is("}") && p.err == nil {
		f := p.open(Field)
		switch {
		case p.accept("["):
			f.Kids = []*Node{p.expression(0)}
			p.expect("]")
			p.expect("=")
		case p.peek().Kind == NameToken && p.tokens[p.at+1].Text == "=" && p.tokens[p.at+1].Kind == SymbolToken:
			p.at += 2
		}
		t.Kids = append(t.Kids, p.close(f, p.expression(0)))
		if !p.accept(",") && !p.accept(";") {
			break
		}
	}
	p.expect("}")
	return p.close(t)
}
