package codec

import (
	"fmt"
	"strings"
	"testing"

	"msgx/engine/message"
)

// bigSchedule is a schedule of n flights of about 1.2 KB each.
func bigSchedule(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<SCHD>\n<RECS>%d</RECS>\n", n)
	for i := range n {
		fmt.Fprintf(&b, "  <FLTR>\n    <FLID>%d</FLID><FFID>CA-CA%d-A-23JAN210535-D</FFID>\n    <ALCD>CA</ALCD><FLNO>CA%d</FLNO><MVIN>A</MVIN>\n", 1000000+i, i, i)
		b.WriteString("    <SODT>23Jan210535</SODT><FLTY>W/Z</FLTY><FLIN>D</FLIN><ACFT>320</ACFT><RENO>B6123</RENO><TRML>T2</TRML><MAXP>180</MAXP>\n")
		b.WriteString("    <ESTT>23JAN210540</ESTT><ACTT/><STND>209</STND><PHAG>PH</PHAG><FHAG>FH</FHAG><MHAG/><CNCL/><REMC>天气原因延误</REMC><FTSS>ARR</FTSS>\n")
		for j := range 3 {
			fmt.Fprintf(&b, "    <ROUT RTNO=\"%d\"><APCD>PEK</APCD><SCAT>23JAN210535</SCAT><SCDT>23JAN210335</SCDT></ROUT>\n", j+1)
		}
		b.WriteString("    <GTDT GTNO=\"1\"><GATE>A12</GATE><PGOT>23JAN210435</PGOT><PGCT>23JAN210530</PGCT><GOTM/><GCTM/><GTYP>D</GTYP></GTDT>\n  </FLTR>\n")
	}
	b.WriteString("</SCHD>")
	return envelope("SCHD", "DNLD", b.String())
}

// operation is a FLOP of about 1.5 KB.
func operation() string {
	var b strings.Builder
	for j := range 8 {
		fmt.Fprintf(&b, "\n    <GTDT GTNO = \"%d\"><GATE>A12</GATE><PGOT>23JAN210435</PGOT><PGCT>23JAN210530</PGCT><GOTM/><GCTM/><GTYP>D</GTYP></GTDT>", j)
	}
	return flop("GTDT", b.String())
}

func BenchmarkDecode(b *testing.B) {
	c := newCodec(b, Options{})
	for name, text := range map[string]string{"operation": operation(), "schedule": bigSchedule(1000)} {
		b.Run(name, func(b *testing.B) {
			raw := message.Raw{Body: []byte(text)}
			b.SetBytes(int64(len(raw.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Decode(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
