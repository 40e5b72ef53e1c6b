package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"msgx/engine/message"
)

// Each poison ends in its state, what is stored of it is safe to print, and the next message flows.
func TestPoison(t *testing.T) {
	t.Parallel()
	flop := func(flid, element string) string {
		return envelope("FLOP", "STND", "<FLOP><FLID>"+flid+"</FLID>"+element+"</FLOP>")
	}
	schd := func(recs, record string) string {
		return envelope("SCHD", "DNLD", "<SCHD><RECS>"+recs+"</RECS><FLTR>"+record+"</FLTR></SCHD>")
	}
	nested := strings.Repeat("<A>", 1_000_000)
	tests := []struct{ name, body, want string }{
		{"NUL", flop("1", "<STND>1\x002</STND>"), "DEAD MALFORMED /MSG/FLOP"},
		{"control characters", flop("1", "<STND>\x01\x1b[31m</STND>"), "DEAD MALFORMED /MSG/FLOP"},
		{"megabytes in one element", remark(1, strings.Repeat("很长 ", 1_000_000)), "DEAD EXHAUSTED CODEC_ERROR: /MSG/FLOP[1]/REMC"},
		{"a million nested elements", nested, "DEAD EXHAUSTED CODEC_ERROR: "},
		{"the same, closed", flop("1", nested+strings.Repeat("</A>", 1_000_000)), "DEAD EXHAUSTED CODEC_ERROR: "},
		{"a million elements beside each other", flop("1", strings.Repeat("<A/>", 1_000_000)), "DEAD EXHAUSTED CODEC_ERROR: "},
		{"an entity bomb", `<!DOCTYPE MSG [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>` + flop("1", "<STND>&b;</STND>"), "DEAD MALFORMED "},
		{"a file by entity", `<!DOCTYPE MSG [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + flop("1", "<STND>&x;</STND>"), "DEAD MALFORMED "},
		{"a DTD alone", `<!DOCTYPE MSG SYSTEM "http://127.0.0.1:1/x.dtd"><MSG/>`, "DEAD MALFORMED "},
		{"an id beyond 64 bits", flop("9223372036854775808", "<STND>1</STND>"), "DEAD MALFORMED /MSG/FLOP[1]/FLID"},
		{"an id of a hundred digits", flop(strings.Repeat("9", 100), "<STND>1</STND>"), "DEAD MALFORMED /MSG/FLOP[1]/FLID"},
		{"the same in a schedule", schd("1", "<FLID>99999999999999999999</FLID><SODT>01MAR261000</SODT>"), "DEAD PROTOCOL "},
		{"a master beyond 64 bits", schd("1", "<FLID>8</FLID><SODT>01MAR261000</SODT><MAID>99999999999999999999</MAID>"), "DEAD "},
		{"a count beyond 64 bits", schd("99999999999999999999", "<FLID>8</FLID><SODT>01MAR261000</SODT>"), "DEAD MALFORMED /MSG/SCHD"},
		{"a sequence of a thousand digits", strings.Replace(flop("1", "<STND>1</STND>"), "<SEQN>", "<SEQN>"+strings.Repeat("7", 1000), 1), "DEAD "},
		{"text longer than its column", flop("1", "<STND>"+strings.Repeat("登", 300)+"</STND>"), "DEAD EXHAUSTED CODEC_ERROR: /MSG/FLOP[1]/STND"},
		{"five documents in one", strings.Repeat("<MSG/>", 5), "DEAD MALFORMED "},
		{"five messages in one", flop("1", "<STND>1</STND>") + flop("1", "<STND>2</STND>") + flop("1", "<STND>3</STND>") + "<MSG/><MSG/>", "DEAD MALFORMED "},
		{"an error text that turns round", flop("1", "<STND>\u202e\u2066\u200f"+strings.Repeat("gnp.exe", 20)+"</STND>"), "DEAD EXHAUSTED CODEC_ERROR: /MSG/FLOP[1]/STND"},
		{"an error text that drives the terminal", flop("1", "<STND>\u009b2J\u009d0;title\u009c"+strings.Repeat("x", 40)+"</STND>"), "DEAD EXHAUSTED CODEC_ERROR: /MSG/FLOP[1]/STND"},
		{"an error text in HTML", flop("1", "<STND>"+"&lt;script&gt;alert(1)&lt;/script&gt;"+strings.Repeat("x", 40)+"</STND>"), "DEAD EXHAUSTED CODEC_ERROR: /MSG/FLOP[1]/STND"},
		{"a kind that turns round", envelope("\u202eLFOP", "\u009b2J", "<FLOP/>"), "DEAD EXHAUSTED UNSUPPORTED: "},
		{"a sender that does", strings.Replace(flop("1", "<STND>7</STND>"), "AODB", "A\u202e\u009b", 1), "SUCCEEDED - "},
		{"a value that does", remark(1, "\u202e\u009b2J"), "SUCCEEDED - "},
	}
	p := newPlace(t)
	p.put(schedule(1, 1))
	ids := make([]int64, len(tests))
	for i, tt := range tests {
		ids[i] = p.put(tt.body)
		p.put(remark(1, fmt.Sprint("备注 ", i)))
	}
	p.start()
	p.settled()
	if got, want := p.query(`SELECT remc FROM flight_schd WHERE flid = 1`), fmt.Sprint("备注 ", len(tests)-1); got != want {
		t.Errorf("the last remark is %q, want %q", got, want)
	}
	for i, tt := range tests {
		got := p.query(`SELECT concat_ws(' ', state, coalesce(error_class, '-'), coalesce(last_error, skip_reason, '')) FROM proc_state WHERE msg_id = $1`, ids[i])
		if !strings.HasPrefix(got+" ", tt.want) {
			t.Errorf("%s: got %.200q, want it to begin with %q", tt.name, got, tt.want)
		}
		if at := strings.IndexFunc(got, message.Unsafe); at >= 0 {
			t.Errorf("%s: %q is stored, which is not safe to print from byte %d on", tt.name, got, at)
		}
	}
	for _, kind := range p.list(`SELECT DISTINCT kind FROM proc_state WHERE kind IS NOT NULL`) {
		if strings.ContainsFunc(kind, message.Unsafe) {
			t.Errorf("kind %q is stored, which is not safe to print", kind)
		}
	}
}
