package codec

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"msgx/engine/catalogue"
	"msgx/engine/message"
)

func TestCanonical(t *testing.T) {
	shanghai := zone(t, "Asia/Shanghai")
	const refuse, mendable = "MALFORMED", "CODEC_ERROR"
	tests := []struct {
		typ      catalogue.Type
		in, want string // want is the canonical text, or the class of the refusal
	}{
		{catalogue.ID, "1", "1"}, {catalogue.ID, "000123", "123"}, {catalogue.ID, "999999999999999999", "999999999999999999"}, {catalogue.ID, "9007199254740993", "9007199254740993"},
		{catalogue.ID, "1234567890123456789", refuse}, {catalogue.ID, "-1", refuse}, {catalogue.ID, "+1", refuse}, {catalogue.ID, "1.0", refuse}, {catalogue.ID, "1 2", refuse}, {catalogue.ID, "１", refuse},
		{catalogue.Int, "0", "0"}, {catalogue.Int, "-0", "0"}, {catalogue.Int, "+007", "7"}, {catalogue.Int, "-12", "-12"},
		{catalogue.Int, "2147483647", "2147483647"}, {catalogue.Int, "2147483648", refuse}, {catalogue.Int, "-2147483648", "-2147483648"}, {catalogue.Int, "-2147483649", refuse},
		{catalogue.Int, "1.0", refuse}, {catalogue.Int, "1e3", refuse}, {catalogue.Int, "+-1", refuse}, {catalogue.Int, "-", refuse}, {catalogue.Int, "1_000", refuse}, {catalogue.Int, "0x10", refuse},
		{catalogue.Decimal, "0", "0"}, {catalogue.Decimal, "1234.50", "1234.5"}, {catalogue.Decimal, "007", "7"}, {catalogue.Decimal, ".5", "0.5"}, {catalogue.Decimal, "5.", "5"}, {catalogue.Decimal, "0.000", "0"},
		{catalogue.Decimal, "0.10000000000000000001", "0.10000000000000000001"}, {catalogue.Decimal, "100", "100"},
		{catalogue.Decimal, ".", refuse}, {catalogue.Decimal, "1.2.3", refuse}, {catalogue.Decimal, "-1", refuse}, {catalogue.Decimal, "1,5", refuse}, {catalogue.Decimal, "1e5", refuse}, {catalogue.Decimal, strings.Repeat("9", 39), refuse},
		{catalogue.Datetime, "23JAN210535", "2021-01-23T05:35:00+08:00"}, {catalogue.Datetime, "16Nov200535", "2020-11-16T05:35:00+08:00"}, {catalogue.Datetime, "01dEc990000", "2099-12-01T00:00:00+08:00"},
		{catalogue.Datetime, "29FEB242359", "2024-02-29T23:59:00+08:00"}, {catalogue.Datetime, "29FEB230000", refuse}, {catalogue.Datetime, "31APR210000", refuse}, {catalogue.Datetime, "00JAN210000", refuse},
		{catalogue.Datetime, "23JAN212400", refuse}, {catalogue.Datetime, "23JAN210560", refuse}, {catalogue.Datetime, "23ANF210535", refuse}, {catalogue.Datetime, "23JAN2105355", refuse}, {catalogue.Datetime, "3JAN210535", refuse},
		{catalogue.Datetime, "23AN 210535", refuse}, {catalogue.Datetime, "2021-01-23T05:35", refuse}, {catalogue.Datetime, "23一月210535", refuse}, {catalogue.Datetime, "+3JAN210535", refuse}, {catalogue.Datetime, "23JAN21+535", refuse},
		{catalogue.Date, "23jan21", "2021-01-23"}, {catalogue.Date, "30FEB21", refuse}, {catalogue.Date, "23JAN2021", refuse},
		{catalogue.Stamp, "20210123223126", "2021-01-23T22:31:26+08:00"}, {catalogue.Stamp, "20210123223160", refuse}, {catalogue.Stamp, "20211323223126", refuse}, {catalogue.Stamp, "20210100223126", refuse}, {catalogue.Stamp, "202101232231", refuse}, {catalogue.Stamp, "00000101000000", refuse},
		{catalogue.Duration, "0201", "121"}, {catalogue.Duration, "0000", "0"}, {catalogue.Duration, "9959", "5999"}, {catalogue.Duration, "10000", "6000"}, {catalogue.Duration, "0260", refuse}, {catalogue.Duration, "201", refuse}, {catalogue.Duration, "-201", refuse}, {catalogue.Duration, "02:01", refuse},
		{catalogue.Code, "天气原因五", "天气原因五"}, {catalogue.Code, "天气原因五六", mendable}, {catalogue.Text, "abcde", "abcde"}, {catalogue.Text, "abcdef", mendable}, {catalogue.Text, "a\tb", "a\tb"},
		{catalogue.Flag, "A", "A"}, {catalogue.Flag, "a", mendable}, {catalogue.Flag, "X", mendable}, {catalogue.Flag, "AD", mendable},
		{"novel", "x", mendable},
	}
	for _, test := range tests {
		f := &catalogue.Field{Tag: "X", Type: test.typ, MaxLen: 5, Flags: []string{"A", "D"}}
		got, bad := canonical(f, test.in, shanghai)
		if bad != nil {
			got = string(bad.class)
			if bad.want == "" {
				t.Errorf("%s %q: no expectation", test.typ, test.in)
			}
		}
		if got != test.want {
			t.Errorf("%s %q: got %q, want %q", test.typ, test.in, got, test.want)
		}
	}
}

