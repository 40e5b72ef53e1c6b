package codec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/flight"
	"msgx/engine/message"
)

func entries(fields ...flight.Fields) message.Element {
	var e message.Element
	for _, f := range fields {
		e.Records = append(e.Records, flight.Record{Fields: f})
	}
	return e
}

// What one element of a record says, and what is counted beside it.
func TestAbsentEmptyValue(t *testing.T) {
	c := newCodec(t, Options{})
	is := func(tag string, e message.Element) map[string]message.Element {
		return map[string]message.Element{tag: e}
	}
	cleared := message.Element{Empty: true}
	const at = "/MSG/SCHD/FLTR"
	count := func(path string, n int) []message.Unknown {
		return []message.Unknown{{Path: at + path, Count: n}}
	}
	type elements = map[string]message.Element
	tests := []struct {
		in      string
		want    elements
		dropped []message.Unknown
		unknown []message.Unknown
	}{
		{"", elements{}, nil, nil},
		{"<STND/>", is("STND", cleared), nil, nil},
		{"<STND> \t\r\n </STND>", is("STND", cleared), nil, nil},
		{"<STND>\u3000</STND>", is("STND", cleared), nil, nil},
		{"<STND><!-- 12 --></STND>", is("STND", cleared), nil, nil},
		{"<STND><![CDATA[  ]]></STND>", is("STND", cleared), nil, nil},
		{"<STND><![CDATA[1]]><![CDATA[2]]></STND>", is("STND", message.Element{Text: "12"}), nil, nil},
		{"<STND>1<!-- x -->2</STND>", is("STND", message.Element{Text: "12"}), nil, nil},
		{"<REMC>a<!-- x --> <!-- y -->b</REMC>", is("REMC", message.Element{Text: "a b"}), nil, nil},
		{"<REMC>&lt;&amp;&#20013;</REMC>", is("REMC", message.Element{Text: "<&中"}), nil, nil},
		{"<REMC><![CDATA[<a>&b]]></REMC>", is("REMC", message.Element{Text: "<a>&b"}), nil, nil},
		{"<STND>12<X/></STND>", is("STND", message.Element{Text: "12"}), nil, count("/STND/X", 1)},
		{"<STND><X/></STND>", is("STND", cleared), nil, count("/STND/X", 1)},
		{"<STND><X>1</X></STND>", elements{}, count("/STND", 1), count("/STND/X", 1)},
		{"<STND a='1'/>", is("STND", cleared), nil, count("/STND/@a", 1)},
		{"<FDIV/>", is("FDIV", cleared), nil, nil},
		{"<FDIV DDES='' DDIR=' '> </FDIV>", is("FDIV", cleared), nil, nil},
		{"<FDIV DDES='PEK'/>", is("FDIV", message.Element{Object: map[string]string{"DDES": "PEK"}}), nil, nil},
		{"<FDIV>why</FDIV>", is("FDIV", message.Element{Object: map[string]string{"TEXT": "why"}}), nil, nil},
		{"<FDIV X='1'/>", is("FDIV", cleared), nil, count("/FDIV/@X", 1)},
		{"<FDIV><X>1</X></FDIV>", elements{}, count("/FDIV", 1), count("/FDIV/X", 1)},
		{"<GTDT/>", is("GTDT", cleared), nil, nil},
		{"<GTDT GTNO=''><GATE/><PGOT> </PGOT></GTDT>", is("GTDT", cleared), nil, nil},
		{"<GTDT/><GTDT/>", is("GTDT", cleared), count("/GTDT", 1), nil},
		{"<GTDT/><GTDT><GATE>1</GATE></GTDT><GTDT/>", is("GTDT", entries(flight.Fields{"GATE": "1"})), count("/GTDT", 2), nil},
		{"<GTDT GTNO='7'/>", is("GTDT", entries(flight.Fields{"GTNO": "7"})), nil, nil},
		{"<GTDT><GATE>1</GATE></GTDT><STND>3</STND><GTDT><GATE>1</GATE></GTDT>",
			elements{"GTDT": entries(flight.Fields{"GATE": "1"}, flight.Fields{"GATE": "1"}), "STND": {Text: "3"}}, nil, nil},
		{"<GTDT><NEW>1</NEW></GTDT>", elements{}, count("/GTDT", 1), count("/GTDT/NEW", 1)},
		{"<GTDT><NEW/></GTDT>", is("GTDT", cleared), nil, count("/GTDT/NEW", 1)},
		{"<GTDT>text</GTDT>", elements{}, count("/GTDT", 1), count("/GTDT/#text", 1)},
		{"<GTDT><NEW>1</NEW></GTDT><GTDT/>", elements{}, count("/GTDT", 2), count("/GTDT/NEW", 1)},
		{"<DELY CODE='93'/>", is("DELY", entries(flight.Fields{"CODE": "93"})), nil, nil},
		{"<VIPF><VPCD/><VIPT/></VIPF>", is("VIPF", cleared), nil, nil},
		{"<VIPF><VIPT><VSCD>1</VSCD></VIPT><VIPT/></VIPF>",
			is("VIPF", message.Element{Records: []flight.Record{{Fields: flight.Fields{}, Lists: map[string][]flight.Record{"VIPT": {{Fields: flight.Fields{"VSCD": "1"}}}}}}}), count("/VIPF/VIPT", 1), nil},
		{"<NEW><STND>1</STND></NEW><NEW/>", elements{}, nil, count("/NEW", 2)},
		{"stray", elements{}, nil, count("/#text", 1)},
		{"<x:STND xmlns:x='urn:other'>1</x:STND>", elements{}, nil, count("/STND", 1)},
		{"<stnd>1</stnd>", elements{}, nil, count("/stnd", 1)},
	}
	for _, test := range tests {
		m := decode(t, c, schedule(fltr(test.in)))
		got := m.Records[0].Elements
		delete(got, "FLID")
		delete(got, "SODT")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s\nelements (-want +got)\n%s", test.in, diff)
		}
		if diff := cmp.Diff(test.dropped, m.Dropped); diff != "" {
			t.Errorf("%s\ndropped (-want +got)\n%s", test.in, diff)
		}
		if diff := cmp.Diff(test.unknown, m.Unknowns); diff != "" {
			t.Errorf("%s\nunknowns (-want +got)\n%s", test.in, diff)
		}
	}
}

