package codec

import (
	"strings"

	"github.com/antchfx/xmlquery"

	"msgx/engine/message"
)

// The tags that carry meaning for the host.
const (
	tagMeta     = "META"
	tagSender   = "SNDR"
	tagSequence = "SEQN"
	tagSent     = "DTTM"
	tagType     = "TYPE"
	tagSubtype  = "STYP"
	tagRecords  = "RECS"
	tagFLID     = "FLID"
	tagFFID     = "FFID"
	tagSODT     = "SODT"
)

// envelope reads META. Every part but DTTM is required.
func (d *decoding) envelope(root *xmlquery.Node) *Error {
	meta, fault := d.single(root, tagMeta)
	if fault != nil {
		return fault
	}
	if meta == nil {
		return malformed("/MSG/META", "", "the envelope META")
	}
	d.strayAttributes(meta)
	d.strayText(meta)
	parts := map[string]string{}
	for n := meta.FirstChild; n != nil; n = n.NextSibling {
		if n.Type != xmlquery.ElementNode {
			continue
		}
		if d.codec.meta[n.Data] == nil || !d.ours(n) {
			d.unknown(n)
			continue
		}
		if _, twice := parts[n.Data]; twice {
			return malformed(d.place(n), n.Data+" twice", "each part of META once")
		}
		d.strayAttributes(n)
		d.strayElements(n)
		value, fault := d.metaPart(n)
		if fault != nil {
			return fault
		}
		parts[n.Data] = value
	}
	for _, tag := range []string{tagSender, tagSequence, tagType, tagSubtype} {
		if parts[tag] == "" {
			return malformed("/MSG/META/"+tag, "", "a value: META needs SNDR, SEQN, TYPE and STYP")
		}
	}
	d.msg.Meta = message.Meta{
		Sender: parts[tagSender], Sequence: parts[tagSequence],
		Type: parts[tagType], Subtype: parts[tagSubtype], SentAt: parts[tagSent],
	}
	return nil
}

func (d *decoding) metaPart(n *xmlquery.Node) (string, *Error) {
	text := textOf(n)
	if text == "" {
		return "", nil
	}
	if n.Data == tagSequence && !isDigits(text) {
		return "", malformed(d.place(n), text, "digits")
	}
	if strings.Contains(text, "|") {
		return "", malformed(d.place(n), text, "no |, which separates the parts of the identity")
	}
	value, bad := canonical(d.codec.meta[n.Data], text, d.codec.zone)
	if bad != nil {
		return "", newError(bad.class, d.place(n), text, bad.want)
	}
	return value, nil
}

// single finds the only child of a name, nil when there is none. A second one
// is a fault: what it says would be lost.
func (d *decoding) single(parent *xmlquery.Node, name string) (*xmlquery.Node, *Error) {
	var found *xmlquery.Node
	for n := parent.FirstChild; n != nil; n = n.NextSibling {
		if n.Data != name || !d.ours(n) {
			continue
		}
		if found == nil {
			found = n
			continue
		}
		if name == tagMeta || name == tagRecords {
			return nil, malformed(d.place(n), "a second "+name, "one "+name)
		}
		return nil, unable(d.place(n), "a second "+name, "one "+name)
	}
	return found, nil
}

// declared reads RECS below parent, nil when it is not there.
func (d *decoding) declared(parent *xmlquery.Node) *Error {
	n, fault := d.single(parent, tagRecords)
	if n == nil || fault != nil {
		return fault
	}
	d.strayAttributes(n)
	d.strayElements(n)
	text := textOf(n)
	value, bad := integer(text)
	if bad != nil || strings.HasPrefix(value, "-") {
		return malformed(d.place(n), text, "a number of records")
	}
	count := number(value)
	d.msg.Declared = &count
	return nil
}
