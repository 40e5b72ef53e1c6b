package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
)

// sample makes the n-th value of a field, in canonical text.
func sample(f catalogue.Field, n int) string {
	switch f.Type {
	case catalogue.ID:
		return fmt.Sprint(999999999999990000 + n)
	case catalogue.Int:
		return fmt.Sprint(-2147483648 + n)
	case catalogue.Duration:
		return fmt.Sprint(n)
	case catalogue.Decimal:
		return fmt.Sprintf("12345678901234567890.%d5", n)
	case catalogue.Datetime, catalogue.Stamp:
		return fmt.Sprintf("2026-03-%02dT05:%02d:00+08:00", 1+n%28, n%60)
	case catalogue.Date:
		return fmt.Sprintf("2026-03-%02d", 1+n%28)
	case catalogue.Flag:
		return f.Flags[n%len(f.Flags)]
	}
	text := []rune(fmt.Sprintf("%d航\"\\'🛫 ", n))
	for len(text) < f.MaxLen {
		text = append(text, '班')
	}
	return string(text[:f.MaxLen-1]) + "x"
}

func sampleRecords(l catalogue.List, count, n int) []flight.Record {
	var out []flight.Record
	for i := range count {
		r := flight.Record{Fields: flight.Fields{}}
		for k, f := range l.Fields {
			if (i+k)%3 != 2 { // some parts are not there
				r.Fields[f.Tag] = sample(f, n+i+k)
			}
		}
		for _, nested := range l.Lists {
			if i != 1 { // one entry has none
				r.Lists = map[string][]flight.Record{nested.Tag: sampleRecords(nested, 2, n+i)}
			}
		}
		out = append(out, r)
	}
	return out
}

// fullFlight has every scalar, every object part and every list.
func fullFlight(cat *catalogue.Catalogue, id flight.ID) decision.Advance {
	a := created(id, flight.Fields{})
	n := 0
	for _, f := range cat.Flight.Scalars {
		if n++; f.Tag != "FLID" {
			a.After.Fields[f.Tag] = sample(f, n)
		}
	}
	for _, o := range cat.Flight.Objects {
		for _, f := range o.Parts {
			n++
			a.After.Fields[o.Tag+"."+f.Tag] = sample(f, n)
		}
	}
	for _, l := range cat.Flight.Lists {
		a.After.Lists[l.Tag] = sampleRecords(l, 3, n)
		a.Lists = append(a.Lists, l.Tag)
	}
	return a
}

func load(t *testing.T, s *Store, id flight.ID) *flight.State {
	t.Helper()
	got, err := s.Flight(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestFullFlightRoundTrip(t *testing.T) {
	s, w := fresh(t)
	cat := testCatalogue(t)
	enqueue(t, w, 1, 3)
	one := fullFlight(cat, 999999999999999999)
	two := fullFlight(cat, 0)
	decide(t, w, succeed(1, one, two))
	for _, want := range []*flight.State{one.After, two.After} {
		if diff := cmp.Diff(want, load(t, s, want.ID), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("flight %d (-stored +read):\n%s", want.ID, diff)
		}
	}

	// The next version clears everything, lists too.
	emptied := next(load(t, s, 0), nil)
	emptied.After.Fields, emptied.After.Lists, emptied.Lists = flight.Fields{}, nil, cat.Tags()
	decide(t, w, succeed(2, emptied))
	if diff := cmp.Diff(emptied.After, load(t, s, 0), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("emptied flight (-stored +read):\n%s", diff)
	}
	if diff := cmp.Diff(one.After, load(t, s, one.After.ID), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the other flight (-stored +read):\n%s", diff)
	}

	// A list that is not named as changed stays as it is.
	third := next(one.After, flight.Fields{"STND": "A12"})
	delete(third.After.Lists, "GTDT")
	third.Lists = []string{"GTDT"}
	decide(t, w, succeed(3, third))
	if diff := cmp.Diff(third.After, load(t, s, one.After.ID), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("flight after one list was emptied (-stored +read):\n%s", diff)
	}
}

// Values come back as the codec writes them: equality of text is equality of values.
func TestCanonicalText(t *testing.T) {
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		typ  catalogue.Type
		text string
		zone *time.Location
		want string
	}{
		{catalogue.Datetime, "2021-01-22 21:35:00+00", shanghai, "2021-01-23T05:35:00+08:00"},
		{catalogue.Stamp, "2021-01-22 21:35:07+00", london, "2021-01-22T21:35:07Z"},
		{catalogue.Datetime, "2021-10-31 00:30:00+00", london, "2021-10-31T01:30:00+01:00"}, // the hour that comes twice
		{catalogue.Datetime, "2021-10-31 01:30:00+00", london, "2021-10-31T01:30:00Z"},
		{catalogue.Decimal, "100", nil, "100"},
		{catalogue.Decimal, "100.00", nil, "100"},
		{catalogue.Decimal, "-0.50", nil, "-0.5"},
		{catalogue.Text, "1.50", nil, "1.50"},
		{catalogue.Int, "-5", nil, "-5"},
	} {
		got, err := canonical(tt.typ, tt.text, tt.zone)
		if err != nil || got != tt.want {
			t.Errorf("%s %q: got %q, %v, want %q", tt.typ, tt.text, got, err, tt.want)
		}
	}
	if _, err := canonical(catalogue.Datetime, "yesterday", shanghai); err == nil {
		t.Error("an instant that is none was accepted")
	}
}
