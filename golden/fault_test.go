package golden

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx"
)

// someCase is standCase with some of what has to come instead of all.
func someCase(statements string) string {
	before, _, _ := strings.Cut(standCase, "-- expect --")
	return before + "-- expect-some --\n" + statements
}

// Every fault of a case has its place, what was found, and what was expected.
func TestFaults(t *testing.T) {
	with := func(old, now string) string { return strings.Replace(standCase, old, now, 1) }
	setting := func(line string) string { return with("A stand is set.\n", "A stand is set.\n!"+line+"\n") }
	tests := []struct{ name, text, want string }{
		{"no message", "Nothing.\n-- state --\n", "case.txtar:1: found no message, expected at least one"},
		{"no comment", with("A stand is set.\n", ""), "case.txtar:1: found no comment, expected one that says what the case shows"},
		{"settings are no comment", with("A stand is set.\n", "!zone: Europe/Berlin\n"), "case.txtar:1: found no comment"},
		{"stray file", standCase + "-- notes.md --\n", `case.txtar:29: found the file "notes.md", expected state, expect, expect-some or a message`},
		{"a file with a name that is nearly right", with("-- state --", "-- sate --"), `case.txtar:3: found the file "sate", expected state, expect, expect-some or a message such as 01-name.xml, did you mean state?`},
		{"a file twice", standCase + "-- state --\n", "case.txtar:29: the file state stands twice"},
		{"messages out of order", strings.Replace(with("01-first.xml", "03-first.xml"), "01-first.xml", "03-first.xml", 1), "case.txtar:10: found message 02-second.xml after 03-first.xml, expected the messages in the order of their names"},

		{"unknown setting", setting("colour: red"), `case.txtar:2: found setting "colour", expected one of zone, day-cutover,`},
		{"unknown setting with the nearest", setting("day-cut-over: 4h"), `case.txtar:2: found setting "day-cut-over", did you mean day-cutover?`},
		{"setting twice", setting("zone: UTC\n!zone: UTC"), `case.txtar:3: setting "zone" stands twice`},
		{"unknown zone", setting("zone: Europe/Berln"), `case.txtar:2: zone: found "Europe/Berln", expected a zone such as`},
		{"no duration", setting("day-cutover: four"), `case.txtar:2: day-cutover: found "four", expected a duration such as 4h`},
		{"code share", setting("code-share: mastr"), `case.txtar:2: code-share: found "mastr", expected one of master, own, did you mean master?`},
		{"absent optional", setting("absent-optional: drop"), `case.txtar:2: absent-optional: found "drop", expected one of keep, clear`},
		{"identity with day", setting("identity-with-day: yes"), `case.txtar:2: identity-with-day: found "yes", expected one of true, false`},
		{"show", setting("show: payload"), `case.txtar:2: show: found "payload", expected one of payloads, did you mean payloads?`},
		{"encoding of nothing", setting("encoding 02-secnd.xml: GBK"), `case.txtar:2: the setting names "02-secnd.xml", which is no message of the case, did you mean 02-second.xml?`},
		{"unknown encoding", setting("encoding 01-first.xml: EBCDIC"), `case.txtar:2: encoding 01-first.xml: found "EBCDIC", expected one of GBK, GB18030, UTF-16, UTF-8-BOM`},
		{"encoding without a message", setting("encoding: GBK"), `case.txtar:2: found setting "encoding", expected a message behind encoding and characters`},
		{"a message behind another setting", setting("zone 01-first.xml: UTC"), `case.txtar:2: found setting "zone 01-first.xml", expected a message behind`},
		{"what an encoding cannot write", strings.Replace(setting("encoding 01-first.xml: GBK"), "<SNDR>A<", "<SNDR>\u0e01<", 1), "case.txtar:6: 01-first.xml: cannot be written in GBK"},
		{"unknown state", setting("given: departur"), `case.txtar:2: given: found no state "departur", did you mean departure?`},
		{"no state", setting("given:"), `case.txtar:2: given: found nothing, expected names of states`},
		{"no version", setting("rules: flop-stnd"), `case.txtar:2: rules: found "flop-stnd", expected a script at a version, such as flop-gtdt@1`},
		{"unknown version", setting("rules: flop-stdn@1"), `case.txtar:2: rules: the rule set has no flop-stdn@1, did you mean flop-stnd@1?`},
		{"nothing bound", setting("rules:"), `case.txtar:2: rules: found nothing, expected scripts at versions`},

		{"state with a bad id", with("- flight: 1\n", "- flight: x\n"), `case.txtar:4: flight: found "x"`},
		{"state with an unknown tag", with("- flight: 1\n", "- flight: 1\n  FLNO: CA1\n  STDN: 7\n"), `case.txtar:6: unknown tag "STDN", did you mean STND?`},
		{"state that is no YAML", with("- flight: 1\n", "- flight: 1\n  STND: [7\n"), "this is not YAML"},
		{"fault of a shared state", setting("given: broken"), `states/broken.yaml:2: unknown tag "STDN", did you mean STND?`},

		{"some beside all", standCase + "-- expect-some --\n01-first.xml: SUCCEEDED\n", "case.txtar:29: found expect-some beside expect, expected one of them"},
		{"nothing said", someCase("# nothing\n"), "case.txtar:15: found no statement, expected a message such as 01-first.xml: or afterwards:"},
		{"a message with nothing", someCase("01-first.xml:\n# contains: x\n"), "case.txtar:16: 01-first.xml: holds whatever comes, expected an outcome behind it, or statements below it"},
		{"afterwards with nothing", someCase("01-first.xml: DEAD\nafterwards:\n"), "case.txtar:17: afterwards: holds whatever comes"},
		{"of no message", someCase("  contains: x\n"), `case.txtar:16: found "contains: x" below no message, expected a message such as 01-first.xml: or afterwards: before it`},
		{"of an unknown message", someCase("01-frist.xml: DEAD\n"), `case.txtar:16: "01-frist.xml" is no message of the case, did you mean 01-first.xml?`},
		{"of afterward", someCase("afterward:\n  unchanged: 1\n"), `"afterward" is no message of the case, did you mean afterwards?`},
		{"without a colon", someCase("01-first.xml DEAD\n"), `case.txtar:16: found "01-first.xml DEAD", expected a message and a colon`},
		{"a message twice", someCase("01-first.xml: DEAD\n01-first.xml: DEAD\n"), "case.txtar:17: 01-first.xml stands twice"},
		{"unknown outcome", someCase("01-first.xml: SUCCEEEDED\n"), `case.txtar:16: outcome: found "SUCCEEEDED", expected one of SUCCEEDED, SKIPPED, FAILED, DEAD, did you mean SUCCEEDED?`},
		{"unknown class", someCase("01-first.xml: DEAD(PROTOCOLL)\n"), `case.txtar:16: class: found "PROTOCOLL", expected one of MALFORMED,`},
		{"something behind afterwards", someCase("afterwards: SUCCEEDED\n"), `case.txtar:16: found "SUCCEEDED" behind afterwards:`},
		{"unknown statement", someCase("01-first.xml:\n  contain: x\n"), `case.txtar:17: found "contain: x", did you mean contains?`},
		{"a line that is no statement", someCase("01-first.xml:\n  msg  1 v2 update\n"), `case.txtar:17: found "msg  1 v2 update", expected one of contains:, unchanged:, none:`},
		{"nothing behind a statement", someCase("01-first.xml:\n  none:\n"), "case.txtar:17: found none: with nothing behind it"},
		{"no flight", someCase("01-first.xml:\n  unchanged: CA1\n"), `case.txtar:17: unchanged: found "CA1", expected flights`},
		{"a flight of nobody", someCase("01-first.xml:\n  unchanged: 99999999\n"), `case.txtar:17: unchanged: flight 99999999 is neither in the state nor in a message`},
		{"a flight whose number is part of another one", strings.Replace(someCase("01-first.xml:\n  unchanged: 2021\n"), "<STYP>", "<DTTM>20210123080000</DTTM><STYP>", 1), `case.txtar:17: unchanged: flight 2021 is neither in the state nor in a message`},
		{"none of what", someCase("01-first.xml:\n  none: evnt\n"), `case.txtar:17: none: found "evnt", expected one of event, change, reference, request, note, warning, did you mean event?`},
	}
	cat := catalogueOf(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Catalogue: cat, Rules: msgx.Files, Dir: files(t, map[string]string{
				"cases/case.txtar":      tt.text,
				"states/departure.yaml": "- flight: 2\n",
				"states/broken.yaml":    "- flight: 3\n  STDN: 1\n",
			})}
			_, err := Load(o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v\nexpected an error with\n%s", err, tt.want)
			}
			if err := strings.ReplaceAll(err.Error(), o.Dir, "golden"); !strings.HasPrefix(err, "golden/cases/case.txtar:") && !strings.HasPrefix(err, "golden/states/") {
				t.Errorf("%s\nexpected the file and the line first", err)
			}
		})
	}
}

func TestFaultsComeAllAtOnce(t *testing.T) {
	text := "!zone: Mars\n!given: nowhere\n\n-- state --\n- flight: 1\n  STDN: 1\n-- expect-some --\n01-x.xml: FINE\n  contain: x\n"
	o := Options{Catalogue: catalogueOf(t), Dir: files(t, map[string]string{"cases/a.txtar": text, "cases/b.txtar": "Nothing.\n", "states/departure.yaml": ""})}
	_, err := Load(o)
	want := []string{"a.txtar:1: ", "a.txtar:1: ", "a.txtar:1: ", "a.txtar:2: ", "a.txtar:6: ", "a.txtar:8: ", "a.txtar:9: ", "b.txtar:1: "}
	var got []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimPrefix(line, o.place("cases")+"/")
		place, _, _ := strings.Cut(line, ": ")
		got = append(got, place+": ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s\n%v", diff, err)
	}
	var faults Faults
	if !errors.As(err, &faults) || !slices.ContainsFunc(faults, func(f Fault) bool { return f.Line == 6 }) {
		t.Errorf("%v, expected Faults with their lines", err)
	}
}
