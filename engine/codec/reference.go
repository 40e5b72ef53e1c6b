package codec

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/antchfx/xmlquery"

	"msgx/engine/catalogue"
	"msgx/engine/message"
)

// maxKey bounds the key of a reference record, in characters; it is indexed.
const maxKey = 256

// ownText is the name of an element's text where it has attributes or children too.
const ownText = "#text"

// references reads reference data: RECS and records directly under the root.
func (d *decoding) references(root *xmlquery.Node, kind *catalogue.Kind) *Error {
	if fault := d.declared(root); fault != nil {
		return fault
	}
	ref, _ := d.codec.cat.Reference(kind.Record)
	d.strangers(root, tagMeta, tagRecords, kind.Record)
	fault := d.each(root, []string{kind.Record}, func(n *xmlquery.Node) *Error {
		return d.reference(n, ref.Key)
	})
	if fault == nil && len(d.msg.Records) == 0 && d.msg.Declared == nil {
		d.msg.PayloadMissing = "/MSG/RECS or /MSG/" + kind.Record
	}
	return fault
}

func (d *decoding) reference(n *xmlquery.Node, tag string) *Error {
	at := d.place(n) + "/" + tag
	node, fault := d.single(n, tag)
	if fault != nil {
		return malformed(at, "a second "+tag, "one key")
	}
	key := ""
	if node != nil {
		key = textOf(node)
	}
	if key == "" {
		return malformed(at, "", "the key of the record")
	}
	if utf8.RuneCountInString(key) > maxKey {
		return unable(at, key, "a key of at most 256 characters")
	}
	value, err := marshal(tree(n))
	if err != nil {
		return unable(at, err.Error(), "a record that JSON can hold")
	}
	d.msg.Records = append(d.msg.Records, message.Record{Key: key, Value: value})
	return nil
}

// marshal writes JSON with the keys in order, as encoding/json does for maps.
func marshal(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// tree is an element as JSON: a text, null when empty, or an object of
// its children and attributes ("@NAME"); a repeated child is an array. Its depth is
// bounded by that of the document.
func tree(n *xmlquery.Node) any {
	object := map[string]any{}
	for _, a := range n.Attr {
		if !silent(a) {
			object["@"+a.Name.Local] = orNull(strings.TrimSpace(a.Value))
		}
	}
	repeated := map[string][]any{}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == xmlquery.ElementNode {
			repeated[c.Data] = append(repeated[c.Data], tree(c))
		}
	}
	for name, values := range repeated {
		if len(values) == 1 {
			object[name] = values[0]
		} else {
			object[name] = values
		}
	}
	text := textOf(n)
	if len(object) == 0 {
		return orNull(text)
	}
	if text != "" {
		object[ownText] = text
	}
	return object
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
