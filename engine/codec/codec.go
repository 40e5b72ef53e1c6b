package codec

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/antchfx/xmlquery"

	"msgx/engine/catalogue"
	"msgx/engine/message"
)

// The bounds in force where Options name none.
const (
	DefaultMaxBytes    = 16 << 20
	DefaultMaxDepth    = 32
	DefaultMaxElements = 200_000
)

// DefaultIgnore is the ignore list in force where Options name none.
var DefaultIgnore = []string{"LDM-*", "REGN-*", "RSTA-*", "EROR-*"}

// Options are the settings of a codec. Zero bounds and a nil ignore list mean
// the defaults; an empty ignore list ignores nothing.
type Options struct {
	Zone        *time.Location // the airport's; required
	MaxBytes    int64
	MaxDepth    int
	MaxElements int
	Ignore      []string // "TYPE-STYP" or "TYPE-*", in any case
}

// Codec decodes and encodes by one catalogue. It is immutable and may be used
// by several goroutines at once.
type Codec struct {
	cat    *catalogue.Catalogue
	zone   *time.Location
	bytes  int64
	limit  bounds
	ignore []ignoreRule
	shapes map[string]*shape // by kind
	meta   map[string]*catalogue.Field
}

type ignoreRule struct{ text, typ, subtype string }

// New prepares a codec. Its errors name the option at fault.
func New(cat *catalogue.Catalogue, o Options) (*Codec, error) {
	if o.Zone == nil {
		return nil, errors.New("codec: Zone is missing, expected the airport's time zone")
	}
	if o.MaxBytes < 0 || o.MaxDepth < 0 || o.MaxElements < 0 {
		return nil, fmt.Errorf("codec: bounds %d bytes, depth %d, %d elements, expected none below zero", o.MaxBytes, o.MaxDepth, o.MaxElements)
	}
	c := &Codec{cat: cat, zone: o.Zone, bytes: o.MaxBytes, limit: bounds{o.MaxDepth, o.MaxElements}}
	if c.bytes == 0 {
		c.bytes = DefaultMaxBytes
	}
	if c.limit.depth == 0 {
		c.limit.depth = DefaultMaxDepth
	}
	if c.limit.elements == 0 {
		c.limit.elements = DefaultMaxElements
	}
	list := o.Ignore
	if list == nil {
		list = DefaultIgnore
	}
	for _, text := range list {
		typ, subtype, ok := strings.Cut(strings.TrimSpace(text), "-")
		if !ok || typ == "" || subtype == "" {
			return nil, fmt.Errorf("codec: ignore rule %q, expected TYPE-STYP or TYPE-*", text)
		}
		c.ignore = append(c.ignore, ignoreRule{strings.TrimSpace(text), typ, subtype})
	}
	c.shapes = shapesOf(cat)
	c.meta = make(map[string]*catalogue.Field, len(cat.Meta))
	for i := range cat.Meta {
		c.meta[cat.Meta[i].Tag] = &cat.Meta[i]
	}
	for _, tag := range []string{tagSender, tagSequence, tagSent, tagType, tagSubtype} {
		if c.meta[tag] == nil {
			return nil, fmt.Errorf("codec: the catalogue's meta lacks %s", tag)
		}
	}
	return c, nil
}

// Decode reads a message. Its error is always a *Error.
func (c *Codec) Decode(raw message.Raw) (*message.Message, error) {
	if int64(len(raw.Body)) > c.bytes {
		return nil, unable(document, fmt.Sprintf("%d bytes", len(raw.Body)), fmt.Sprintf("at most %d bytes", c.bytes))
	}
	text, fault := toUTF8(raw)
	if fault != nil {
		return nil, fault
	}
	root, fault := parseTree(text, c.limit)
	if fault != nil {
		return nil, fault
	}
	if root.Data != "MSG" {
		return nil, malformed("/"+root.Data, root.Data, "the root element MSG")
	}
	d := &decoding{codec: c, space: root.NamespaceURI, msg: &message.Message{ID: raw.MsgID}}
	if fault := d.message(root); fault != nil {
		fault.Kind = d.msg.Kind
		return nil, fault
	}
	d.msg.Unknowns, d.msg.Dropped = d.unknowns.paths, d.dropped.paths
	d.msg.SHA256 = raw.SHA256()
	return d.msg, nil
}

