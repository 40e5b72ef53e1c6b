package schemas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/catalogue"
)

func TestSiteOverrides(t *testing.T) {
	c, err := LoadSite([]byte(`
flight:
  STND: {max: 12, on-bad: absent}
  MVIN: {flags: [A, D, X]}
  FDIV.TEXT: {max: 999}
  VIPF.VIPT.VSCD: {max: 33}
meta:
  SNDR: {max: 16}
requests:
  EROR.TEXT: {max: 1000}
`))
	if err != nil {
		t.Fatal(err)
	}
	stnd, _ := c.Scalar("STND")
	mvin, _ := c.Scalar("MVIN")
	fdiv, _ := c.Object("FDIV")
	text, _ := catalogue.PartOf(fdiv.Parts, "TEXT")
	vipf, _ := c.List("VIPF")
	eror, _ := c.Request("EROR")
	reason, _ := catalogue.PartOf(eror.Fields, "TEXT")
	type facts struct {
		Stand, Reason, Service, Sender, Report int
		OnBad                                  string
		Flags                                  []string
	}
	want := facts{12, 999, 33, 16, 1000, "absent", []string{"A", "D", "X"}}
	got := facts{stnd.MaxLen, text.MaxLen, vipf.Lists[0].Fields[0].MaxLen, c.Meta[0].MaxLen, reason.MaxLen, stnd.OnBad, mvin.Flags}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got)\n%s", diff)
	}
	ours, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := ours.Scalar("STND"); f.MaxLen != 8 || f.OnBad != "" {
		t.Errorf("our own catalogue was changed: %+v", f)
	}
	for _, nothing := range []string{"", "# only a comment\n", "flight: {}\n"} {
		same, err := LoadSite([]byte(nothing))
		if err != nil {
			t.Errorf("%q: %v", nothing, err)
			continue
		}
		if diff := cmp.Diff(ours.Flight, same.Flight); diff != "" {
			t.Errorf("%q changes the catalogue:\n%s", nothing, diff)
		}
	}
}

func TestSiteRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"flight: {STAND: {max: 3}}", `flight: "STAND" is not in the catalogue`},
		{"flight: {GATE: {max: 3}}", "near are GTDT.GATE"},
		{"flight: {GTDT.GAET: {max: 3}}", "near are GTDT.GATE"},
		{"flight: {STND: {size: 3}}", "field size not found"},
		{"scalars: {STND: {max: 3}}", "field scalars not found"},
		{"flight: {STND: {max: 0}}", "flight.STND: max is 0, expected at least 1"},
		{"flight: {STND: {max: lots}}", "cannot unmarshal"},
		{"flight: {STND: {flags: [A]}}", "flight.STND: flags are given, but a code has no list"},
		{"flight: {SODT: {max: 3}}", "flight.SODT: max is given, but a datetime has no length"},
		{"flight: {MVIN: {flags: []}}", "expected at least one"},
		{"flight: {STND: {on-bad: ignore}}", `flight.scalars.STND: on-bad is "ignore"`},
		{"flight: {STND: {type: int}}", "field type not found"},
		{"meta: {TTTT: {max: 3}}", `meta: "TTTT" is not in the catalogue`},
		{"requests: {STDB: {max: 3}}", "near are RQFD.STDB"},
		{"flight: [1]", "site file"},
		{"\t", "site file"},
	}
	for _, test := range tests {
		if _, err := LoadSite([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\ngot  %v\nwant an error with %s", test.text, err, test.want)
		}
	}
	_, err := LoadSite([]byte("flight: {AAAA: {max: 3}, STND: {max: 0}}\nmeta: {BBBB: {max: 1}}"))
	for _, part := range []string{"AAAA", "STND", "BBBB"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("several faults: got %v, want %s among them", err, part)
		}
	}
}
