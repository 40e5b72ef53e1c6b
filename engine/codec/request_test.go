package codec

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"msgx/engine/catalogue"
	"msgx/engine/message"
)

var sender = message.Meta{Sender: "RMS", Sequence: "0042", SentAt: "2021-01-23T22:31:26+08:00"}

func TestEncodeRequest(t *testing.T) {
	c := newCodec(t, Options{})
	const head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n<MSG><META><SNDR>RMS</SNDR><SEQN>0042</SEQN><DTTM>20210123223126</DTTM>"
	tests := []struct {
		name   string
		fields map[string]string
		want   string
	}{
		{"RQFD", map[string]string{"STDB": "2021-01-23T05:35:00+08:00", "STDE": "2021-01-23T16:00:00Z"},
			head + "<TYPE>RQFD</TYPE><STYP>NONE</STYP></META><RQFD><STDB>23JAN210535</STDB><STDE>24JAN210000</STDE></RQFD></MSG>"},
		{"RQRD", map[string]string{"RTYP": "SLST"}, head + "<TYPE>RQRD</TYPE><STYP>SLST</STYP></META><RQRD><RTYP>SLST</RTYP></RQRD></MSG>"},
		{"EROR", map[string]string{"SEQN": "7", "CODE": "E1", "TEXT": ` 先删<子>&"x" `},
			head + "<TYPE>EROR</TYPE><STYP>NONE</STYP></META><EROR><SEQN>7</SEQN><TYPE></TYPE><STYP></STYP><CODE>E1</CODE><TEXT>先删&lt;子&gt;&amp;&#34;x&#34;</TEXT></EROR></MSG>"},
	}
	for _, test := range tests {
		got, err := c.EncodeRequest(test.name, sender, test.fields)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.name, diff)
		}
		m := decode(t, c, string(got))
		if want := (message.Meta{Sender: "RMS", Sequence: "0042", SentAt: sender.SentAt, Type: test.name, Subtype: m.Meta.Subtype}); m.Meta != want {
			t.Errorf("%s read back: got %+v, want %+v", test.name, m.Meta, want)
		}
	}
}

func TestEncodeRequestRefuses(t *testing.T) {
	berlin := newCodec(t, Options{Zone: zone(t, "Europe/Berlin")})
	window := func(from string) map[string]string {
		return map[string]string{"STDB": from, "STDE": "2021-01-23T05:35:00+08:00"}
	}
	with := func(change func(*message.Meta)) message.Meta { m := sender; change(&m); return m }
	tests := []struct {
		name   string
		meta   message.Meta
		fields map[string]string
		want   string // in the error
	}{
		{"RQXX", sender, nil, `request "RQXX": not in the catalogue, expected one of RQFD, RQRD, EROR`},
		{"RQFD", sender, map[string]string{"STDB": "2021-01-23T05:35:00+08:00"}, "request RQFD: STDE: found nothing, expected a value"},
		{"RQFD", sender, window("23JAN210535"), `STDB: found "23JAN210535", expected a time such as`},
		{"RQFD", sender, window("2021-01-23T05:35:01+08:00"), "that the wire can carry exactly"},
		{"RQFD", sender, window("2100-01-23T05:35:00+08:00"), "that the wire can carry exactly"},
		{"RQFD", sender, window("2021-10-31T02:30:00+01:00"), "that the wire can carry exactly"}, // the second 02:30
		{"RQFD", sender, map[string]string{"STDB": "2021-01-23T05:35:00Z", "STDE": "2021-01-23T05:35:00Z", "XX": "1"}, `XX: found "1", expected only fields`},
		{"RQRD", sender, map[string]string{}, "RTYP: found nothing, expected a reference type"},
		{"RQRD", sender, map[string]string{"RTYP": "NOPE"}, `RTYP: found "NOPE"`},
		{"EROR", sender, map[string]string{}, "CODE: found nothing"},
		{"EROR", sender, map[string]string{"CODE": strings.Repeat("x", 21)}, "code of at most 20 characters"},
		{"EROR", sender, map[string]string{"CODE": "a\x00b"}, "characters that XML allows"},
		{"EROR", sender, map[string]string{"CODE": "a\xffb"}, "characters that XML allows"},
		{"RQRD", with(func(m *message.Meta) { m.Sender = "" }), map[string]string{"RTYP": "SLST"}, "SNDR: found nothing"},
		{"RQRD", with(func(m *message.Meta) { m.Sender = "A|B" }), map[string]string{"RTYP": "SLST"}, "no |"},
		{"RQRD", with(func(m *message.Meta) { m.Sequence = "x" }), map[string]string{"RTYP": "SLST"}, `SEQN: found "x", expected digits`},
		{"RQRD", with(func(m *message.Meta) { m.SentAt = "" }), map[string]string{"RTYP": "SLST"}, "DTTM: found nothing"},
		{"RQRD", with(func(m *message.Meta) { m.Type = "RQFD" }), map[string]string{"RTYP": "SLST"}, `TYPE: found "RQFD", expected RQRD`},
		{"RQRD", with(func(m *message.Meta) { m.Subtype = "ARPT" }), map[string]string{"RTYP": "SLST"}, `STYP: found "ARPT", expected SLST`},
	}
	for _, test := range tests {
		out, err := berlin.EncodeRequest(test.name, test.meta, test.fields)
		if err == nil || !strings.Contains(err.Error(), test.want) || out != nil {
			t.Errorf("%s %v: got %q and error %v, want an error with %q", test.name, test.fields, out, err, test.want)
		}
	}
}

