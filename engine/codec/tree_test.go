package codec

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/antchfx/xmlquery"
	"github.com/google/go-cmp/cmp"

	"msgx/engine/message"
)

func TestBrokenDocuments(t *testing.T) {
	good := flop("STND", "<STND>1</STND>")
	lol := `<!DOCTYPE MSG [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>`
	tests := []struct{ name, text, path, value string }{
		{"nothing", "", "/", ""},
		{"blanks", " \n\t ", "/", ""},
		{"only a declaration", "<?xml version='1.0'?>", "/", ""},
		{"no XML at all", "hello", "/", "hello"},
		{"text before", "x" + good, "/", "x"},
		{"text after", good + "\n trailing", "/", "trailing"},
		{"NUL after", good + "\x00", "/", "illegal character code U+0000"},
		{"CDATA after", good + "<![CDATA[x]]>", "/", "x"},
		{"two roots", good + "<MSG/>", "/", "a second root element MSG at line 1"},
		{"two messages", good + good, "/", "<?xml"},
		{"an end too many", good + "</MSG>", "/", "unexpected end element </MSG>"},
		{"cut", good[:len(good)-9], "/MSG/FLOP", "unexpected EOF"},
		{"crossed", "<MSG><META></MSG></META>", "/MSG/META", "element <META> closed by </MSG>"},
		{"bare ampersand", flop("STND", "<STND>a & b</STND>"), "/MSG/FLOP/STND", "invalid character entity & (no semicolon)"},
		{"an entity of its own", flop("STND", "<STND>&nbsp;</STND>"), "/MSG/FLOP/STND", "invalid character entity &nbsp;"},
		{"nested entities", strings.Replace(flop("STND", "<STND>&b;</STND>"), "<MSG>", lol+"<MSG>", 1), "/MSG/FLOP/STND", "invalid character entity &b;"},
		{"external entity", strings.Replace(flop("STND", "<STND>&x;</STND>"), "<MSG>", `<!DOCTYPE MSG [<!ENTITY x SYSTEM "file:///etc/passwd">]><MSG>`, 1), "/MSG/FLOP/STND", "invalid character entity &x;"},
		{"control character", flop("STND", "<STND>&#1;</STND>"), "/MSG/FLOP/STND", "illegal character code U+0001"},
		{"attribute twice", flop("STND", "<STND a='1' a='2'/>"), "/MSG/FLOP/STND", "attribute a twice"},
		{"attribute twice among many", flop("STND", "<STND a='1' b='' c='' d='' e='' f='' g='' h='' i='' a='2'/>"), "/MSG/FLOP/STND", "attribute a twice"},
		{"attribute without quotes", flop("STND", "<STND a=1/>"), "/MSG/FLOP", "unquoted or missing attribute value"},
		{"DOCTYPE inside", flop("STND", "<!DOCTYPE x><STND/>"), "/MSG/FLOP", "<!DOCTYPE x"},
		{"declaration inside", flop("STND", "<?xml version='1.0'?><STND/>"), "/MSG/FLOP", "<?xml"},
		{"version 1.1", strings.Replace(good, "1.0", "1.1", 1), "/", `xml: unsupported version "1.1"`},
		{"another root", "<MESSAGE/>", "/MESSAGE", "MESSAGE"},
		{"another root in lower case", "<msg/>", "/msg", "msg"},
	}
	c := newCodec(t, Options{})
	for _, test := range tests {
		got := refused(t, c, test.text)
		if got.Class != message.Malformed || got.Path != test.path || !strings.HasPrefix(got.Value, test.value) || (test.value == "") != (got.Value == "") {
			t.Errorf("%s\n%s\ngot  %s %s %q\nwant MALFORMED %s %q", test.name, test.text, got.Class, got.Path, got.Value, test.path, test.value)
		}
	}
}

