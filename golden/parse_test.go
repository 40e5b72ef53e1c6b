package golden

import (
	"errors"
	"testing"

	"msgx/schemas"
)

// TestParseReadsATextThatLiesInNoFile: faults have their line in it.
func TestParseReadsATextThatLiesInNoFile(t *testing.T) {
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Catalogue: cat}
	c, err := Parse(o, "mine", []byte("Mine.\n-- state --\n- flight: 1\n-- 01-a.xml --\n<MSG/>\n"))
	if err != nil || c.Name != "mine" || len(c.Messages()) != 1 || len(c.Before().Flights) != 1 {
		t.Errorf("found %+v, %v, expected a case with one message and one flight", c, err)
	}
	var faults Faults
	if _, err := Parse(o, "mine", []byte("Mine.\n-- state --\n- flight: x\n-- 01-a.xml --\n")); !errors.As(err, &faults) || faults[0].Line != 3 {
		t.Errorf("found %v, expected a fault in line 3", err)
	}
}
