package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/simplifiedchinese"

	"msgx/engine/catalogue"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/redact"
	"msgx/engine/rehearse"
	"msgx/schemas"
)

func load(t *testing.T) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func redactor(t *testing.T, rules ...string) *redact.Redactor {
	t.Helper()
	if rules == nil {
		rules = redact.Defaults
	}
	r, err := redact.New(load(t), rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBody(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"a leaf keeps what is around it", "<MSG><!-- x --><REMC> Mr &amp; Mrs\t</REMC></MSG>", "<MSG><!-- x --><REMC> remark 1\t</REMC></MSG>"},
		{"the same value is the same", "<M><REMC>a</REMC><REMC>b</REMC><REMC> a </REMC></M>", "<M><REMC>remark 1</REMC><REMC>remark 2</REMC><REMC> remark 1 </REMC></M>"},
		{"empty stays empty", "<M><REMC/><REMC></REMC><REMC> </REMC></M>", "<M><REMC/><REMC></REMC><REMC> </REMC></M>"},
		{"an element in its place", "<M><VIPF><VPCD>Li</VPCD></VIPF><VPCD>Li</VPCD></M>", "<M><VIPF><VPCD>VIP1</VPCD></VIPF><VPCD>Li</VPCD></M>"},
		{"an attribute", "<M><VIPF VPCD = 'Li' X=\"1\"/></M>", "<M><VIPF VPCD = 'VIP1' X=\"1\"/></M>"},
		{"pieces", "<M><REMC>Mr <![CDATA[<Li>]]><!-- who --> Wang</REMC></M>", "<M><REMC>remark 1 <!-- who --></REMC></M>"},
		{"the rest byte for byte", "<?xml version='1.0'?>\r\n<M a='1' ><STND>12</STND >\n</M>", "<?xml version='1.0'?>\r\n<M a='1' ><STND>12</STND >\n</M>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := redactor(t).Body(message.Raw{Body: []byte(tt.body)})
			if err != nil || string(got.Body) != tt.want {
				t.Errorf("redacted %s\n     is %s, %v\n   want %s", tt.body, got.Body, err, tt.want)
			}
		})
	}
}

func TestBodyOfAnotherEncoding(t *testing.T) {
	doc := `<?xml version="1.0" encoding="GBK"?><MSG><STND>十二</STND><REMC>王先生</REMC></MSG>`
	encode := func(text string) []byte {
		b, err := simplifiedchinese.GBK.NewEncoder().Bytes([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	got, err := redactor(t).Body(message.Raw{Body: encode(doc)})
	if diff := cmp.Diff(encode(strings.Replace(doc, "王先生", "remark 1", 1)), got.Body); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestBodyThatIsBroken(t *testing.T) {
	for _, body := range []string{"<MSG><REMC>x", "<MSG></REMC></MSG>", "<MSG><REMC>&nope;</REMC></MSG>", "\xff\xfe\xff"} {
		if got, err := redactor(t).Body(message.Raw{MsgID: 7, Body: []byte(body)}); err == nil || !strings.Contains(err.Error(), "message 7") {
			t.Errorf("%q became %q with %v, expected an error that names the message", body, got.Body, err)
		}
	}
}

// The state says the same as the body: one value, one replacement.
func TestWorldFollowsTheBody(t *testing.T) {
	r := redactor(t, "VIPF/VPCD=VIP{n}", "*/TEXT=text {n}", "FLNO=FL{n}", "VIPL/NAME=name {n}")
	if _, err := r.Body(message.Raw{Body: []byte("<M><VIPF><VPCD>Li</VPCD></VIPF><DELY>Wang</DELY></M>")}); err != nil {
		t.Fatal(err)
	}
	before := rehearse.World{
		Flights: map[flight.ID]*flight.State{
			1: {ID: 1, Status: flight.Active, Fields: flight.Fields{"STND": "12", "FDIV.TEXT": "Wang", "FLNO": "CA1"}, Members: []flight.Member{{FLID: 2, FLNO: "CA2"}},
				Lists: map[string][]flight.Record{"VIPF": {{Fields: flight.Fields{"VPCD": "Wu"}}, {Fields: flight.Fields{"VPCD": "Li"}}}}},
			2: {ID: 2, Status: flight.Active, Fields: flight.Fields{"FLNO": "CA2"}},
		},
		Refs: map[string]map[string]json.RawMessage{"VIPL": {"Li": json.RawMessage(`{"NAME":"Li Lei","VPCD":"x","OTHER":["a",{"NAME":"b"}]}`)}},
	}
	got, err := r.World(before)
	if err != nil {
		t.Fatal(err)
	}
	want := rehearse.World{
		Flights: map[flight.ID]*flight.State{
			1: {ID: 1, Status: flight.Active, Fields: flight.Fields{"STND": "12", "FDIV.TEXT": "text 1", "FLNO": "FL1"}, Members: []flight.Member{{FLID: 2, FLNO: "FL2"}},
				Lists: map[string][]flight.Record{"VIPF": {{Fields: flight.Fields{"VPCD": "VIP2"}}, {Fields: flight.Fields{"VPCD": "VIP1"}}}}},
			2: {ID: 2, Status: flight.Active, Fields: flight.Fields{"FLNO": "FL2"}},
		},
		Refs: map[string]map[string]json.RawMessage{"VIPL": {"Li": json.RawMessage(`{"NAME":"name 1","OTHER":["a",{"NAME":"b"}],"VPCD":"x"}`)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("world (-want +got):\n%s", diff)
	}
	if before.Flights[1].Fields["FLNO"] != "CA1" {
		t.Error("the world that was given is altered")
	}
}

func TestRulesThatCannotBe(t *testing.T) {
	for line, want := range map[string]string{
		"REMC": "expected PATH=REPLACEMENT", "=x": "expected PATH=REPLACEMENT", "A//B=x": "expected PATH=REPLACEMENT", "REMC=": "expected PATH=REPLACEMENT",
		"VIPF/*=x": "expected PATH=REPLACEMENT", "SODT=x": "SODT is of type datetime, expected a code or text", "VIPP=3": "VIPP is of type int",
		"STND=a stand of some airport": "STND has at most 8 characters, the replacement has up to 23",
	} {
		if _, err := redact.New(load(t), []string{line}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("rule %q: %v, want %q", line, err, want)
		}
	}
}
