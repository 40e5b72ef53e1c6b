package codec

import (
	"bytes"
	"strings"

	"golang.org/x/text/encoding"

	"msgx/engine/message"
)

// vague are charsets that clients name by default, whatever they send. None of them has Chinese, so they say
// nothing about a message: its own declaration decides.
var vague = map[string]bool{"us-ascii": true, "ascii": true, "iso-8859-1": true, "latin1": true, "windows-1252": true}

// named are the charsets that a transport can name besides those of a declaration.
var named = map[string]encoding.Encoding{"utf-16le": utf16LE, "utf-16be": utf16BE, "utf-16": utf16BE}

// Text brings a body that came by a transport to UTF-8 without a byte order mark. A mark decides, then the charset that the
// transport names ("" for none), then what the body declares, as Decode reads it. Its error is a *Error: CODEC_ERROR for a charset
// that is not supported, MALFORMED for bytes that the charset does not have.
func (c *Codec) Text(body []byte, charset string) ([]byte, error) {
	name := strings.ToLower(strings.TrimSpace(charset))
	marked := bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")) || bytes.HasPrefix(body, []byte("\xFF\xFE")) || bytes.HasPrefix(body, []byte("\xFE\xFF"))
	if name == "" || vague[name] || marked {
		return given(toUTF8(message.Raw{Body: body}))
	}
	enc, ok := charsets[name]
	if !ok {
		if enc, ok = named[name]; !ok {
			return nil, unable(document, charset, wantCharset)
		}
	}
	if enc == nil {
		return given(validUTF8(body))
	}
	return given(transcode(body, charset, enc))
}

// given keeps a nil fault from becoming an error that is not nil.
func given(text []byte, fault *Error) ([]byte, error) {
	if fault != nil {
		return nil, fault
	}
	return text, nil
}
