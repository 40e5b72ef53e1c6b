package golden

import (
	"strings"
	"testing"

	"msgx"
)

// A skeleton of any kind is a sound case whose message takes effect, with nothing in it
// that the catalogue does not know.
func TestSkeletonsAreSound(t *testing.T) {
	cat := catalogueOf(t)
	o := &Options{Catalogue: cat, Rules: msgx.Files}
	books := newLoaded(o.rules)
	for _, k := range cat.Kinds {
		text, err := Skeleton(cat, k.Name)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		c, err := o.parse("case", text)
		if err != nil {
			t.Errorf("%s: %v\n%s", k.Name, err, text)
			continue
		}
		got, err := c.Replay(cat, books.book)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		r := &got.Results[0]
		effect := len(r.Settlement.Effects.Advances) + len(r.Settlement.Effects.Refs)
		if r.Message == nil || r.Message.Kind != k.Name || effect != 1 || len(r.Message.Unknowns)+len(r.Message.Dropped) > 0 {
			t.Errorf("%s: expected a message of the kind that takes effect whole, found\n%s\n%s", k.Name, c.tell(cat, got, false), text)
		}
	}
}

func TestSkeletonOfNoKind(t *testing.T) {
	cat := catalogueOf(t)
	if _, err := Skeleton(cat, "flop-gdtt"); err == nil || !strings.Contains(err.Error(), "did you mean FLOP-GTDT?") {
		t.Errorf("%v, expected the nearest kind", err)
	}
}
