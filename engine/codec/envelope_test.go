package codec

import (
	"strings"
	"testing"

	"msgx/engine/message"
)

const goodMeta = "<SNDR>AODB</SNDR><SEQN>1</SEQN><DTTM>20210123223126</DTTM><TYPE>FLOP</TYPE><STYP>STND</STYP>"

func withMeta(from, to string) string {
	return "<MSG><META>" + strings.Replace(goodMeta, from, to, 1) + "</META><FLOP><FLID>1</FLID><STND>2</STND></FLOP></MSG>"
}

func TestEnvelope(t *testing.T) {
	c := newCodec(t, Options{})
	tests := []struct {
		text  string
		class message.ErrorClass
		path  string
		value string
	}{
		{"<MSG/>", message.Malformed, "/MSG/META", ""},
		{"<MSG><META/><META/></MSG>", message.Malformed, "/MSG/META[2]", "a second META"},
		{withMeta("<SNDR>AODB</SNDR>", ""), message.Malformed, "/MSG/META/SNDR", ""},
		{withMeta("<SEQN>1</SEQN>", "<SEQN> </SEQN>"), message.Malformed, "/MSG/META/SEQN", ""},
		{withMeta("<TYPE>FLOP</TYPE>", "<TYPE/>"), message.Malformed, "/MSG/META/TYPE", ""},
		{withMeta("<STYP>STND</STYP>", ""), message.Malformed, "/MSG/META/STYP", ""},
		{withMeta("<SEQN>1</SEQN>", "<SEQN>1a</SEQN>"), message.Malformed, "/MSG/META/SEQN", "1a"},
		{withMeta("<SEQN>1</SEQN>", "<SEQN>-1</SEQN>"), message.Malformed, "/MSG/META/SEQN", "-1"},
		{withMeta("AODB", "A|B"), message.Malformed, "/MSG/META/SNDR", "A|B"},
		{withMeta("STND", "S|"), message.Malformed, "/MSG/META/STYP", "S|"},
		{withMeta("AODB", "AODBAODBX"), message.CodecError, "/MSG/META/SNDR", "AODBAODBX"},
		{withMeta("20210123223126", "2021-01-23"), message.Malformed, "/MSG/META/DTTM", "2021-01-23"},
		{withMeta("<SNDR>", "<SNDR>X</SNDR><SNDR>"), message.Malformed, "/MSG/META/SNDR[2]", "SNDR twice"},
	}
	for _, test := range tests {
		got := refused(t, c, test.text)
		if got.Class != test.class || got.Path != test.path || got.Value != test.value {
			t.Errorf("%s\ngot  %s %s %q\nwant %s %s %q", test.text, got.Class, got.Path, got.Value, test.class, test.path, test.value)
		}
	}
	for _, text := range []string{withMeta("<DTTM>20210123223126</DTTM>", ""), withMeta("20210123223126", "  ")} {
		if m := decode(t, c, text); m.Meta.SentAt != "" {
			t.Errorf("%s\ngot DTTM %q, want none", text, m.Meta.SentAt)
		}
	}
	m := decode(t, c, withMeta("<SEQN>1</SEQN>", "<SEQN> 00<!-- c --><![CDATA[7]]>\t</SEQN>"))
	if got, want := m.Meta.Identity(true), "AODB|FLOP|STND|007|2021-01-23"; got != want {
		t.Errorf("identity: got %q, want %q", got, want)
	}
}

func TestIgnoreRules(t *testing.T) {
	tests := []struct {
		rules        []string
		typ, subtype string
		want         string
	}{
		{nil, "LDM", "A", "LDM-*"}, {nil, "ldm", "A", "LDM-*"}, {nil, "EROR", "NONE", "EROR-*"}, {nil, "ERROR", "NONE", ""}, {nil, "RSTA", "X", "RSTA-*"}, {nil, "FLOP", "STND", ""},
		{[]string{}, "LDM", "A", ""}, {[]string{" flop-Stnd "}, "FLOP", "STND", "flop-Stnd"}, {[]string{"FLOP-STND"}, "FLOP", "GTDT", ""}, {[]string{"A-B-C"}, "A", "B-C", "A-B-C"},
	}
	for _, test := range tests {
		c := newCodec(t, Options{Ignore: test.rules})
		text := "<MSG><META><SNDR>A</SNDR><SEQN>1</SEQN><TYPE>" + test.typ + "</TYPE><STYP>" + test.subtype + "</STYP></META></MSG>"
		if got := decode(t, c, text).IgnoredBy; got != test.want {
			t.Errorf("rules %q, %s-%s: got %q, want %q", test.rules, test.typ, test.subtype, got, test.want)
		}
	}
	for _, rule := range []string{"LDM", "", "-X", "LDM-"} {
		if _, err := New(shipped(t), Options{Zone: zone(t, "UTC"), Ignore: []string{rule}}); err == nil || !strings.Contains(err.Error(), "TYPE-STYP") {
			t.Errorf("ignore rule %q: got error %v, want one that shows the form", rule, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(shipped(t), Options{}); err == nil || !strings.Contains(err.Error(), "Zone") {
		t.Errorf("without a zone: got %v", err)
	}
	if _, err := New(shipped(t), Options{Zone: zone(t, "UTC"), MaxDepth: -1}); err == nil || !strings.Contains(err.Error(), "depth -1") {
		t.Errorf("negative depth: got %v", err)
	}
}
