// Package eventtest holds the events of tests to their published schemas, as a consumer that validates would.
package eventtest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"msgx/engine/event"
)

var compiled = sync.OnceValues(func() (map[event.Target]*jsonschema.Schema, error) {
	_, here, _, _ := runtime.Caller(0)
	out := map[event.Target]*jsonschema.Schema{}
	for target, name := range map[event.Target]string{event.Msg: "event-msg", event.Schd: "event-schd"} {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		schema, err := compiler.Compile(filepath.Join(filepath.Dir(here), "..", "generated", name+".schema.json"))
		if err != nil {
			return nil, err
		}
		out[target] = schema
	}
	return out, nil
})

// Check says in what the value of an event is not as the schema of its target has it. The null value is no
// event of KAFKA:msg.
func Check(target event.Target, value []byte) error {
	all, err := compiled()
	if err != nil {
		return err
	}
	schema, known := all[target]
	switch {
	case !known:
		return fmt.Errorf("target %q has no schema", target)
	case value == nil && target == event.Schd:
		return nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err == nil {
		err = schema.Validate(document)
	}
	if err != nil {
		return fmt.Errorf("%s is not as its schema has it: %w\n%s", target, err, value)
	}
	return nil
}
