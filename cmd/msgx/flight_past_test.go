package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// The versions of a flight, and the flight at each of them, with where its values came from.
func TestAFlightAsItWas(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.want(s.run("migrate"), 0)
	s.want(s.run("topics create", "kafka.partitions=1"), 0)
	s.put(remark, operation(8, "STND", "<FLID>1</FLID><STND>12</STND>"), operation(9, "STND", "<FLID>1</FLID><STND>14</STND>"))
	stop := s.begin("kafka.partitions=1")
	s.until("message show 3", "marked     20")
	stop()

	s.want(s.run("flight history 1"), 0, "version 3 ", "message 3 FLOP-STND by flop-stnd@1", `"12" -> "14"`, "version 1 ")
	if r := s.run("flight history 1 --limit 2"); !strings.Contains(r.out, "and earlier ones: --before 2\n") || strings.Contains(r.out, "version 1 ") {
		t.Errorf("a page of two: exit %d\n%s%s", r.code, r.out, r.err)
	}
	s.want(s.run("flight history 1 --before 2"), 0, "version 1 ", "SCHD-ADFT")
	if r := s.run("flight history 1 --field STND"); strings.Contains(r.out, "version 1 ") || !strings.Contains(r.out, "version 2 ") {
		t.Errorf("versions of one field: exit %d\n%s%s", r.code, r.out, r.err)
	}
	s.want(s.run("flight history 1 --before 1"), exitFailed, "no such version is on record")
	s.want(s.run("flight history 1 --limit 0"), exitUsage, "--limit 0: expected 1 to")
	s.want(s.run("flight history 2"), exitFailed, "no such version is on record")

	s.want(s.run("flight at 1 --version 2"), 0, "version: 2", "STND: 12", "REMC", "version 1 ", "message 2 FLOP-STND", "by flop-stnd@1 of ")
	if r := s.run("flight at 1 --version 1"); strings.Contains(r.out, "STND") {
		t.Errorf("version 1 had no stand yet:\n%s", r.out)
	}
	s.want(s.run("flight at 1 --time 23:59:59"), 0, "version: 3")
	s.want(s.run("flight at 1 --time 2020-01-01"), exitFailed, "flight 1: it was not known at 2020-01-01 00:00:00")
	s.want(s.run("flight at 1 --version 9"), exitFailed, "flight 1: it was not known at version 9")
	s.want(s.run("flight at 1"), exitUsage, "expected exactly one of --version and --time")
	s.want(s.run("flight at 1 --version 0"), exitUsage, "--version 0: expected a version")
	s.want(s.run("flight at 1 --time soon"), exitUsage, "--time soon: expected a time such as 06:30")
	var shown struct {
		Flight  struct{ STND, REMC string } `json:"flight"`
		Sources map[string]struct {
			Version int    `json:"version"`
			Kind    string `json:"kind"`
		} `json:"sources"`
	}
	r := s.run("flight at 1 --version 2 --json")
	if err := json.Unmarshal([]byte(r.out), &shown); err != nil || shown.Flight.STND != "12" || shown.Sources["STND"].Version != 2 || shown.Sources["REMC"].Kind != "SCHD-ADFT" {
		t.Errorf("as JSON: %v, %+v\n%s%s", err, shown, r.out, r.err)
	}

	// A history that is not kept as far back is told, and so is one that does not fit.
	s.exec(`DELETE FROM flight_change WHERE state_version = 1`)
	s.want(s.run("flight at 1 --version 1"), exitFailed, "flight 1 cannot be told: its history is not kept that far back")
	s.want(s.run("flight at 1 --version 2"), 0, "REMC", "before what is kept")
	s.exec(`UPDATE flight_change SET changed = '[{"path":"STND","before":"12","after":"77"}]' WHERE state_version = 3`)
	s.want(s.run("flight at 1 --version 2"), exitFailed, "flight 1 cannot be told: its history does not fit its state, version 3")
}