func TestClockChanges(t *testing.T) {
	tests := []struct{ zone, in, want, why string }{
		{"Europe/Berlin", "28MAR210159", "2021-03-28T01:59:00+01:00", "before the gap"},
		{"Europe/Berlin", "28MAR210200", "2021-03-28T03:00:00+02:00", "skipped: as much later"},
		{"Europe/Berlin", "28MAR210259", "2021-03-28T03:59:00+02:00", "skipped: as much later"},
		{"Europe/Berlin", "28MAR210300", "2021-03-28T03:00:00+02:00", "after the gap"},
		{"Europe/Berlin", "31OCT210159", "2021-10-31T01:59:00+02:00", "before the fold"},
		{"Europe/Berlin", "31OCT210230", "2021-10-31T02:30:00+02:00", "twice: the first"},
		{"Europe/Berlin", "31OCT210300", "2021-10-31T03:00:00+01:00", "after the fold"},
		{"America/New_York", "14MAR210230", "2021-03-14T03:30:00-04:00", "skipped"},
		{"America/New_York", "07NOV210130", "2021-11-07T01:30:00-04:00", "twice"},
		{"Australia/Lord_Howe", "03OCT210215", "2021-10-03T02:45:00+11:00", "skipped by half an hour"},
		{"Asia/Shanghai", "01JUL210230", "2021-07-01T02:30:00+08:00", "no change at all"},
		{"UTC", "01JUL210230", "2021-07-01T02:30:00Z", "UTC"},
	}
	for _, test := range tests {
		got, bad := datetime(test.in, zone(t, test.zone))
		if bad != nil || got != test.want {
			t.Errorf("%s in %s (%s): got %q (%v), want %q", test.in, test.zone, test.why, got, bad, test.want)
		}
	}
}

// Every minute that the clocks of a zone show reads back as itself.
func TestDatetimeReadsBack(t *testing.T) {
	zones := []*time.Location{zone(t, "Asia/Shanghai"), zone(t, "Europe/Berlin"), zone(t, "America/St_Johns"), time.UTC}
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.SampledFrom(zones).Draw(t, "zone")
		from, to := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC).Unix(), time.Date(2099, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
		at := time.Unix(rapid.Int64Range(from/60, to/60).Draw(t, "minute")*60, 0).In(z)
		text, bad := datetime(strings.ToUpper(at.Format("02Jan061504")), z)
		if bad != nil {
			t.Fatalf("%s: %v", at, bad)
		}
		got, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		// A minute that occurs twice reads as the first of the two.
		if d := at.Sub(got); d != 0 && got.In(z).Format("0201061504") != at.Format("0201061504") {
			t.Fatalf("%s: got %s", at, text)
		}
	})
}

