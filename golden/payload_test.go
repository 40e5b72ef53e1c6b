package golden

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"msgx"
	"msgx/engine/event"
)

// Every event of the corpus is what its published schema says.
func TestPayloadsFollowTheirSchemas(t *testing.T) {
	cat := catalogueOf(t)
	compiled := map[event.Target]*jsonschema.Schema{}
	for target, file := range map[event.Target]string{
		event.Msg:  "../schemas/generated/event-msg.schema.json",
		event.Schd: "../schemas/generated/event-schd.schema.json",
	} {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		schema, err := compiler.Compile(file)
		if err != nil {
			t.Fatal(err)
		}
		compiled[target] = schema
	}
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
				value, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Value()))
				if err == nil {
					err = compiled[e.Target].Validate(value)
				}
				if err != nil {
					t.Errorf("case %s, message %d, %s of flight %s:\n%s\n%v", c.Name, r.MsgID, e.Target, e.FLID, e.Value(), err)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d payloads were checked, expected the corpus to have more", checked)
	}
}
