package store

import (
	"context"
	"fmt"
	"testing"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
)

// typicalFlight has what a flight of a day has: some thirty scalars and a few details.
func typicalFlight(cat *catalogue.Catalogue, id flight.ID) decision.Advance {
	a := created(id, flight.Fields{"FLNO": "CA1234"})
	for i, f := range cat.Flight.Scalars {
		if i%2 == 0 && f.Tag != "FLID" && f.Tag != "MAID" {
			a.After.Fields[f.Tag] = sample(f, i)[:min(len(sample(f, i)), 30)]
		}
	}
	for tag := range a.After.Fields {
		if f, _ := cat.Scalar(tag); f.MaxLen > 0 {
			a.After.Fields[tag] = "AB"
		}
	}
	for _, tag := range []string{"ROUT", "GTDT", "CKDT"} {
		l, _ := cat.List(tag)
		a.After.Lists[tag] = []flight.Record{{Fields: flight.Fields{l.Fields[0].Tag: "1", l.Fields[1].Tag: "A1"}}, {Fields: flight.Fields{l.Fields[0].Tag: "2"}}}
		a.Lists = append(a.Lists, tag)
	}
	return a
}

// BenchmarkDecide is one operation on one flight: two round trips, one transaction.
func BenchmarkDecide(b *testing.B) {
	_, w := fresh(b)
	cat := testCatalogue(b)
	const flights = 1000
	var all []decision.Advance
	for id := flight.ID(1); id <= flights; id++ {
		all = append(all, typicalFlight(cat, id))
	}
	enqueue(b, w, 1, 1)
	decide(b, w, succeed(1, all...))
	enqueue(b, w, 2, int64(b.N)+1)
	b.ResetTimer()
	for i := range b.N {
		id := flight.ID(i%flights + 1)
		msg := int64(i) + 2
		claim := decision.Claim{MsgID: msg, Identity: fmt.Sprintf("AODB|FLOP|STND|%d", msg), Flights: []flight.ID{id}}
		err := w.Decide(context.Background(), claim, func(c decision.Claimed) (decision.Settlement, error) {
			a := next(c.View.Flights[id], flight.Fields{"STND": fmt.Sprint(i % 100)})
			return succeed(msg, a), nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

// BenchmarkSchedule is one message with 1000 flights, created and then updated.
func BenchmarkSchedule(b *testing.B) {
	_, w := fresh(b)
	cat := testCatalogue(b)
	enqueue(b, w, 1, int64(b.N))
	ids := make([]flight.ID, 1000)
	for i := range ids {
		ids[i] = flight.ID(i + 1)
	}
	b.ResetTimer()
	for i := range b.N {
		msg := int64(i) + 1
		err := w.Decide(context.Background(), decision.Claim{MsgID: msg, Flights: ids}, func(c decision.Claimed) (decision.Settlement, error) {
			var all []decision.Advance
			for _, id := range ids {
				if before := c.View.Flights[id]; before != nil {
					all = append(all, next(before, flight.Fields{"STND": fmt.Sprint(i % 100)}))
				} else {
					all = append(all, typicalFlight(cat, id))
				}
			}
			return succeed(msg, all...), nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
