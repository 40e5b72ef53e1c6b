package schemas

import "testing"

func TestShippedCatalogueLoads(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(c.Flight.Scalars), 51; got != want {
		t.Errorf("scalars: got %d, want %d", got, want)
	}
	if got, want := len(c.Flight.Lists), 15; got != want {
		t.Errorf("lists: got %d, want %d", got, want)
	}
	for _, pair := range [][3]string{{"SCHD", "DNLD", "SCHD-DNLD"}, {"FLOP", "FDEL", "FDEL"}, {"FDEL", "X", "FDEL"}, {"SLST", "UPD", "REF-SLST"}} {
		if k, ok := c.KindOf(pair[0], pair[1]); !ok || k.Name != pair[2] {
			t.Errorf("KindOf(%s, %s): got %v, want %s", pair[0], pair[1], k, pair[2])
		}
	}
	if _, ok := c.KindOf("FLOP", "NOPE"); ok {
		t.Error("KindOf(FLOP, NOPE): got a kind, want none")
	}
}
