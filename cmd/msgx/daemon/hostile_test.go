package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"msgx/engine/message"
)

// putBetween puts each body into the mailbox with a good message behind it.
func (p *place) putBetween(bodies []string) {
	p.t.Helper()
	p.put(schedule(1, 1))
	for i, body := range bodies {
		p.put(body)
		p.put(remark(1, fmt.Sprint("备注 ", i)))
	}
}

// settledWith is settled, and the last good message has reached its flight.
func (p *place) settledWith(bodies []string) {
	p.t.Helper()
	p.settled()
	want := fmt.Sprint("备注 ", len(bodies)-1)
	if got := p.query(`SELECT remc FROM flight_schd WHERE flid = 1`); got != want {
		p.t.Errorf("the last remark is %q, want %q", got, want)
	}
}

// What a character column can hold and no message should, ends somewhere, and
// the next message flows.
func TestHostileCharacters(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	junk := strings.Repeat("<垃圾>&\x01\x7f\u202e", 60_000) // more than a megabyte
	declared := func(charset, body string) string { return strings.Replace(body, "UTF-8", charset, 1) }
	bodies := []string{
		"\x00", "\x00" + stand(1, "1"), stand(1, "1\x002"), remark(1, "\x00"),
		remark(1, "bell \a escape \x1b[31m del \x7f c1 \u0085"),
		remark(1, "&#0; &#7; &#xFFFF;"), remark(1, "\ufffe\uffff\u202e\u2028"),
		stand(1, "\u202e\u2028"+strings.Repeat("很", 300)),
		junk, "<MSG>" + junk, remark(1, "<![CDATA["+junk+"]]>"),
		strings.Repeat("<A>", 100_000), strings.Repeat("<A>", 100_000) + strings.Repeat("</A>", 100_000),
		envelope("FLOP", "STND", strings.Repeat("<D>", 1000)+strings.Repeat("</D>", 1000)),
		`<!DOCTYPE MSG [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>` + remark(1, "&b;"),
		`<!DOCTYPE MSG [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + remark(1, "&x;"),
		// The text of a character column is what it is, whatever it declares.
		declared("GBK", remark(1, "登机口关闭")), declared("UTF-16", remark(1, "行李转盘")),
		"\ufeff" + remark(1, "字节顺序标记"),
		envelope("\x1b[2JFLOP", "\u202eSTND", "<FLOP/>"), envelope("\u202eFLOP", "\u2028", "<FLOP/>"),
		envelope(strings.Repeat("T", 5000), strings.Repeat("S", 5000), "<FLOP/>"),
		strings.Replace(stand(1, "17"), "<SEQN>", "<SEQN>"+strings.Repeat("1", 10_000), 1),
		strings.Replace(stand(1, "18"), "AODB", strings.Repeat("名", 5000), 1),
		strings.Replace(stand(1, "19"), "AODB", "'; DROP TABLE proc_state; --", 1),
		strings.Replace(stand(1, "20"), "AODB", "A|FLOP|STND|1", 1),
	}
	p.putBetween(bodies)
	p.start()
	p.settledWith(bodies)
}

// What a byte column can hold.
func TestHostileBytes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.bytes = true
	if _, err := p.mailbox.Exec("ALTER TABLE CMINMSGS MODIFY CMINMSGS_CLOB_MSG MEDIUMBLOB NULL"); err != nil {
		t.Fatal(err)
	}
	declared := func(charset, body string) string { return strings.Replace(body, "UTF-8", charset, 1) }
	gbk := func(body string) string {
		out, err := simplifiedchinese.GBK.NewEncoder().String(declared("GBK", body))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	wide, err := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(declared("UTF-16", remark(1, "行李转盘")))
	if err != nil {
		t.Fatal(err)
	}
	bodies := []string{
		gbk(remark(1, "登机口关闭")), wide,
		remark(1, "broken \xff\xfe\xc3\x28 here"), remark(1, "\xed\xa0\x80"), stand(1, strings.Repeat("\xff", 300)),
		"\xff", "\xff\xfe", "\xfe\xff\x00", "\xef\xbb\xbf", "\x00\x00\xfe\xff", wide[:len(wide)-1], wide[:101],
		gbk(remark(1, "登机口关闭"))[:200] + "\x81", declared("GBK", remark(1, "这不是国标码")),
		declared("EBCDIC-CP-US", stand(1, "1")), declared("\xff\x00\x1b", stand(1, "1")),
		envelope("FLOP\xff", "STND\x00", "<FLOP/>"), strings.Repeat("\xfa", 1<<20),
	}
	p.putBetween(bodies)
	p.start()
	p.settledWith(bodies)
	good := fmt.Sprintf(`SELECT count(*) FROM proc_state WHERE msg_id IN (2, 4) AND state = '%s'`, message.Succeeded)
	if got := p.query(good); got != "2" {
		t.Errorf("%s of the messages in GBK and UTF-16 succeeded, want both", got)
	}
}
