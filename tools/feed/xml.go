package feed

import (
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// el is <tag>text</tag>, with the text escaped.
func el(tag, text string) string { return "<" + tag + ">" + escape(text) + "</" + tag + ">" }

// with is an element with attributes around ready markup.
func with(tag, attributes, inner string) string {
	if inner == "" {
		return "<" + tag + attributes + "/>"
	}
	return "<" + tag + attributes + ">" + inner + "</" + tag + ">"
}

func attr(name, value string) string { return " " + name + `="` + escape(value) + `"` }

func escape(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String()
}

func number(n int) string { return strconv.Itoa(n) }

// stamp is DDMONYYHHMM. Month names come in mixed case.
func stamp(t time.Time) string {
	text := t.Format("02Jan061504")
	if t.Minute()%3 != 0 {
		text = strings.ToUpper(text)
	}
	return text
}

// minutes is HHMM of a duration.
func minutes(d time.Duration) string {
	n := int(d.Minutes())
	return fmt.Sprintf("%02d%02d", n/60, n%60)
}

// envelope is a whole message around its payload.
func envelope(rng *rand.Rand, encodingName, sender string, seqn int64, at time.Time, typ, subtype, payload string) string {
	var b strings.Builder
	if encodingName != "" {
		equals := "="
		if rng.IntN(20) == 0 {
			equals = " = "
		}
		b.WriteString(`<?xml version="1.0" encoding` + equals + `"` + encodingName + `"?>`)
	}
	if rng.IntN(4) == 0 {
		b.WriteString("\r\n")
	}
	if rng.IntN(40) == 0 {
		b.WriteString("<!-- AODB -->")
	}
	b.WriteString("<MSG")
	if rng.IntN(10) == 0 {
		b.WriteString(` xmlns:xsi = "http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="sis.xsd"`)
	}
	b.WriteString("><META>")
	if rng.IntN(10) == 0 {
		b.WriteString("\n\t")
	}
	b.WriteString(el("SNDR", sender) + el("SEQN", strconv.FormatInt(seqn, 10)) + el("DTTM", at.Format("20060102150405")) + el("TYPE", typ) + el("STYP", subtype))
	b.WriteString("</META>")
	b.WriteString(payload)
	b.WriteString("</MSG>")
	if rng.IntN(10) == 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// encodings are the declarations in use, with their weight.
var encodings = []struct {
	name   string
	weight int
}{{"UTF-8", 66}, {"GBK", 14}, {"GB18030", 7}, {"GB2312", 4}, {"", 4}, {"utf-8", 3}, {"UTF-16", 2}}

func pickEncoding(rng *rand.Rand) string {
	total := 0
	for _, e := range encodings {
		total += e.weight
	}
	n := rng.IntN(total)
	for _, e := range encodings {
		if n -= e.weight; n < 0 {
			return e.name
		}
	}
	return "UTF-8"
}

// encode turns the characters of a message into bytes of the declared encoding.
func encode(text, name string) ([]byte, error) {
	var enc encoding.Encoding
	switch name {
	case "GBK", "GB2312":
		enc = simplifiedchinese.GBK
	case "GB18030":
		enc = simplifiedchinese.GB18030
	case "UTF-16":
		enc = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case "utf-8": // with a byte order mark
		return append([]byte("\xEF\xBB\xBF"), text...), nil
	default:
		return []byte(text), nil
	}
	body, err := enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("feed: %q in %s: %w", text, name, err)
	}
	return body, nil
}
