package consume_test

import (
	"fmt"

	"msgx/engine/consume"
	"msgx/engine/evidence"
)

// told makes a record as a topic has it.
func told(flid, version, value string) evidence.Record {
	r := evidence.Record{Key: flid, Headers: map[string]string{
		"event_id": "1" + version, "flid": flid, "state_version": version, "type": "UPSERT", "kind": "FLOP-STND", "msg_id": "7"}}
	if value != "" {
		r.Value = []byte(value)
	}
	return r
}

// Each change of a flight once and in order, with what is missing.
func ExampleFeed() {
	var feed consume.Feed
	for _, version := range []string{"1", "2", "1", "5", "4"} {
		e, err := consume.Understand(told("1000345", version, `{"schema_version":1,"op":"update","changes":[{"path":"STND","before":null,"after":"12"}]}`))
		if err != nil {
			fmt.Println("not ours:", err) // and go on
			continue
		}
		arrival, missing := feed.Take(e.FLID, e.Version)
		fmt.Printf("flight %s version %d: %s, %d missing before it\n", e.FLID, e.Version, arrival, missing)
	}
	// Output:
	// flight 1000345 version 1: NEW, 0 missing before it
	// flight 1000345 version 2: NEW, 0 missing before it
	// flight 1000345 version 1: REPEAT, 0 missing before it
	// flight 1000345 version 5: NEW, 2 missing before it
	// flight 1000345 version 4: LATE, 0 missing before it
}

// The latest state of each flight. The null value deletes, and a late repeat does not bring the flight back; a flight that comes back goes on
// above the version of its deletion.
func ExampleLatest() {
	var latest consume.Latest
	for _, r := range []evidence.Record{
		told("1000345", "4", `{"schema_version":1,"STND":"12"}`),
		told("1000345", "5", ""),
		told("1000345", "4", `{"schema_version":1,"STND":"12"}`),
		told("1000345", "6", `{"schema_version":1,"STND":"14L"}`),
	} {
		e, err := consume.Understand(r)
		if err != nil {
			continue
		}
		changed := latest.Take(e)
		state, there := latest.State(e.FLID)
		fmt.Printf("%t %t %s.\n", changed, there, state)
	}
	// Output:
	// true true {"schema_version":1,"STND":"12"}.
	// true false .
	// false false .
	// true true {"schema_version":1,"STND":"14L"}.
}
