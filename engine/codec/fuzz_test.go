package codec

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/message"
)

func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"", "<MSG/>", operation(), bigSchedule(2), schedule(fltr("<GTDT/><FDIV DDES='PEK'>x</FDIV><VIPF><VIPT><VSCD>1</VSCD></VIPT></VIPF>")),
		flop("DELY", "<DELY CODE='1' DURA='0201'/><DELY/>"), envelope("SLST", "UPD", "<RECS>1</RECS><SLST><SCOD>A</SCOD><X><Y/></X></SLST>"),
		envelope("FDEL", "FDEL", "<FDEL><FLID>1</FLID><FDEL/></FDEL>"), envelope("SCHD", "ADFT", "<SCHD><FLTR><FLID>1</FLID><SODT>x</SODT></FLTR></SCHD>"),
		declared("GBK"), declared("UTF-16"), declared("GB18030"), "\xEF\xBB\xBF" + declared("UTF-8"), "\xFF\xFE<\x00M\x00", "\xFE\xFF\x00<\x00M",
		`<!DOCTYPE a [<!ENTITY b "c">]><MSG>&b;</MSG>`, "<MSG xmlns:xsi = 'x'><![CDATA[a]]><!-- b --></MSG>",
	} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	c := newCodec(f, Options{})
	known := map[message.Family]bool{message.Schedule: true, message.Operation: true, message.Deletion: true, message.Reference: true, message.Unsupported: true}
	f.Fuzz(func(t *testing.T, body []byte, characters bool) {
		raw := message.Raw{MsgID: 1, Body: bytes.Clone(body), Characters: characters}
		m, err := c.Decode(raw)
		again, err2 := c.Decode(raw)
		if diff := cmp.Diff(m, again); diff != "" || (err == nil) != (err2 == nil) || (err != nil && err.Error() != err2.Error()) {
			t.Fatalf("decoded twice: errors %v and %v, message (-first +second)\n%s", err, err2, diff)
		}
		if !bytes.Equal(raw.Body, body) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			checkError(t, m, err)
			return
		}
		if !known[m.Family] || m.Kind == "" || m.SHA256 == "" || strings.Count(m.Meta.Identity(false), "|") != 3 {
			t.Fatalf("incomplete message %+v", m)
		}
		for _, r := range m.Records {
			for tag, e := range r.Elements {
				if e.Empty == (e.Text != "" || len(e.Object) > 0 || len(e.Records) > 0) {
					t.Fatalf("%s: neither empty nor one value: %+v", tag, e)
				}
			}
		}
	})
}

func checkError(t *testing.T, m *message.Message, err error) {
	t.Helper()
	var fault *Error
	if !errors.As(err, &fault) || m != nil {
		t.Fatalf("got message %v and error %T, want a *Error alone", m, err)
	}
	if fault.Class != message.Malformed && fault.Class != message.CodecError {
		t.Fatalf("class %q", fault.Class)
	}
	text := err.Error()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, message.Unsafe) || utf8.RuneCountInString(text) > maxText+1 || utf8.RuneCountInString(fault.Value) > maxValue+1 {
		t.Fatalf("unsafe text %q", text)
	}
	if fault.Path == "" || fault.Want == "" {
		t.Fatalf("incomplete error %+v", fault)
	}
}

func FuzzCharset(f *testing.F) {
	f.Add([]byte("\xFF\xFE<\x00"), false)
	f.Add([]byte("<?xml encoding='GB18030'?>\x84\x31\xA4\x37"), false)
	f.Add([]byte("<?xml encoding"), false)
	f.Fuzz(func(t *testing.T, body []byte, characters bool) {
		text, fault := toUTF8(message.Raw{Body: body, Characters: characters})
		if fault == nil && !utf8.Valid(text) {
			t.Fatalf("%q: got broken UTF-8 %q and no fault", body, text)
		}
	})
}
