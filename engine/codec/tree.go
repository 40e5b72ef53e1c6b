package codec

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/antchfx/xmlquery"
)

// bounds are the limits of a tree. Attributes and pieces of text together may
// be four times the number of elements.
type bounds struct{ depth, elements int }

// slabSize is how many nodes are allocated at once.
const slabSize = 64

// treeBuilder makes a tree of elements and text; comments and processing
// instructions are left out, CDATA is text.
type treeBuilder struct {
	decoder  *xml.Decoder
	limit    bounds
	document xmlquery.Node
	open     *xmlquery.Node // the innermost open element, or the document
	depth    int
	elements int
	pieces   int
	slab     []xmlquery.Node
}

// parseTree reads a whole body in UTF-8 and returns its root element.
func parseTree(text []byte, limit bounds) (*xmlquery.Node, *Error) {
	b := &treeBuilder{decoder: xml.NewDecoder(bytes.NewReader(text)), limit: limit}
	b.decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	b.document.Type = xmlquery.DocumentNode
	b.open = &b.document
	for first := true; ; {
		token, err := b.decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, b.syntax(err)
		}
		if fault := b.add(token, first); fault != nil {
			return nil, fault
		}
		if chars, ok := token.(xml.CharData); !ok || !blank(chars) {
			first = false
		}
	}
	if b.document.FirstChild == nil {
		return nil, malformed(document, "", "the root element MSG")
	}
	return b.document.FirstChild, nil
}

func (b *treeBuilder) add(token xml.Token, first bool) *Error {
	switch t := token.(type) {
	case xml.StartElement:
		return b.start(t)
	case xml.EndElement:
		b.open = b.open.Parent
		b.depth--
	case xml.CharData:
		return b.text(t)
	case xml.Directive:
		if b.open != &b.document || b.document.FirstChild != nil {
			return malformed(b.where(), "<!"+string(t), "a DOCTYPE only before the root element")
		}
	case xml.ProcInst:
		if strings.EqualFold(t.Target, "xml") && !first {
			return malformed(b.where(), "<?xml", "an XML declaration only at the start")
		}
	}
	return nil
}

func (b *treeBuilder) start(t xml.StartElement) *Error {
	if b.open == &b.document && b.document.FirstChild != nil {
		return malformed(document, "a second root element "+t.Name.Local+b.line(), "one root element")
	}
	if b.depth++; b.depth > b.limit.depth {
		return unable(b.where(), "<"+t.Name.Local+">", fmt.Sprintf("at most %d elements inside each other", b.limit.depth))
	}
	if b.elements++; b.elements > b.limit.elements {
		return unable(b.where(), "<"+t.Name.Local+">", fmt.Sprintf("at most %d elements", b.limit.elements))
	}
	if name := repeated(t.Attr); name != "" {
		return malformed(b.where()+"/"+t.Name.Local, "attribute "+name+" twice", "each attribute once")
	}
	n := b.node(xmlquery.ElementNode, t.Name.Local)
	n.NamespaceURI = t.Name.Space
	if len(t.Attr) > 0 {
		n.Attr = make([]xmlquery.Attr, len(t.Attr))
		for i, a := range t.Attr {
			n.Attr[i] = xmlquery.Attr{Name: a.Name, Value: a.Value, NamespaceURI: a.Name.Space}
		}
	}
	xmlquery.AddChild(b.open, n)
	b.open = n
	return b.count(len(t.Attr))
}

func (b *treeBuilder) text(chars xml.CharData) *Error {
	if blank(chars) {
		// Blanks matter only inside a text that was cut by a comment or CDATA.
		if last := b.open.LastChild; last == nil || last.Type != xmlquery.TextNode {
			return nil
		}
	}
	if b.open == &b.document {
		return malformed(document, strings.TrimSpace(string(chars)), "nothing outside the root element")
	}
	xmlquery.AddChild(b.open, b.node(xmlquery.TextNode, string(chars)))
	return b.count(1)
}

func (b *treeBuilder) count(pieces int) *Error {
	if b.pieces += pieces; b.pieces > 4*b.limit.elements {
		return unable(b.where(), strconv.Itoa(b.pieces), fmt.Sprintf("at most %d attributes and pieces of text", 4*b.limit.elements))
	}
	return nil
}

func (b *treeBuilder) node(t xmlquery.NodeType, data string) *xmlquery.Node {
	if len(b.slab) == 0 {
		b.slab = make([]xmlquery.Node, slabSize)
	}
	n := &b.slab[0]
	b.slab = b.slab[1:]
	n.Type, n.Data = t, data
	return n
}

func (b *treeBuilder) where() string {
	if b.open == &b.document {
		return document
	}
	return pathOf(b.open)
}

func (b *treeBuilder) line() string {
	line, column := b.decoder.InputPos()
	return fmt.Sprintf(" at line %d column %d", line, column)
}

func (b *treeBuilder) syntax(err error) *Error {
	text := err.Error()
	var broken *xml.SyntaxError
	if errors.As(err, &broken) {
		text = broken.Msg
	}
	return malformed(b.where(), text+b.line(), "well-formed XML")
}

// repeated names an attribute that stands twice, which encoding/xml lets pass.
func repeated(attrs []xml.Attr) string {
	if len(attrs) < 2 {
		return ""
	}
	if len(attrs) <= 8 {
		for i, a := range attrs {
			for _, other := range attrs[:i] {
				if a.Name == other.Name {
					return a.Name.Local
				}
			}
		}
		return ""
	}
	seen := make(map[xml.Name]bool, len(attrs))
	for _, a := range attrs {
		if seen[a.Name] {
			return a.Name.Local
		}
		seen[a.Name] = true
	}
	return ""
}

func blank(chars []byte) bool {
	for _, c := range chars {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
