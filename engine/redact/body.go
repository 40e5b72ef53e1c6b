package redact

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"msgx/engine/catalogue"
	"msgx/engine/message"
)

// Body replaces in a message what the rules name, and leaves every other byte as it is. A body
// that is not well-formed is refused: nobody can say what stands where in it.
func (r *Redactor) Body(raw message.Raw) (message.Raw, error) {
	text, back, err := asUTF8(raw)
	if err != nil {
		return raw, err
	}
	text, err = r.text(text)
	if err == nil {
		text, err = back(text)
	}
	if err != nil {
		return raw, fmt.Errorf("redact: message %d: %w", raw.MsgID, err)
	}
	raw.Body = text
	return raw, nil
}

// asUTF8 is a body in UTF-8, and the way back to the encoding it had.
func asUTF8(raw message.Raw) ([]byte, func([]byte) ([]byte, error), error) {
	same := func(b []byte) ([]byte, error) { return b, nil }
	if raw.Characters || utf8.Valid(raw.Body) && !bytes.ContainsRune(raw.Body, 0) {
		return raw.Body, same, nil
	}
	for _, e := range []encoding.Encoding{unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM), unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM),
		simplifiedchinese.GBK, simplifiedchinese.GB18030} {
		text, err := e.NewDecoder().Bytes(raw.Body)
		if err != nil {
			continue
		}
		if again, err := e.NewEncoder().Bytes(text); err == nil && bytes.Equal(again, raw.Body) {
			return text, func(b []byte) ([]byte, error) { return e.NewEncoder().Bytes(b) }, nil
		}
	}
	return nil, nil, fmt.Errorf("redact: message %d: found bytes of no encoding that is known, expected UTF-8, UTF-16, GBK or GB18030", raw.MsgID)
}

// span is a part of the text that is replaced.
type span struct {
	from, to int64
	text     string
}

// open is an element that has begun.
type open struct {
	path  []string
	value strings.Builder
	spans []span // of its own text
}

// text replaces in a document.
func (r *Redactor) text(doc []byte) ([]byte, error) {
	d := xml.NewDecoder(bytes.NewReader(doc))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var way []*open
	var changes []span
	for {
		from := d.InputOffset()
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		to := d.InputOffset()
		switch t := token.(type) {
		case xml.StartElement:
			e := &open{path: []string{t.Name.Local}}
			if len(way) > 0 {
				e.path = append(slices.Clone(way[len(way)-1].path), t.Name.Local)
			}
			way = append(way, e)
			changes = append(changes, r.attributes(e.path, t.Attr, doc[from:to], from)...)
		case xml.CharData:
			if len(way) > 0 {
				e := way[len(way)-1]
				e.value.Write(t)
				e.spans = append(e.spans, span{from: from, to: to})
			}
		case xml.EndElement:
			if len(way) == 0 || way[len(way)-1].path[len(way[len(way)-1].path)-1] != t.Name.Local {
				return nil, fmt.Errorf("found the end of %s, which is not open", t.Name.Local)
			}
			changes = append(changes, r.own(way[len(way)-1], doc)...)
			way = way[:len(way)-1]
		}
	}
	if len(way) > 0 {
		return nil, fmt.Errorf("found no end of %s", way[len(way)-1].path[len(way[len(way)-1].path)-1])
	}
	return apply(doc, changes), nil
}

// own replaces the text of an element. Where it is in several pieces, the first one takes all of it.
func (r *Redactor) own(e *open, doc []byte) []span {
	value := strings.TrimSpace(e.value.String())
	text, ok := r.replace(e.path, value)
	if !ok && r.textPart(e.path) {
		text, ok = r.replace(append(slices.Clone(e.path), catalogue.TextPart), value)
	}
	if !ok {
		return nil
	}
	var out []span
	done := false
	for _, s := range e.spans {
		piece := string(doc[s.from:s.to])
		switch trimmed := strings.TrimSpace(piece); {
		case trimmed == "":
			continue
		case done:
			s.text = ""
		default:
			at := strings.Index(piece, trimmed)
			s.text = piece[:at] + escaped(text) + piece[at+len(trimmed):]
			done = true
		}
		out = append(out, s)
	}
	return out
}

// attribute finds the attributes in a start tag as it stands in the text.
var attribute = regexp.MustCompile(`([^\s=<>"'/]+)\s*=\s*("[^"]*"|'[^']*')`)

func (r *Redactor) attributes(path []string, attrs []xml.Attr, tag []byte, at int64) []span {
	var out []span
	places := attribute.FindAllSubmatchIndex(tag, -1)
	for i, a := range attrs {
		text, ok := r.replace(append(slices.Clone(path), a.Name.Local), strings.TrimSpace(a.Value))
		if ok && i < len(places) {
			out = append(out, span{from: at + int64(places[i][4]) + 1, to: at + int64(places[i][5]) - 1, text: escaped(text)})
		}
	}
	return out
}

func escaped(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes all
	return b.String()
}

// apply puts the texts in the places of the spans.
func apply(doc []byte, changes []span) []byte {
	slices.SortFunc(changes, func(a, b span) int { return int(a.from - b.from) })
	var out []byte
	last := int64(0)
	for _, c := range changes {
		out = append(append(out, doc[last:c.from]...), c.text...)
		last = c.to
	}
	return append(out, doc[last:]...)
}
