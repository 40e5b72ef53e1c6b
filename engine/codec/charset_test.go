package codec

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"

	"msgx/engine/message"
)

const chinese = "北京首都机场 天气原因 ￥123 ABC"

// declared is a message with a Chinese remark, declared in a charset.
func declared(charset string) string {
	return strings.Replace(flop("REMC", "<REMC>"+chinese+"</REMC>"), `encoding="UTF-8"`, `encoding = '`+charset+`'`, 1)
}

func encoded(t *testing.T, enc encoding.Encoding, mark, text string) []byte {
	t.Helper()
	body, err := enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(mark), body...)
}

func TestCharsets(t *testing.T) {
	gbk, gb18030 := simplifiedchinese.GBK, simplifiedchinese.GB18030
	undeclared := strings.TrimPrefix(declared(""), `<?xml version="1.0" encoding = ''?>`)
	tests := []struct {
		name       string
		body       []byte
		characters bool
	}{
		{"utf-8 by declaration", []byte(declared("utf-8")), false},
		{"utf-8 without declaration", []byte(undeclared), false},
		{"utf-8 with mark", []byte("\xEF\xBB\xBF" + declared("UTF-8")), false},
		{"the mark overrides the declaration", []byte("\xEF\xBB\xBF" + declared("GBK")), false},
		{"blank lines before the declaration", []byte("\r\n\n" + declared("UTF8")), false},
		{"gbk", encoded(t, gbk, "", declared("GBK")), false},
		{"gbk after a blank line", encoded(t, gbk, "\n", declared("gbk")), false},
		{"gb2312", encoded(t, gbk, "", declared("gb2312")), false},
		{"gb18030", encoded(t, gb18030, "", declared("GB18030")), false},
		{"gb18030 beyond gbk", encoded(t, gb18030, "", strings.Replace(declared("GB18030"), "<REMC>", "<!-- 𠀀 € ć \uFFFD --><REMC>", 1)), false},
		{"utf-16 le with mark", encoded(t, utf16LE, "\xFF\xFE", declared("UTF-16")), false},
		{"utf-16 be with mark", encoded(t, utf16BE, "\xFE\xFF", declared("UTF-16")), false},
		{"utf-16 le by declaration", encoded(t, utf16LE, "", declared("UTF-16LE")), false},
		{"utf-16 be by declaration", encoded(t, utf16BE, "", "\n "+declared("UTF-16")), false},
		{"utf-16 le with surrogates", encoded(t, utf16LE, "\xFF\xFE", strings.Replace(declared("UTF-16"), "<REMC>", "<!--𠀀--><REMC>", 1)), false},
		{"utf-16 be by its shape", encoded(t, utf16BE, "", undeclared), false},
		{"characters, declared gbk", []byte(declared("GBK")), true},
		{"characters, declared utf-16", []byte(declared("UTF-16")), true},
		{"characters, declared anything", []byte("\xEF\xBB\xBF" + declared("KOI8-R")), true},
	}
	c := newCodec(t, Options{})
	for _, test := range tests {
		m, err := c.Decode(message.Raw{Body: test.body, Characters: test.characters})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := m.Records[0].Elements["REMC"].Text; got != chinese {
			t.Errorf("%s: got %q, want %q", test.name, got, chinese)
		}
	}
}

func TestBrokenCharsets(t *testing.T) {
	gbk := encoded(t, simplifiedchinese.GBK, "", declared("GBK"))
	// A lead byte whose trail byte is not one, inside the Chinese text.
	broken := bytes.Replace(gbk, []byte(" ABC"), []byte("\xB0\x20ABC"), 1)
	utf16 := encoded(t, utf16LE, "\xFF\xFE", declared("UTF-16"))
	lone := bytes.Replace(utf16, []byte("A\x00B\x00"), []byte("\x00\xD8B\x00"), 1)
	tests := []struct {
		name       string
		body       []byte
		characters bool
		class      message.ErrorClass
		value      string // a part of it
	}{
		{"utf-8 that is gbk", encoded(t, simplifiedchinese.GBK, "", declared("UTF-8")), false, message.Malformed, "byte 0xb1 at offset 1"},
		{"characters that are gbk", gbk, true, message.Malformed, "at offset"},
		{"gbk with a broken pair", broken, false, message.Malformed, ""},
		{"gbk that is cut", gbk[:bytes.IndexByte(gbk, 0xb1)+1], false, message.Malformed, ""},
		{"gbk with byte 0xff", append(bytes.Clone(gbk), 0xff), false, message.Malformed, ""},
		{"gb18030 with a broken pair", bytes.Replace(broken, []byte("'GBK'"), []byte("'GB18030'"), 1), false, message.Malformed, ""},
		{"utf-16 with a lone surrogate", lone, false, message.Malformed, ""},
		{"utf-16 with an odd byte", append(bytes.Clone(utf16), 'x'), false, message.Malformed, ""},
		{"utf-16 declared in single bytes", []byte(declared("UTF-16")), false, message.Malformed, "single bytes"},
		{"utf-32 mark", []byte("\xFF\xFE\x00\x00<\x00\x00\x00"), false, message.CodecError, "UTF-32"},
		{"unsupported", []byte(declared("Big5")), false, message.CodecError, "Big5"},
		{"unsupported iso", []byte(declared("ISO-8859-1")), false, message.CodecError, "ISO-8859-1"},
		{"nonsense", []byte(declared("\x01\x02")), false, message.CodecError, "\uFFFD\uFFFD"},
	}
	c := newCodec(t, Options{})
	for _, test := range tests {
		m, err := c.Decode(message.Raw{Body: test.body, Characters: test.characters})
		var fault *Error
		if !errors.As(err, &fault) || fault.Class != test.class || !strings.Contains(fault.Value, test.value) || fault.Path != "/" {
			t.Errorf("%s: got %+v and %v, want %s with %q", test.name, m, err, test.class, test.value)
		}
	}
}
