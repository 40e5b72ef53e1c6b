package codec

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/schemas"
)

func shipped(t testing.TB) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func newCodec(t testing.TB, o Options) *Codec {
	t.Helper()
	if o.Zone == nil {
		o.Zone = zone(t, "Asia/Shanghai")
	}
	c, err := New(shipped(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// envelope wraps a payload in a complete message.
func envelope(typ, subtype, payload string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><MSG><META><SNDR>AODB</SNDR><SEQN>345935</SEQN><DTTM>20210123223126</DTTM><TYPE>` +
		typ + `</TYPE><STYP>` + subtype + `</STYP></META>` + payload + `</MSG>`
}

func schedule(records ...string) string {
	return envelope("SCHD", "DNLD", "<SCHD><RECS>1</RECS>"+strings.Join(records, "")+"</SCHD>")
}

// fltr is a schedule record that is complete, with more elements in it.
func fltr(more string) string {
	return "<FLTR><FLID>1</FLID><SODT>23JAN210535</SODT>" + more + "</FLTR>"
}

func flop(subtype, more string) string {
	return envelope("FLOP", subtype, "<FLOP><FLID>1</FLID><FFID>X</FFID>"+more+"</FLOP>")
}

func decode(t testing.TB, c *Codec, text string) *message.Message {
	t.Helper()
	m, err := c.Decode(message.Raw{MsgID: 7, Body: []byte(text)})
	if err != nil {
		t.Fatalf("decoding %s\n%v", text, err)
	}
	return m
}

func refused(t testing.TB, c *Codec, text string) *Error {
	t.Helper()
	m, err := c.Decode(message.Raw{MsgID: 7, Body: []byte(text)})
	var fault *Error
	if !errors.As(err, &fault) {
		t.Fatalf("decoding %s\ngot message %+v and error %v, want a *codec.Error", text, m, err)
	}
	return fault
}

func TestSchedule(t *testing.T) {
	m := decode(t, newCodec(t, Options{}), envelope("SCHD", "DNLD", `<SCHD><RECS> 2 </RECS>
	<FLTR>
	  <FLID> 0001000345 </FLID><FFID>CA-CA101-A-23JAN210535-D</FFID><ALCD>CA</ALCD><FLNO>CA101</FLNO>
	  <MVIN>A</MVIN><SODT>23jan210535</SODT><STND/><REMC>  天气  </REMC><MAXP>+0180</MAXP><LBWT>012.50</LBWT>
	  <FDIV DDES = "PEK" DDIR='TO'>天气原因</FDIV><FRET/><ROUT RTNO="1"><APCD>PEK</APCD></ROUT><ROUT RTNO="2"><APCD>CAN</APCD><SCAT/></ROUT>
	  <GTDT/><DELY CODE="93" STRT="23JAN210600" DURA="0201">late</DELY>
	  <VIPF><VPCD>V1</VPCD><VIPT><VSCD>S</VSCD><VTQY>2</VTQY></VIPT><VIPT><VSCD>T</VSCD></VIPT></VIPF>
	</FLTR>
	<FLTR><FLID>2</FLID><SODT>23JAN211200</SODT></FLTR></SCHD>`))
	two := 2
	want := &message.Message{
		ID:   7,
		Meta: message.Meta{Sender: "AODB", Sequence: "345935", Type: "SCHD", Subtype: "DNLD", SentAt: "2021-01-23T22:31:26+08:00"},
		Kind: "SCHD-DNLD", Family: message.Schedule, Declared: &two, SHA256: m.SHA256,
		Records: []message.Record{
			{FLID: 1000345, FFID: "CA-CA101-A-23JAN210535-D", Elements: map[string]message.Element{
				"FLID": {Text: "1000345"}, "FFID": {Text: "CA-CA101-A-23JAN210535-D"}, "ALCD": {Text: "CA"}, "FLNO": {Text: "CA101"},
				"MVIN": {Text: "A"}, "SODT": {Text: "2021-01-23T05:35:00+08:00"}, "STND": {Empty: true}, "REMC": {Text: "天气"},
				"MAXP": {Text: "180"}, "LBWT": {Text: "12.5"},
				"FDIV": {Object: map[string]string{"DDES": "PEK", "DDIR": "TO", "TEXT": "天气原因"}}, "FRET": {Empty: true},
				"ROUT": {Records: []flight.Record{{Fields: flight.Fields{"RTNO": "1", "APCD": "PEK"}}, {Fields: flight.Fields{"RTNO": "2", "APCD": "CAN"}}}},
				"GTDT": {Empty: true},
				"DELY": {Records: []flight.Record{{Fields: flight.Fields{"CODE": "93", "STRT": "2021-01-23T06:00:00+08:00", "DURA": "121", "TEXT": "late"}}}},
				"VIPF": {Records: []flight.Record{{Fields: flight.Fields{"VPCD": "V1"}, Lists: map[string][]flight.Record{
					"VIPT": {{Fields: flight.Fields{"VSCD": "S", "VTQY": "2"}}, {Fields: flight.Fields{"VSCD": "T"}}}}}}},
			}},
			{FLID: 2, Elements: map[string]message.Element{"FLID": {Text: "2"}, "SODT": {Text: "2021-01-23T12:00:00+08:00"}}},
		},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("message (-want +got)\n%s", diff)
	}
}

// Whoever reads an error wants to know what kind of message it was, as soon as
// the envelope tells.
func TestErrorsKnowTheKind(t *testing.T) {
	c := newCodec(t, Options{})
	for text, want := range map[string]string{
		flop("STND", "<STND>123456789</STND>"):    "FLOP-STND",
		envelope("SLST", "UPD", "<RECS>x</RECS>"): "REF-SLST",
		"<MSG><META>":        "",
		"<MSG><FLOP/></MSG>": "",
	} {
		if fault := refused(t, c, text); fault.MessageKind() != want {
			t.Errorf("%s: %v is of kind %q, want %q", text, fault, fault.MessageKind(), want)
		}
	}
}

func TestFamilies(t *testing.T) {
	c := newCodec(t, Options{})
	tests := []struct {
		name, text string
		want       message.Message // Kind, Family, IgnoredBy, PayloadMissing
		records    []message.Record
	}{
		{"operation", flop("STND", "<STND> 12 </STND>"), message.Message{Kind: "FLOP-STND", Family: message.Operation},
			[]message.Record{{FLID: 1, FFID: "X", Elements: map[string]message.Element{"STND": {Text: "12"}}}}},
		{"operation that clears", flop("STND", "<STND><![CDATA[ ]]></STND>"), message.Message{Kind: "FLOP-STND", Family: message.Operation},
			[]message.Record{{FLID: 1, FFID: "X", Elements: map[string]message.Element{"STND": {Empty: true}}}}},
		{"operation without its element", flop("STND", "<GATE/>"),
			message.Message{Kind: "FLOP-STND", Family: message.Operation, PayloadMissing: "STND in /MSG/FLOP[1] of flight 1"},
			[]message.Record{{FLID: 1, FFID: "X", Elements: map[string]message.Element{}}}},
		{"operation without payload", envelope("FLOP", "STND", ""), message.Message{Kind: "FLOP-STND", Family: message.Operation, PayloadMissing: "/MSG/FLOP"}, nil},
		{"schedule without payload", envelope("SCHD", "RESP", ""), message.Message{Kind: "SCHD-RESP", Family: message.Schedule, PayloadMissing: "/MSG/SCHD"}, nil},
		{"deletion", envelope("FLOP", "FDEL", "<FLOP><FLID>5</FLID><FDEL/></FLOP>"), message.Message{Kind: "FDEL", Family: message.Deletion},
			[]message.Record{{FLID: 5, Elements: map[string]message.Element{}}}},
		{"deletion by its own type", envelope("FDEL", "ANY", "<FDEL><FLID>5</FLID></FDEL><FDEL><FLID>6</FLID></FDEL>"), message.Message{Kind: "FDEL", Family: message.Deletion},
			[]message.Record{{FLID: 5, Elements: map[string]message.Element{}}, {FLID: 6, Elements: map[string]message.Element{}}}},
		{"deletion without payload", envelope("FDEL", "X", ""), message.Message{Kind: "FDEL", Family: message.Deletion, PayloadMissing: "/MSG/FLOP or /MSG/FDEL"}, nil},
		{"ignored", envelope("LDM", "X", "<LDM><bad>1</bad></LDM>"), message.Message{Kind: "LDM-X", Family: message.Unsupported, IgnoredBy: "LDM-*"}, nil},
		{"ignored though known", envelope("REGN", "DNLD", "<REGN/>"), message.Message{Kind: "REF-REGN", Family: message.Reference, IgnoredBy: "REGN-*"}, nil},
		{"unsupported", envelope("FLOP", "NEW", "<FLOP/>"), message.Message{Kind: "FLOP-NEW", Family: message.Unsupported}, nil},
		{"reference", envelope("SLST", "UPD", `<RECS>9</RECS><SLST A=" 1 "><SCOD>S209</SCOD><N/><X>a</X><X/><Y><Z b="2">t</Z></Y></SLST>`),
			message.Message{Kind: "REF-SLST", Family: message.Reference, Declared: new(9)},
			[]message.Record{{Key: "S209", Value: []byte(`{"@A":"1","N":null,"SCOD":"S209","X":["a",null],"Y":{"Z":{"#text":"t","@b":"2"}}}`)}}},
		{"reference without records", envelope("SLST", "DNLD", `<RECS>0</RECS>`), message.Message{Kind: "REF-SLST", Family: message.Reference, Declared: new(0)}, nil},
		{"reference without payload", envelope("SLST", "DNLD", ``), message.Message{Kind: "REF-SLST", Family: message.Reference, PayloadMissing: "/MSG/RECS or /MSG/SLST"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := decode(t, c, test.text)
			got := message.Message{Kind: m.Kind, Family: m.Family, IgnoredBy: m.IgnoredBy, PayloadMissing: m.PayloadMissing, Declared: m.Declared}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s\nmessage (-want +got)\n%s", test.text, diff)
			}
			if diff := cmp.Diff(test.records, m.Records); diff != "" {
				t.Errorf("%s\nrecords (-want +got)\n%s", test.text, diff)
			}
		})
	}
}
