package decision_test

import (
	"testing"

	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// BenchmarkApplyOperation is the daily bread: one flight gets another stand.
func BenchmarkApplyOperation(b *testing.B) {
	cat := load(b)
	s := active(1, 5, "FFID=CA-CA101-A-12DEC031345-D", "ALCD=CA", "FLNO=CA101", "MVIN=A", "SODT="+early, "FLTY=W/Z", "FLIN=D",
		"ACFT=738", "RENO=B5398", "TRML=T2", "MAXP=180", "ESTT="+early, "STND=12", "PHAG=CA", "REMC=雾")
	s.OperationDay = "2021-01-23"
	s.Lists = map[string][]flight.Record{"GTDT": {{Fields: flight.Fields{"GATE": "G1", "GTNO": "1", "PGOT": early}}}}
	v := view(s)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := apply(cat, v, message.Operation, change{FLID: 1, Op: update, Set: set("STND=7")}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkApplySchedule is a morning schedule: 1,000 new flights, every tenth a code share.
func BenchmarkApplySchedule(b *testing.B) {
	cat := load(b)
	var changes []decision.Change
	for i := range 1000 {
		fields := []string{"FLNO=CA101", "MVIN=A", "SODT=" + early, "FLTY=W/Z", "FLIN=D", "ACFT=738", "RENO=B5398", "TRML=T2", "MAXP=180"}
		if i%10 == 9 {
			fields = append(fields, "MAID="+flight.ID(i).String())
		}
		changes = append(changes, change{FLID: flight.ID(i + 1), Op: create, Set: set(fields...)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := apply(cat, view(), message.Schedule, changes...); err != nil {
			b.Fatal(err)
		}
	}
}