// Canonical numbers are a fixed point, and equal numbers have equal text.
func TestNumbersAreCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringMatching(`[0-9]{1,12}`).Draw(t, "whole")
		fraction := rapid.StringMatching(`[0-9]{0,8}`).Draw(t, "fraction")
		zeros := rapid.IntRange(0, 4).Draw(t, "zeros")
		first, bad := decimal(whole + "." + fraction)
		padded, bad2 := decimal(strings.Repeat("0", zeros) + whole + "." + fraction + strings.Repeat("0", zeros))
		if bad != nil || bad2 != nil || first != padded {
			t.Fatalf("%s.%s: got %q (%v) and with %d more zeros %q (%v)", whole, fraction, first, bad, zeros, padded, bad2)
		}
		if again, bad := decimal(first); bad != nil || again != first {
			t.Fatalf("%q: got %q (%v), want itself", first, again, bad)
		}
	})
}

// The class of a bad value, its path and its expectation reach the error.
func TestBadValuesByPath(t *testing.T) {
	c := newCodec(t, Options{})
	tests := []struct {
		text  string
		class message.ErrorClass
		path  string
		value string
	}{
		{schedule(fltr(""), fltr("<MAXP>many</MAXP>")), message.Malformed, "/MSG/SCHD/FLTR[2]/MAXP", "many"},
		{schedule(fltr("<STND>123456789</STND>")), message.CodecError, "/MSG/SCHD/FLTR[1]/STND", "123456789"},
		{schedule(fltr("<MVIN>X</MVIN>")), message.CodecError, "/MSG/SCHD/FLTR[1]/MVIN", "X"},
		{schedule(fltr("<MAID>12x</MAID>")), message.Malformed, "/MSG/SCHD/FLTR[1]/MAID", "12x"},
		{schedule(fltr("<ESTT>30FEB210000</ESTT>")), message.Malformed, "/MSG/SCHD/FLTR[1]/ESTT", "30FEB210000"},
		{schedule(fltr("<GTDT/><GTDT GTNO='1'><PGOT>soon</PGOT></GTDT>")), message.Malformed, "/MSG/SCHD/FLTR[1]/GTDT[2]/PGOT", "soon"},
		{schedule(fltr("<GTDT GTNO='one'/>")), message.Malformed, "/MSG/SCHD/FLTR[1]/GTDT/@GTNO", "one"},
		{schedule(fltr("<DELY DURA='0275'/>")), message.Malformed, "/MSG/SCHD/FLTR[1]/DELY/@DURA", "0275"},
		{schedule(fltr("<FDIV DDIR='UP'/>")), message.CodecError, "/MSG/SCHD/FLTR[1]/FDIV/@DDIR", "UP"},
		{schedule(fltr("<FDIV>" + strings.Repeat("原", 257) + "</FDIV>")), message.CodecError, "/MSG/SCHD/FLTR[1]/FDIV/text()", strings.Repeat("原", 64) + "…"},
		{schedule(fltr("<VIPF><VIPT/><VIPT><VTQY>x</VTQY></VIPT></VIPF>")), message.Malformed, "/MSG/SCHD/FLTR[1]/VIPF/VIPT[2]/VTQY", "x"},
		{flop("STND", "<STND>123456789</STND>"), message.CodecError, "/MSG/FLOP[1]/STND", "123456789"},
		{envelope("FLOP", "STND", "<FLOP><FLID>x</FLID><STND/></FLOP>"), message.Malformed, "/MSG/FLOP[1]/FLID", "x"},
		{envelope("FLOP", "STND", "<FLOP><FLID>1</FLID><STND/></FLOP><FLOP><STND/></FLOP>"), message.Malformed, "/MSG/FLOP[2]/FLID", ""},
		{envelope("FDEL", "A", "<FDEL><FLID/></FDEL>"), message.Malformed, "/MSG/FDEL[1]/FLID", ""},
		{schedule(fltr("<STND>1</STND><STND>2</STND>")), message.CodecError, "/MSG/SCHD/FLTR[1]/STND[2]", "a second STND"},
		{schedule(fltr("<FDIV/><FDIV/>")), message.CodecError, "/MSG/SCHD/FLTR[1]/FDIV[2]", "a second FDIV"},
		{schedule(fltr("<GTDT><GATE>1</GATE><GATE>1</GATE></GTDT>")), message.CodecError, "/MSG/SCHD/FLTR[1]/GTDT/GATE[2]", "a second GATE"},
		{schedule("<FLTR><FLID>1</FLID><FLID>2</FLID></FLTR>"), message.CodecError, "/MSG/SCHD/FLTR[1]/FLID[2]", "a second FLID"},
		{envelope("SCHD", "DNLD", "<SCHD/><SCHD/>"), message.CodecError, "/MSG/SCHD[2]", "a second SCHD"},
		{envelope("SCHD", "DNLD", "<SCHD><RECS>x</RECS></SCHD>"), message.Malformed, "/MSG/SCHD/RECS", "x"},
		{envelope("SCHD", "DNLD", "<SCHD><RECS/></SCHD>"), message.Malformed, "/MSG/SCHD/RECS", ""},
		{envelope("SCHD", "DNLD", "<SCHD><RECS>-1</RECS></SCHD>"), message.Malformed, "/MSG/SCHD/RECS", "-1"},
		{envelope("SCHD", "DNLD", "<SCHD><RECS>1</RECS><RECS>1</RECS></SCHD>"), message.Malformed, "/MSG/SCHD/RECS[2]", "a second RECS"},
		{envelope("SLST", "ADD", "<RECS>1</RECS><SLST><SCOD>A</SCOD></SLST><SLST><X/></SLST>"), message.Malformed, "/MSG/SLST[2]/SCOD", ""},
		{envelope("SLST", "ADD", "<SLST><SCOD> </SCOD></SLST>"), message.Malformed, "/MSG/SLST[1]/SCOD", ""},
		{envelope("SLST", "ADD", "<SLST><SCOD>A</SCOD><SCOD>B</SCOD></SLST>"), message.Malformed, "/MSG/SLST[1]/SCOD", "a second SCOD"},
		{envelope("SLST", "ADD", "<SLST><SCOD>"+strings.Repeat("k", 257)+"</SCOD></SLST>"), message.CodecError, "/MSG/SLST[1]/SCOD", strings.Repeat("k", 64) + "…"},
	}
	for _, test := range tests {
		got := refused(t, c, test.text)
		if got.Class != test.class || got.Path != test.path || got.Value != test.value || got.Want == "" {
			t.Errorf("%s\ngot  %s %s %q, expected %q\nwant %s %s %q", test.text, got.Class, got.Path, got.Value, got.Want, test.class, test.path, test.value)
		}
	}
}

// The examples of types.yaml are values, and their canonical text is the one given there.
func TestExamplesOfTheCatalogue(t *testing.T) {
	cat := shipped(t)
	for _, v := range cat.Types {
		f := &catalogue.Field{Type: v.Name, MaxLen: 40, Flags: []string{"A", "D"}}
		got, bad := canonical(f, v.Example, zone(t, "Asia/Shanghai"))
		if bad != nil || got != v.Value {
			t.Errorf("%s: %q: got %q (%v), want %q", v.Name, v.Example, got, bad, v.Value)
		}
		if v.Canonical != "" && !regexp.MustCompile(v.Canonical).MatchString(got) {
			t.Errorf("%s: %q does not match %s", v.Name, got, v.Canonical)
		}
		if again, bad := canonical(f, wire(t, f, got), zone(t, "Asia/Shanghai")); bad != nil || again != got {
			t.Errorf("%s: written and read again %q is %q (%v)", v.Name, got, again, bad)
		}
	}
}

func wire(t *testing.T, f *catalogue.Field, value string) string {
	text, want := wireText(f, value, zone(t, "Asia/Shanghai"))
	if want != "" {
		t.Errorf("%s: %q: refused, expected %s", f.Type, value, want)
	}
	return text
}
