package golden

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"msgx"
)

// gateCase has every kind of effect: two messages for two flights, and one for reference data.
const gateCase = `Gates.

-- state --
- flight: 1
  FLNO: CA101
- flight: 2
  version: 3
  STND: 201
- reference: SLST
  key: S1
  value: {A: 1}
-- 01-gates.xml --
<MSG>
  <META><SNDR>A</SNDR><SEQN>1</SEQN><TYPE>FLOP</TYPE><STYP>GTDT</STYP></META>
  <FLOP><FLID>1</FLID><GTDT GTNO="1"><GATE>G1</GATE></GTDT><GTDT GTNO="2"><GATE>G2</GATE></GTDT></FLOP>
</MSG>
-- 02-unknown.xml --
<MSG>
  <META><SNDR>A</SNDR><SEQN>2</SEQN><TYPE>FLOP</TYPE><STYP>STND</STYP></META>
  <FLOP><FLID>9</FLID><STND>7</STND></FLOP>
</MSG>
-- 03-stand.xml --
<MSG>
  <META><SNDR>A</SNDR><SEQN>3</SEQN><TYPE>SLST</TYPE><STYP>UPD</STYP></META>
  <RECS>1</RECS><SLST><SCOD>S2</SCOD></SLST>
</MSG>
-- expect-some --
`

func TestSomeOfWhatComes(t *testing.T) {
	tests := []struct {
		name, statements string
		want             string // all that is said of what does not hold; "" when all holds
	}{
		{"an outcome", "01-gates.xml: SUCCEEDED\n02-unknown.xml: SKIPPED flight-unknown\n", ""},
		{"part of a reason", "02-unknown.xml: SKIPPED unknown\n", ""},
		{"another outcome", "02-unknown.xml: SUCCEEDED\n", "line 28: 02-unknown.xml: SUCCEEDED\n    found 02-unknown.xml: SKIPPED flight-unknown\n"},
		{"a class that is not there", "02-unknown.xml: SKIPPED(PROTOCOL)\n", "line 28: 02-unknown.xml: SKIPPED(PROTOCOL)\n    found 02-unknown.xml: SKIPPED flight-unknown\n"},
		{"another reason", "02-unknown.xml: SKIPPED deleted\n", "line 28: 02-unknown.xml: SKIPPED deleted\n    found 02-unknown.xml: SKIPPED flight-unknown\n"},

		{"lines of a message", "01-gates.xml:\n  contains: msg 1 v2 update\n  contains: schd 1 v2\n  contains: + {\"GTNO\":1,\"GATE\":\"G1\"}\n  contains: 1 GTDT: + {\"GTNO\":2,\"GATE\":\"G2\"}\n", ""},
		{"a reference of a message", "03-stand.xml:\n  contains: reference SLST S2: upsert {\"SCOD\":\"S2\"}\n", ""},
		{"a line that is not there", "01-gates.xml:\n  contains: msg 2 v4 update\n", "line 29: contains: msg 2 v4 update\n    not found\n"},
		{"a line that is there with another value", "01-gates.xml:\n  contains: msg 1 v3 update\n", "line 29: contains: msg 1 v3 update\n    found msg 1 v2 update\n"},
		{"lines of the end", "afterwards:\n  contains: 1 GTDT: {GTNO: 2, GATE: G2}\n  contains: 1 version: 2\n  contains: 2 STND: 201\n  contains: 2 state: ACTIVE\n  contains: SLST S2: {\"SCOD\":\"S2\"}\n", ""},
		{"another value at the end", "afterwards:\n  contains: 2 STND: 202\n", "line 29: contains: 2 STND: 202\n    found 2 STND: 201\n"},
		{"another entry at the end", "afterwards:\n  contains: 1 GTDT: {GTNO: 3}\n", "line 29: contains: 1 GTDT: {GTNO: 3}\n    found 1 GTDT: {GTNO: 1, GATE: G1}\n    found 1 GTDT: {GTNO: 2, GATE: G2}\n"},

		{"unchanged", "01-gates.xml:\n  unchanged: 2 9\nafterwards:\n  unchanged: 2 9\n", ""},
		{"changed by a message", "01-gates.xml:\n  unchanged: 1 2\n", "line 29: unchanged: 1 2\n    found 1 v2 update\n    found 1 GTDT: + {\"GTNO\":1,\"GATE\":\"G1\"}\n    found 1 GTDT: + {\"GTNO\":2,\"GATE\":\"G2\"}\n"},
		{"changed at the end", "afterwards:\n  unchanged: 1\n", "line 29: unchanged: 1\n    found - flight: 1\n    found +   version: 2\n    found     FLNO: CA101\n    found +   GTDT:\n    found +     - {GTNO: 1, GATE: G1}\n    found +     - {GTNO: 2, GATE: G2}\n"},

		{"none", "02-unknown.xml:\n  none: event change reference request warning\n03-stand.xml:\n  none: event note\nafterwards:\n  none: request warning\n", ""},
		{"an event", "01-gates.xml:\n  none: event\n", "line 29: none: event\n    found msg 1 v2\n    found schd 1 v2\n"},
		{"a change", "03-stand.xml:\n  none: change\n", "line 29: none: change\n    found reference SLST S2: upsert\n"},
		{"anything in the whole case", "afterwards:\n  none: change\n", "line 29: none: change\n    found 01-gates.xml: 1 v2 update\n    found 03-stand.xml: reference SLST S2: upsert\n"},
	}
	cat := catalogueOf(t)
	books := newLoaded((&Options{Catalogue: cat, Rules: msgx.Files}).rules)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := (&Options{Catalogue: cat}).parse("case", []byte(gateCase+tt.statements))
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Replay(cat, books.book)
			if err != nil {
				t.Fatal(err)
			}
			said, rest, _ := strings.Cut(c.Mismatch(cat, got), "what came of it:\n")
			if diff := cmp.Diff(tt.want, said); diff != "" {
				t.Errorf("what does not hold (-want +got):\n%s", diff)
			}
			if tt.want != "" && !strings.HasPrefix(tt.statements, "afterwards") && !strings.HasPrefix(strings.TrimSpace(rest), strings.SplitN(tt.statements, ":", 2)[0]) {
				t.Errorf("expected what came of the message, found\n%s", rest)
			}
		})
	}
}