func TestHarmlessDocuments(t *testing.T) {
	good := flop("STND", "<STND>1</STND>")
	tests := map[string]string{
		"comments around":           "<!-- a -->" + strings.TrimPrefix(good, `<?xml version="1.0" encoding="UTF-8"?>`) + "<!-- b -->\n",
		"DOCTYPE before":            strings.Replace(good, "<MSG>", `<!DOCTYPE MSG [<!ENTITY a "b">]><MSG>`, 1),
		"processing instructions":   strings.Replace(good, "<MSG>", `<?style a="b"?><MSG><?x?>`, 1) + "<?y?>",
		"attributes of the schema":  strings.Replace(good, "<MSG>", `<MSG xmlns:xsi = "http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation	=	"a.xsd">`, 1),
		"undeclared schema prefix":  strings.Replace(good, "<MSG>", `<MSG xsi:schemaLocation="a.xsd">`, 1),
		"default name space":        strings.Replace(good, "<MSG>", `<MSG xmlns="urn:sis">`, 1),
		"prefixed name space":       strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(good, "<", "<s:"), "<s:/", "</s:"), "<s:?", "<?"),
		"other line ends and tabs":  strings.ReplaceAll(good, "><", ">\r\n\t<"),
		"xml:lang and xml:space":    strings.Replace(good, "<STND>", `<STND xml:lang="zh" xml:space="preserve">`, 1),
		"standalone in declaration": strings.Replace(good, `"UTF-8"`, `"UTF-8" standalone="yes"`, 1),
	}
	c := newCodec(t, Options{})
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			m := decode(t, c, text)
			if got := m.Records[0].Elements["STND"].Text; got != "1" || len(m.Unknowns) > 0 {
				t.Errorf("%s\ngot STND %q and unknowns %v, want 1 and none", text, got, m.Unknowns)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	c := newCodec(t, Options{MaxBytes: 2000, MaxDepth: 6, MaxElements: 20})
	nested := func(n int) string { return strings.Repeat("<A>", n) + strings.Repeat("</A>", n) }
	fits := []string{nested(4), strings.Repeat("<A/>", 9)}
	for _, more := range fits {
		decode(t, c, flop("STND", "<STND/>"+more))
	}
	for _, test := range []struct{ more, path, want string }{
		{nested(5), "/MSG/FLOP/A/A/A/A", "at most 6 elements inside each other"},
		{strings.Repeat("<A/>", 10), "/MSG/FLOP", "at most 20 elements"},
		{strings.Repeat("<A/>", 500), "/", "at most 2000 bytes"},
		{strings.Repeat("<![CDATA[a]]>", 90), "/MSG/FLOP", "at most 80 attributes and pieces of text"},
		{"<A " + manyAttributes(90) + "/>", "/MSG/FLOP/A", "at most 80 attributes and pieces of text"},
	} {
		got := refused(t, c, flop("STND", "<STND/>"+test.more))
		if got.Class != message.CodecError || got.Path != test.path || got.Want != test.want {
			t.Errorf("%.80s\ngot  %s %s, expected %s\nwant CODEC_ERROR %s, expected %s", test.more, got.Class, got.Path, got.Want, test.path, test.want)
		}
	}
}

func manyAttributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d='' ", i)
	}
	return b.String()
}

// Bodies made to cost more than their length stay linear: 2 MB each, in
// far less than a parser needs whose time grows with the square.
func TestHostileBodiesAreLinear(t *testing.T) {
	const n = 200_000
	tests := map[string]string{
		"comments":           flop("STND", "<STND>1</STND>"+strings.Repeat("<!---->", n)),
		"comments in a text": flop("STND", "<STND>1"+strings.Repeat("<!----> ", n)+"</STND>"),
		"CDATA in a text":    flop("REMC", "<REMC>"+strings.Repeat("<![CDATA[]]>", n)+"</REMC>"),
		"blank texts":        flop("STND", "<STND/>"+strings.Repeat("\u3000<A/>", n/2)),
		"unknown elements":   flop("STND", "<STND/>"+strings.Repeat("<A><B/></A>", n/3)),
		"records at fault":   envelope("SCHD", "DNLD", "<SCHD>"+strings.Repeat("<FLTR><FLID/></FLTR>", n/3)+"</SCHD>"),
		"empty entries":      flop("GTDT", strings.Repeat("<GTDT/>", n-100)),
		"attributes":         flop("STND", "<STND "+manyAttributes(n)+"/>"),
		"a deep CDATA":       flop("STND", "<STND/><![CDATA["+strings.Repeat("<", 10*n)+"]]>"),
	}
	c := newCodec(t, Options{})
	for name, text := range tests {
		began := time.Now()
		_, err := c.Decode(message.Raw{Body: []byte(text)})
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: took %s (%v)", name, took, err)
		}
	}
}

var between = regexp.MustCompile(`>\s+<`)

// For documents that both accept, the tree is the one of xmlquery's own parser.
func TestTreeEqualsXMLQuery(t *testing.T) {
	for _, text := range []string{
		flop("STND", "<STND>1</STND>"), operation(), bigSchedule(20),
		flop("REMC", "<REMC>a&amp;b <X y='1'>in</X> after</REMC>"),
	} {
		mine, fault := parseTree([]byte(text), bounds{DefaultMaxDepth, DefaultMaxElements})
		if fault != nil {
			t.Fatal(fault)
		}
		parsed, err := xmlquery.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		theirs := xmlquery.FindOne(parsed, "/MSG")
		// Blanks between elements are the one thing that is left out here.
		if diff := cmp.Diff(between.ReplaceAllString(theirs.OutputXML(true), "><"), mine.OutputXML(true)); diff != "" {
			t.Errorf("%.200s\ntree (-want +got)\n%.2000s", text, diff)
		}
		for _, path := range []string{"/MSG/META/SEQN", "//FLID", "//GTDT[2]/GATE"} {
			if got, want := len(xmlquery.Find(mine.Parent, path)), len(xmlquery.Find(parsed, path)); got != want {
				t.Errorf("%s: got %d nodes, want %d", path, got, want)
			}
		}
	}
}
