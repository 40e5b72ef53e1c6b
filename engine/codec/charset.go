package codec

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"msgx/engine/message"
)

// document is the path of faults that concern the body as a whole.
const document = "/"

const wantCharset = "UTF-8, UTF-16, GBK, GB18030 or GB2312"

var (
	utf16LE = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	utf16BE = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
)

// charsets are the supported names, in lower case. A nil encoding is UTF-8.
// GB2312 is read as GBK, which contains it, as senders that say GB2312 mean GBK.
var charsets = map[string]encoding.Encoding{
	"utf-8": nil, "utf8": nil,
	"gbk": simplifiedchinese.GBK, "cp936": simplifiedchinese.GBK, "ms936": simplifiedchinese.GBK, "windows-936": simplifiedchinese.GBK,
	"gb2312": simplifiedchinese.GBK, "gb_2312-80": simplifiedchinese.GBK, "euc-cn": simplifiedchinese.GBK,
	"gb18030": simplifiedchinese.GB18030,
}

// toUTF8 brings a body to UTF-8 without a byte order mark. A mark decides,
// then the shape of UTF-16 text, then the XML declaration, then UTF-8. A body
// from a character column is UTF-8 already, whatever its declaration says.
func toUTF8(raw message.Raw) ([]byte, *Error) {
	body := raw.Body
	if raw.Characters {
		return validUTF8(bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF")))
	}
	switch {
	case bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")):
		return validUTF8(body[3:])
	case bytes.HasPrefix(body, []byte("\xFF\xFE\x00\x00")), bytes.HasPrefix(body, []byte("\x00\x00\xFE\xFF")):
		return nil, unable(document, "UTF-32", wantCharset)
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		return transcode(body[2:], "UTF-16LE", utf16LE)
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		return transcode(body[2:], "UTF-16BE", utf16BE)
	case looksUTF16(body, 0):
		return transcode(body, "UTF-16LE", utf16LE)
	case looksUTF16(body, 1):
		return transcode(body, "UTF-16BE", utf16BE)
	}
	name := declaredCharset(body)
	if name == "" {
		return validUTF8(body)
	}
	lower := strings.ToLower(name)
	if strings.HasPrefix(lower, "utf-16") || strings.HasPrefix(lower, "utf16") {
		// The declaration was legible in single bytes, hence it is untrue.
		return nil, malformed(document, "single bytes, declared as "+name, "two bytes a character")
	}
	enc, ok := charsets[lower]
	if !ok {
		return nil, unable(document, name, wantCharset)
	}
	if enc == nil {
		return validUTF8(body)
	}
	return transcode(body, name, enc)
}

// looksUTF16 tells whether the text begins, after blanks, with "<" followed by
// a character of the same two-byte form; at is the place of the low byte.
func looksUTF16(body []byte, at int) bool {
	for i := 0; i+3 < len(body); i += 2 {
		if body[i+1-at] != 0 {
			return false
		}
		switch body[i+at] {
		case ' ', '\t', '\r', '\n':
		case '<':
			return body[i+3-at] == 0 && body[i+2+at] != 0
		default:
			return false
		}
	}
	return false
}

// declaredCharset reads the encoding of an XML declaration, with blanks
// allowed around "=" and either quote; "" when there is none.
func declaredCharset(body []byte) string {
	body = bytes.TrimLeft(body, " \t\r\n")
	if !bytes.HasPrefix(body, []byte("<?xml")) {
		return ""
	}
	end := bytes.Index(body, []byte("?>"))
	if end < 0 {
		return ""
	}
	rest := body[len("<?xml"):end]
	for {
		i := bytes.Index(rest, []byte("encoding"))
		if i < 0 {
			return ""
		}
		rest = bytes.TrimLeft(rest[i+len("encoding"):], " \t\r\n")
		if len(rest) == 0 || rest[0] != '=' {
			continue
		}
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
		if len(rest) == 0 || (rest[0] != '"' && rest[0] != '\'') {
			return ""
		}
		name, _, closed := bytes.Cut(rest[1:], rest[:1])
		if !closed {
			return ""
		}
		return strings.TrimSpace(string(name))
	}
}

func validUTF8(text []byte) ([]byte, *Error) {
	if utf8.Valid(text) {
		return text, nil
	}
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return nil, malformed(document, fmt.Sprintf("byte %#02x at offset %d", text[at], at), "text in UTF-8")
}

// transcode decodes strictly: the decoders put U+FFFD for what they cannot
// read, so where one turns up the text has to encode back to the same bytes.
func transcode(body []byte, name string, enc encoding.Encoding) ([]byte, *Error) {
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return nil, malformed(document, err.Error(), "text in "+name)
	}
	at := bytes.IndexRune(text, utf8.RuneError)
	if at < 0 {
		return text, nil
	}
	back, err := enc.NewEncoder().Bytes(text)
	if err != nil || !bytes.Equal(back, body) {
		shown := string(text[max(0, at-24):min(len(text), at+24)])
		return nil, malformed(document, strings.ToValidUTF8(shown, ""), "text in "+name)
	}
	return text, nil
}
