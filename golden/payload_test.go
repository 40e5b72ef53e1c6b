package golden

import (
	"testing"

	"msgx"
	"msgx/schemas/eventtest"
)

// Every event of the corpus is what its published schema says.
func TestPayloadsFollowTheirSchemas(t *testing.T) {
	cat := catalogueOf(t)
	o := Options{Catalogue: cat, Rules: msgx.Files}
	cases, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	books := newLoaded(o.rules)
	for _, c := range cases {
		out, err := c.Replay(cat, books.book)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for _, r := range out.Results {
			for _, e := range r.Settlement.Effects.Events {
				if e.Payload == nil {
					continue
				}
				checked++
				e.ID = int64(checked) // it gets one when it is stored
				if err := eventtest.Check(e.Target, e.Value()); err != nil {
					t.Errorf("case %s, message %d, flight %s: %v", c.Name, r.MsgID, e.FLID, err)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d payloads were checked, expected the corpus to have more", checked)
	}
}
