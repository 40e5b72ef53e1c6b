package golden

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx"
	"msgx/engine/message"
)

// Every case of the corpus, taken as a draft, is composed to what it is.
func TestComposeMakesTheCorpus(t *testing.T) {
	cat := catalogueOf(t)
	o := Options{Catalogue: cat, Rules: msgx.Files}
	cases, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	books := newLoaded(o.rules)
	for _, c := range cases {
		d := Draft{Name: c.Name, Comment: "What it shows.", Settings: c.Settings, Before: c.Before(), Messages: c.Messages()}
		text, err := d.compose(&o, books.book)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		again, err := o.parse(c.Name, text)
		if err != nil {
			t.Errorf("%s: %v\n%s", c.Name, err, text)
			continue
		}
		if diff := cmp.Diff(c.Messages(), again.Messages()); diff != "" {
			t.Errorf("%s: messages (-corpus +composed):\n%s", c.Name, diff)
		}
		if got, err := again.Replay(cat, books.book); err != nil || again.Mismatch(cat, got) != "" {
			t.Errorf("%s: %v\n%s", c.Name, err, again.Mismatch(cat, got))
		}
	}
}

func TestComposeRefuses(t *testing.T) {
	cat := catalogueOf(t)
	body := func(s string) []NamedRaw { return []NamedRaw{{"01-a.xml", message.Raw{Body: []byte(s)}}} }
	tests := []struct {
		name string
		d    Draft
		want string
	}{
		{"no comment", Draft{Messages: body("<MSG/>")}, "found no comment"},
		{"no message", Draft{Comment: "C."}, "found no message"},
		{"a head of a file within a message", Draft{Comment: "C.", Messages: body("<MSG>\n-- 02-b.xml --\n</MSG>\n")}, "looks like the head of a file"},
		{"bytes of no encoding", Draft{Comment: "C.", Messages: body("<MSG>\xff\xff</MSG>")}, "01-a.xml: found bytes of no encoding"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.d.Name = "case"
			text, err := Compose(Options{Catalogue: cat, Rules: msgx.Files}, tt.d)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, expected an error with %q\n%s", err, tt.want, text)
			}
		})
	}
}
