package schemas_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"msgx/engine/event"
	"msgx/schemas/eventtest"
)

// TestEventsStayCompatible holds the events' schemas to what was promised for their version: what a consumer of that version
// reads is still there and still means the same. EVENTS.md says what may change.
func TestEventsStayCompatible(t *testing.T) {
	folder := filepath.Join("testdata", fmt.Sprintf("events-v%d", event.SchemaVersion))
	for _, name := range []string{"event-msg.schema.json", "event-schd.schema.json"} {
		was, is := document(t, filepath.Join(folder, name)), document(t, filepath.Join("generated", name))
		for _, broken := range incompatible(name, was, is) {
			t.Errorf("%s\nan old consumer stumbles over that: raise event.SchemaVersion, freeze the new schemas in testdata/events-v%d, and announce it (EVENTS.md, \"Compatibility\")",
				broken, event.SchemaVersion+1)
		}
	}
}

func document(t *testing.T, path string) (v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// incompatible lists what in a schema is narrower to read than before: something is gone, has another type, or may
// be missing. What is for people only, a longer text, one more code and one more optional member are no break.
func incompatible(at string, was, is any) []string {
	switch was := was.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: was an object, is %v", at, is)}
		}
		return object(at, was, is)
	case []any:
		is, ok := is.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s: was a list, is %v", at, is)}
		}
		return alternatives(at, was, is)
	}
	if !reflect.DeepEqual(was, is) {
		return []string{fmt.Sprintf("%s: was %v, is %v", at, was, is)}
	}
	return nil
}

func object(at string, was, is map[string]any) (broken []string) {
	for key, old := range was {
		place, now := at+"/"+key, is[key]
		switch {
		case slices.Contains([]string{"description", "$comment", "title"}, key) && isText(old):
		case now == nil:
			broken = append(broken, place+": is gone")
		case key == "maxLength":
			if old.(float64) > now.(float64) {
				broken = append(broken, fmt.Sprintf("%s: was %v, is %v", place, old, now))
			}
		case key == "type" || key == "anyOf": // a value of one more type is what nobody reads
			if len(asList(old)) != len(asList(now)) {
				broken = append(broken, fmt.Sprintf("%s: was %v, is %v", place, old, now))
				continue
			}
			broken = append(broken, incompatible(place, old, now)...)
		case key == "required":
			broken = append(broken, lacking(place, old, now)...)
		case key == "enum" && !closedSet(at):
			broken = append(broken, lacking(place, old, now)...)
		case key == "enum":
			if !reflect.DeepEqual(old, now) {
				broken = append(broken, fmt.Sprintf("%s: was %v, is %v", place, old, now))
			}
		default:
			broken = append(broken, incompatible(place, old, now)...)
		}
	}
	slices.Sort(broken)
	return broken
}

// closedSet tells the members by whose value a consumer decides what to do.
func closedSet(at string) bool {
	return slices.ContainsFunc([]string{"/type", "/op", "/state", "/STATE"}, func(name string) bool {
		return strings.HasSuffix(at, "/properties"+name) || strings.HasSuffix(at, "/$defs"+name)
	})
}

func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}

// lacking names entries that are not there any more.
func lacking(at string, was, is any) (broken []string) {
	now, ok := is.([]any)
	if !ok {
		return []string{fmt.Sprintf("%s: was a list, is %v", at, is)}
	}
	for _, old := range was.([]any) {
		if !slices.ContainsFunc(now, func(v any) bool { return reflect.DeepEqual(old, v) }) {
			broken = append(broken, fmt.Sprintf("%s: %v is gone", at, old))
		}
	}
	return broken
}

// alternatives holds each of several to the one that is like it now; more may have come.
func alternatives(at string, was, is []any) (broken []string) {
	for i, old := range was {
		if !slices.ContainsFunc(is, func(now any) bool { return len(incompatible("", old, now)) == 0 }) {
			broken = append(broken, fmt.Sprintf("%s/%d: %v has no like any more", at, i, old))
		}
	}
	return broken
}

// TestIncompatibleIsFound: the comparison sees what breaks a consumer, and lets pass what does not.
func TestIncompatibleIsFound(t *testing.T) {
	const was = `{"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "maxLength": 4, "description": "x"},
		"op": {"enum": ["create", "update"]}, "b": {"enum": ["A", "D"]}, "c": {"oneOf": [{"properties": {"path": {"const": "X"}}}]}, "n": {"type": ["string", "null"]}, "m": {"anyOf": [{"type": "null"}]}}}`
	for _, tt := range []struct{ old, now, found string }{
		{"", "", ""},
		{`"description": "x"`, `"description": "y"`, ""},
		{`"maxLength": 4`, `"maxLength": 8`, ""},
		{`"maxLength": 4`, `"maxLength": 3`, "maxLength: was 4, is 3"},
		{`"required": ["a"]`, `"required": ["a", "b"]`, ""},
		{`"required": ["a"]`, `"required": []`, "required: a is gone"},
		{`["A", "D"]`, `["A", "D", "X"]`, ""},
		{`["A", "D"]`, `["A"]`, "enum: D is gone"},
		{`["create", "update"]`, `["create", "update", "merge"]`, "op/enum: was"},
		{`"type": "string"`, `"type": "integer"`, "type: was string, is integer"},
		{`["string", "null"]`, `["string", "null", "integer"]`, "n/type: was"},
		{`[{"type": "null"}]`, `[{"type": "null"}, {"type": "integer"}]`, "m/anyOf: was"},
		{`{"type": "string", "maxLength": 4, "description": "x"}`, `{"type": ["string", "null"], "maxLength": 4}`, "a/type: was"},
		{`"b": {`, `"d": {`, "properties/b: is gone"},
		{`"properties": {"a"`, `"properties": {"new": {"type": "string"}, "a"`, ""},
		{`[{"properties": {"path": {"const": "X"}}}]`, `[{"properties": {"path": {"const": "Y"}}}, {"properties": {"path": {"const": "X"}}}]`, ""},
		{`{"const": "X"}`, `{"const": "Y"}`, "has no like any more"},
	} {
		var before, after any
		if err := json.Unmarshal([]byte(was), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(strings.Replace(was, tt.old, tt.now, 1)), &after); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(incompatible("s", before, after), "\n")
		if (got == "") != (tt.found == "") || !strings.Contains(got, tt.found) {
			t.Errorf("%s to %s: got %q, want %q", tt.old, tt.now, got, tt.found)
		}
	}
}

// TestExamplesAreEvents: what EVENTS.md shows is what the schemas say.
func TestExamplesAreEvents(t *testing.T) {
	text, err := os.ReadFile("EVENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, part := range strings.Split(string(text), "```json\n")[1:] {
		example, _, _ := strings.Cut(part, "\n```")
		target := event.Schd
		if strings.Contains(example, `"changes"`) {
			target = event.Msg
		}
		if err := eventtest.Check(target, []byte(example)); err != nil {
			t.Error(err)
		}
		shown++
	}
	if shown != 3 {
		t.Errorf("%d examples, want 3", shown)
	}
}