func (c *Codec) ignoredBy(m message.Meta) string {
	for _, r := range c.ignore {
		if strings.EqualFold(r.typ, m.Type) && (r.subtype == "*" || strings.EqualFold(r.subtype, m.Subtype)) {
			return r.text
		}
	}
	return ""
}

// decoding is the decoding of one message.
type decoding struct {
	codec    *Codec
	space    string // name space of the root; elements of another are not ours
	msg      *message.Message
	unknowns tally
	dropped  tally
	record   *xmlquery.Node // the record being decoded,
	index    int            // and its place among its kind, from 1
}

func (d *decoding) message(root *xmlquery.Node) *Error {
	if fault := d.envelope(root); fault != nil {
		return fault
	}
	m := d.msg
	m.Kind, m.Family = m.Meta.Type+"-"+m.Meta.Subtype, message.Unsupported
	kind, known := d.codec.cat.KindOf(m.Meta.Type, m.Meta.Subtype)
	if known {
		m.Kind, m.Family = kind.Name, kind.Family
	}
	if m.IgnoredBy = d.codec.ignoredBy(m.Meta); m.IgnoredBy != "" || !known {
		return nil
	}
	s := d.codec.shapes[kind.Name]
	d.strayAttributes(root)
	d.strayText(root)
	var fault *Error
	switch kind.Family {
	case message.Schedule:
		fault = d.schedule(root, s)
	case message.Reference:
		fault = d.references(root, kind)
	default:
		fault = d.operations(root, s)
	}
	return fault
}

// ours tells whether a node is an element of the message's vocabulary.
func (d *decoding) ours(n *xmlquery.Node) bool {
	return n.Type == xmlquery.ElementNode && n.NamespaceURI == d.space
}

// place is the path of a node; the record's index is known and not counted again.
func (d *decoding) place(n *xmlquery.Node) string {
	if d.record == nil {
		return pathOf(n)
	}
	below := ""
	for at := n; at != nil && at.Type == xmlquery.ElementNode; at = at.Parent {
		if at == d.record {
			return fmt.Sprintf("%s/%s[%d]%s", plainPath(at.Parent), at.Data, d.index, below)
		}
		below = "/" + at.Data + indexOf(at) + below
	}
	return below
}

// maxPaths bounds how many different paths one message can have counted.
const maxPaths = 100

// tally counts occurrences by path, in order of first appearance.
type tally struct {
	at    map[string]int
	paths []message.Unknown
}

func (t *tally) add(path string) {
	i, seen := t.at[path]
	if !seen && len(t.paths) >= maxPaths {
		path = "(other paths)"
		i, seen = t.at[path]
	}
	if !seen {
		if t.at == nil {
			t.at = map[string]int{}
		}
		i = len(t.paths)
		t.at[path] = i
		t.paths = append(t.paths, message.Unknown{Path: message.SafeText(path, 160)})
	}
	t.paths[i].Count++
}

func (d *decoding) unknown(n *xmlquery.Node) { d.unknowns.add(plainPath(n)) }

func (d *decoding) drop(n *xmlquery.Node) { d.dropped.add(plainPath(n)) }

// strayText counts text where only elements are expected.
func (d *decoding) strayText(n *xmlquery.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == xmlquery.TextNode && strings.TrimSpace(c.Data) != "" {
			d.unknowns.add(plainPath(n) + "/#text")
			return true
		}
	}
	return false
}

// strayAttributes counts attributes where none is expected.
func (d *decoding) strayAttributes(n *xmlquery.Node) {
	for _, a := range n.Attr {
		if !silent(a) {
			d.unknowns.add(plainPath(n) + "/@" + a.Name.Local)
		}
	}
}

// strayElements counts child elements where only text is expected.
func (d *decoding) strayElements(n *xmlquery.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == xmlquery.ElementNode {
			d.unknown(c)
		}
	}
}