// Whatever is accepted reads back exactly.
func TestRequestsReadBack(t *testing.T) {
	c := newCodec(t, Options{})
	request, _ := c.cat.Request("EROR")
	window, _ := c.cat.Request("RQFD")
	rapid.Check(t, func(t *rapid.T) {
		at := func(name string) string {
			return time.Unix(60*rapid.Int64Range(16_000_000, 60_000_000).Draw(t, name), 0).In(c.zone).Format(time.RFC3339)
		}
		fields := map[string]string{"STDB": at("from"), "STDE": at("to")}
		body, err := c.EncodeRequest("RQFD", sender, fields)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fields, readBack(t, c, body, window)); diff != "" {
			t.Fatalf("%s\n(-given +read)\n%s", body, diff)
		}
		text := rapid.StringOfN(rapid.RuneFrom([]rune("a<>&'\"]；机\t\n\r \u0085\uFFFD\u2028𠀀-")), 1, 40, -1).Draw(t, "text")
		fields = map[string]string{"CODE": "1", "TEXT": strings.TrimSpace(text)}
		body, err = c.EncodeRequest("EROR", sender, fields)
		if err != nil {
			t.Fatal(err)
		}
		got := readBack(t, c, body, request)
		if got["TEXT"] != fields["TEXT"] || got["CODE"] != "1" {
			t.Fatalf("%s\ngiven %q, read %q", body, fields, got)
		}
	})
}

func readBack(t *rapid.T, c *Codec, body []byte, r *catalogue.Request) map[string]string {
	root, fault := parseTree(body, c.limit)
	if fault != nil {
		t.Fatalf("%s\n%v", body, fault)
	}
	got := map[string]string{}
	for n := root.LastChild.FirstChild; n != nil; n = n.NextSibling {
		f, ok := catalogue.PartOf(r.Fields, n.Data)
		if !ok {
			t.Fatalf("element %s is not in the catalogue", n.Data)
		}
		if text := textOf(n); text != "" {
			value, bad := canonical(f, text, c.zone)
			if bad != nil {
				t.Fatalf("%s: %q: %v", n.Data, text, bad)
			}
			got[n.Data] = value
		}
	}
	return got
}
