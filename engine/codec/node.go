package codec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/antchfx/xmlquery"
)

// Name spaces whose attributes say nothing about the message.
var silentSpaces = []string{"xmlns", "xsi", "xml", "http://www.w3.org/2001/XMLSchema-instance", "http://www.w3.org/XML/1998/namespace"}

// textOf is the element's own text, without the blanks around it; the text of
// its children does not count.
func textOf(n *xmlquery.Node) string {
	only, several := "", false
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == xmlquery.TextNode {
			if only != "" {
				several = true
				break
			}
			only = c.Data
		}
	}
	if !several {
		return strings.TrimSpace(only)
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == xmlquery.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// hasContent tells whether anything but blanks stands in an element or below it.
func hasContent(n *xmlquery.Node) bool {
	for _, a := range n.Attr {
		if !silent(a) && strings.TrimSpace(a.Value) != "" {
			return true
		}
	}
	if textOf(n) != "" {
		return true
	}
	return childContent(n)
}

func childContent(n *xmlquery.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == xmlquery.ElementNode && hasContent(c) {
			return true
		}
	}
	return false
}

// silent tells whether an attribute is a declaration for the XML processor.
func silent(a xmlquery.Attr) bool {
	return a.Name.Local == "xmlns" || (a.Name.Space != "" && slices.Contains(silentSpaces, a.Name.Space))
}

// pathOf is the place of an element, with an index where it has siblings of
// its name: /MSG/SCHD/FLTR[3]/SODT.
func pathOf(n *xmlquery.Node) string {
	var steps []string
	for ; n != nil && n.Type == xmlquery.ElementNode; n = n.Parent {
		steps = append(steps, n.Data+indexOf(n))
	}
	slices.Reverse(steps)
	return "/" + strings.Join(steps, "/")
}

func indexOf(n *xmlquery.Node) string {
	before, after := 0, false
	for s := n.PrevSibling; s != nil; s = s.PrevSibling {
		if s.Type == xmlquery.ElementNode && s.Data == n.Data {
			before++
		}
	}
	for s := n.NextSibling; s != nil && !after; s = s.NextSibling {
		after = s.Type == xmlquery.ElementNode && s.Data == n.Data
	}
	if before == 0 && !after {
		return ""
	}
	return "[" + strconv.Itoa(before+1) + "]"
}

// plainPath is the place without indexes, under which occurrences are counted.
func plainPath(n *xmlquery.Node) string {
	var steps []string
	for ; n != nil && n.Type == xmlquery.ElementNode; n = n.Parent {
		steps = append(steps, n.Data)
	}
	slices.Reverse(steps)
	return "/" + strings.Join(steps, "/")
}