func TestScheduleFaults(t *testing.T) {
	c := newCodec(t, Options{})
	text := envelope("SCHD", "@", `<SCHD>
		<FLTR><SODT>23JAN210535</SODT></FLTR>
		<FLTR><FLID>x1</FLID><SODT>23JAN210535</SODT></FLTR>
		<FLTR><FLID>3</FLID></FLTR>
		<FLTR><FLID>4</FLID><SODT/></FLTR>
		<FLTR><FLID>5</FLID><SODT>23JAN212400</SODT></FLTR>
		<FLTR><FLID/><SODT>never</SODT></FLTR></SCHD>`)
	const flid, sodt = "expected 1 to 18 digits", "expected a datetime DDMONYYHHMM such as 23JAN210535"
	strict := [][]string{
		{"/MSG/SCHD/FLTR[1]/FLID: found nothing, " + flid},
		{`/MSG/SCHD/FLTR[2]/FLID: found "x1", ` + flid},
		{"/MSG/SCHD/FLTR[3]/SODT: found nothing, expected the scheduled time"},
		{"/MSG/SCHD/FLTR[4]/SODT: found nothing, expected the scheduled time"},
		{`/MSG/SCHD/FLTR[5]/SODT: found "23JAN212400", ` + sodt},
		{`/MSG/SCHD/FLTR[6]/SODT: found "never", ` + sodt, "/MSG/SCHD/FLTR[6]/FLID: found nothing, " + flid},
	}
	lenient := [][]string{strict[0], strict[1], nil, nil, nil, {strict[5][1]}}
	for subtype, want := range map[string][][]string{"DNLD": strict, "RESP": strict, "ADFT": lenient} {
		m := decode(t, c, strings.Replace(text, "@", subtype, 1))
		var got [][]string
		for _, r := range m.Records {
			got = append(got, r.Faults)
			if _, there := r.Elements["SODT"]; there && len(r.Faults) > 0 && strings.Contains(r.Faults[0], "/SODT") && r.FLID != 4 {
				t.Errorf("%s: flight %s keeps an SODT that is at fault", subtype, r.FLID)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", subtype, diff)
		}
		if subtype == "ADFT" {
			if diff := cmp.Diff([]message.Unknown{{Path: "/MSG/SCHD/FLTR/SODT", Count: 2}}, m.Dropped); diff != "" {
				t.Errorf("ADFT dropped (-want +got)\n%s", diff)
			}
		}
	}
}

// A field of which the catalogue says on-bad: absent costs its value, not the message.
func TestOnBadAbsent(t *testing.T) {
	cat := shipped(t)
	for _, tag := range []string{"STND", "MAXP"} {
		f, _ := cat.Scalar(tag)
		f.OnBad = "absent"
	}
	object, _ := cat.Object("FDIV")
	list, _ := cat.List("GTDT")
	for i := range object.Parts {
		object.Parts[i].OnBad = "absent"
	}
	for i := range list.Fields {
		list.Fields[i].OnBad = "absent"
	}
	c, err := New(cat, Options{Zone: zone(t, "Asia/Shanghai")})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 300)
	m := decode(t, c, schedule(fltr("<STND>123456789</STND><MAXP>x</MAXP><FDIV DDIR='X'>"+long+"</FDIV><GTDT><GATE>"+long+"</GATE></GTDT><GTDT><GATE>1</GATE><PGOT>x</PGOT></GTDT>")))
	want := map[string]message.Element{"FLID": {Text: "1"}, "SODT": {Text: "2021-01-23T05:35:00+08:00"}, "GTDT": entries(flight.Fields{"GATE": "1"})}
	if diff := cmp.Diff(want, m.Records[0].Elements); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	const at = "/MSG/SCHD/FLTR"
	dropped := []message.Unknown{{Path: at + "/STND", Count: 1}, {Path: at + "/MAXP", Count: 1}, {Path: at + "/FDIV/@DDIR", Count: 1}, {Path: at + "/FDIV/text()", Count: 1}, {Path: at + "/FDIV", Count: 1},
		{Path: at + "/GTDT/GATE", Count: 1}, {Path: at + "/GTDT/PGOT", Count: 1}, {Path: at + "/GTDT", Count: 1}}
	if diff := cmp.Diff(dropped, m.Dropped); diff != "" {
		t.Errorf("dropped (-want +got)\n%s", diff)
	}
}

