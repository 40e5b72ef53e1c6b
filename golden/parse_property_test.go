package golden

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"msgx"
)

// Whatever becomes of the lines of a case, its faults are told with lines that there are, and a
// case without faults can be run.
func TestAnyCaseIsReadOrRefused(t *testing.T) {
	o := &Options{Catalogue: catalogueOf(t), Rules: msgx.Files}
	books := newLoaded(o.rules)
	whole := strings.SplitAfter(standCase, "\n")
	some := strings.SplitAfter(someCase("01-first.xml: SUCCEEDED\n  contains: STND: \"6\"\n  unchanged: 2\n# said\nafterwards:\n  none: note\n"), "\n")
	odd := rapid.SampledFrom([]string{"\n", "!given: departure\n", "!given: nowhere\n", "!rules: flop-stnd@1\n", "!encoding 01-first.xml: GBK\n", "-- state --\n", "-- expect-some --\n", "-- 03-x.xml --\n", "  contains:\n", "  :\n", ":\n", "01-first.xml\n", "- flight: [\n", "\t\x00\n"})
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SampledFrom([][]string{whole, some}).Draw(t, "case")
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
			drop := rapid.IntRange(0, 2).Draw(t, "dropped")
			rest := lines[min(len(lines), at+drop):]
			lines = append(append(append([]string{}, lines[:at]...), odd.Draw(t, "odd")), rest...)
		}
		text := strings.Join(lines, "")
		c, err := o.parse("case", []byte(text))
		var faults Faults
		switch {
		case errors.As(err, &faults):
			for _, f := range faults {
				if count := strings.Count(text, "\n") + 1; strings.Contains(f.File, "cases") && (f.Line < 1 || f.Line > count) {
					t.Fatalf("%v, in a case of %d lines:\n%s", f, count, text)
				}
			}
		case err != nil:
			t.Fatalf("%v is no Faults", err)
		default:
			got, err := c.Replay(o.Catalogue, books.book)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			_ = c.Mismatch(o.Catalogue, got)
		}
	})
}
