package tree

import (
	"fmt"
	"slices"
)

// Kind is what a node is.
type Kind string

// The kinds of nodes, with what their children are.
const (
	Block    Kind = "block"         // statements
	Local    Kind = "local"         // the values
	Assign   Kind = "assignment"    // the targets, then the values
	CallStmt Kind = "call"          // the call
	Do       Kind = "do"            // a block
	If       Kind = "if"            // clauses
	Clause   Kind = "clause"        // condition and block; of an else the block
	While    Kind = "while"         // condition and block
	Repeat   Kind = "repeat"        // block and condition
	For      Kind = "for"           // what it runs over, then a block
	Define   Kind = "definition"    // of a function: its body
	Return   Kind = "return"        // the values
	Jump     Kind = "jump"          // break, goto, and the label
	Binary   Kind = "binary"        // both sides; Op is the operator
	Unary    Kind = "unary"         // the operand; Op is the operator
	Paren    Kind = "parentheses"   // the inner expression
	Index    Kind = "index"         // what is indexed, and the key unless it is a name
	Call     Kind = "function call" // what is called, then the arguments
	Table    Kind = "table"         // fields
	Field    Kind = "field"         // a computed key, if any, and the value
	Function Kind = "function"      // a block
	Atom     Kind = "atom"          // a name or a constant
)

// Node is a part of the syntax tree with the tokens that it takes: the first and the last one.
// It keeps what the compiler's own tree leaves out, so that a source can be edited in place.
type Node struct {
	Kind        Kind
	First, Last int // tokens
	Op          int // token: operator, or the keyword of a clause; 0 when there is none
	Kids        []*Node
}

// Parse parses a source into tokens and the tree of them. It takes what the compiler takes; an error says
// where it stopped.
func Parse(source string) ([]Token, *Node, error) {
	tokens, err := Tokens(source)
	if err != nil {
		return nil, nil, err
	}
	p := &parser{tokens: tokens}
	root := p.block()
	if p.err == nil && p.peek().Kind != EndToken {
		p.fail("the end")
	}
	return tokens, root, p.err
}

// Walk visits a node and what is below it, with the nodes above; visit tells whether to go deeper.
func Walk(n *Node, visit func(n *Node, above []*Node) bool) { walk(n, nil, visit) }

func walk(n *Node, above []*Node, visit func(*Node, []*Node) bool) {
	if !visit(n, above) {
		return
	}
	above = append(slices.Clip(above), n)
	for _, kid := range n.Kids {
		walk(kid, above, visit)
	}
}

type parser struct {
	tokens []Token
	at     int
	err    error
}

func (p *parser) peek() Token { return p.tokens[p.at] }

// fail notes the first error and goes to the end, where everything stops.
func (p *parser) fail(expected string) {
	if p.err == nil {
		t := p.peek()
		p.err = fmt.Errorf("%d:%d: found %q, expected %s", t.Line, t.Column, t.Text, expected)
	}
	p.at = len(p.tokens) - 1
}

func (p *parser) is(texts ...string) bool {
	t := p.peek()
	return (t.Kind == KeywordToken || t.Kind == SymbolToken) && slices.Contains(texts, t.Text)
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail(text)
	}
}

func (p *parser) name() {
	if p.peek().Kind != NameToken {
		p.fail("a name")
		return
	}
	p.at++
}

func (p *parser) open(kind Kind) *Node { return &Node{Kind: kind, First: p.at} }

// close ends a node with the token before.
func (p *parser) close(n *Node, kids ...*Node) *Node {
	n.Kids = append(n.Kids, kids...)
	n.Last = max(p.at-1, n.First)
	return n
}

func (p *parser) block() *Node {
	b := p.open(Block)
	for p.peek().Kind != EndToken && !p.is("end", "else", "elseif", "until") {
		if !p.accept(";") {
			b.Kids = append(b.Kids, p.statement())
		}
	}
	return p.close(b)
}

func (p *parser) statement() *Node {
	switch t := p.peek(); {
	case t.Kind == SymbolToken && t.Text == "::":
		n := p.open(Jump)
		p.at++
		p.name()
		p.expect("::")
		return p.close(n)
	case t.Kind != KeywordToken:
		return p.expressionStatement()
	}
	switch p.peek().Text {
	case "if":
		return p.ifStatement()
	case "while":
		n := p.open(While)
		p.at++
		condition := p.expression(0)
		p.expect("do")
		body := p.block()
		p.expect("end")
		return p.close(n, condition, body)
	case "do":
		n := p.open(Do)
		p.at++
		body := p.block()
		p.expect("end")
		return p.close(n, body)
	case "for":
		return p.forStatement()
	case "repeat":
		n := p.open(Repeat)
		p.at++
		body := p.block()
		p.expect("until")
		return p.close(n, body, p.expression(0))
	case "function":
		return p.define()
	case "local":
		return p.local()
	}
	return p.leave()
}

// leave parses return, break and goto.
func (p *parser) leave() *Node {
	n := p.open(Jump)
	switch {
	case p.accept("return"):
		n.Kind = Return
		if p.peek().Kind != EndToken && !p.is("end", "else", "elseif", "until", ";") {
			n.Kids = p.list()
		}
	case p.accept("goto"):
		p.name()
	default:
		p.expect("break")
	}
	return p.close(n)
}

func (p *parser) ifStatement() *Node {
	n := p.open(If)
	for {
		c := p.open(Clause)
		c.Op = p.at
		if p.accept("else") {
			n.Kids = append(n.Kids, p.close(c, p.block()))
			break
		}
		if !p.is("if", "elseif") {
			break
		}
		p.at++
		condition := p.expression(0)
		p.expect("then")
		n.Kids = append(n.Kids, p.close(c, condition, p.block()))
		if p.is("end") {
			break
		}
	}
	p.expect("end")
	return p.close(n)
}

func (p *parser) forStatement() *Node {
	n := p.open(For)
	p.at++
	p.name()
	for p.accept(",") {
		p.name()
	}
	if !p.accept("=") {
		p.expect("in")
	}
	n.Kids = p.list()
	p.expect("do")
	body := p.block()
	p.expect("end")
	return p.close(n, body)
}

func (p *parser) define() *Node {
	n := p.open(Define)
	p.expect("function")
	p.name()
	for p.accept(".") || p.accept(":") {
		p.name()
	}
	return p.close(n, p.body(p.open(Function)))
}

func (p *parser) local() *Node {
	n := p.open(Local)
	p.at++
	if p.accept("function") {
		n.Kind = Define
		p.name()
		return p.close(n, p.body(p.open(Function)))
	}
	p.name()
	for p.accept(",") {
		p.name()
	}
	if p.accept("=") {
		n.Kids = p.list()
	}
	return p.close(n)
}

// body parses the parameters and the block of a function.
func (p *parser) body(n *Node) *Node {
	p.expect("(")
	for !p.accept(")") {
		if !p.accept("...") {
			p.name()
		}
		if p.err != nil {
			break
		}
		p.accept(",")
	}
	block := p.block()
	p.expect("end")
	return p.close(n, block)
}

func (p *parser) expressionStatement() *Node {
	n := p.open(CallStmt)
	e := p.suffixed()
	if e.Kind == Call {
		return p.close(n, e)
	}
	n.Kind, n.Kids = Assign, []*Node{e}
	for p.accept(",") {
		n.Kids = append(n.Kids, p.suffixed())
	}
	p.expect("=")
	return p.close(n, p.list()...)
}