// What a subtype does not carry is unknown in it, though a flight has it.
func TestUnknownsOfOperations(t *testing.T) {
	c := newCodec(t, Options{})
	m := decode(t, c, envelope("FLOP", "STND", "<FLOP v='1'><FLID>1</FLID><STND>2</STND><GTDT/><REMC>x</REMC></FLOP><FLOP><FLID>2</FLID><STND/><REMC/></FLOP><EXTRA/>"))
	want := []message.Unknown{{Path: "/MSG/EXTRA", Count: 1}, {Path: "/MSG/FLOP/@v", Count: 1}, {Path: "/MSG/FLOP/GTDT", Count: 1}, {Path: "/MSG/FLOP/REMC", Count: 2}}
	if diff := cmp.Diff(want, m.Unknowns); diff != "" {
		t.Errorf("unknowns (-want +got)\n%s", diff)
	}
	var many strings.Builder
	for i := range 3 * maxPaths {
		many.WriteString("<N" + strings.Repeat("a", i) + "/>")
	}
	m = decode(t, c, flop("STND", "<STND/>"+many.String()))
	if got := m.Unknowns[len(m.Unknowns)-1]; len(m.Unknowns) != maxPaths+1 || got.Count != 2*maxPaths {
		t.Errorf("%d paths: got %d counted and %+v last, want %d and the rest together", 3*maxPaths, len(m.Unknowns), got, maxPaths+1)
	}
}

func TestPayloadOfSeveralRecords(t *testing.T) {
	c := newCodec(t, Options{})
	for text, want := range map[string]string{
		envelope("FLOP", "HNAG", "<FLOP><FLID>1</FLID><FHAG/></FLOP><FLOP><FLID>1</FLID><PHAG>x</PHAG></FLOP>"):  "",
		envelope("FLOP", "HNAG", "<FLOP><FLID>1</FLID><FHAG/></FLOP><FLOP><FLID>22</FLID><STND>x</STND></FLOP>"): "PHAG or FHAG or MHAG in /MSG/FLOP[2] of flight 22",
	} {
		if got := decode(t, c, text).PayloadMissing; got != want {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
	}
}
