package rulebook_test

import (
	"syscall"
	"testing"

	"msgx"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rulebook"
)

// busy is a flight with every scalar and a few lists.
func busy(t testing.TB, id flight.ID) *flight.State {
	s := active(id, flight.Fields{}, lists{
		"GTDT": {rec("GTNO", "1", "GATE", "12", "PGOT", at5), rec("GTNO", "2", "GATE", "13")},
		"DELY": {rec("CODE", "81", "DURA", "15"), rec("CODE", "93", "TEXT", "x")},
		"CKDT": {rec("CHKC", "A01"), rec("CHKC", "A02"), rec("CHKC", "A03"), rec("CHKC", "A04")},
	})
	for _, f := range shippedCatalogue(t).Flight.Scalars {
		s.Fields[f.Tag] = sample(f.Type, f.Flags)
	}
	return s
}

func benchmark(b *testing.B, m *message.Message, v decision.View) {
	book := shipped(b, rulebook.Settings{})
	b.ReportAllocs()
	before := processor(b)
	for b.Loop() {
		if _, err := book.Decide(m, v); err != nil {
			b.Fatal(err)
		}
	}
	// The machine may be shared: what the processor spent says more than the clock.
	b.ReportMetric(float64(processor(b)-before)/float64(b.N), "cpu-ns/op")
}

// processor is the processor time of this process, in nanoseconds.
func processor(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkScalar(b *testing.B) {
	benchmark(b, msg("FLOP-STND", record(1, elements{"STND": text("12")})), view(busy(b, 1)))
}

func BenchmarkReplace(b *testing.B) {
	benchmark(b, msg("FLOP-GTDT", record(1, elements{"GTDT": list(rec("GATE", "12", "PGOT", at5), rec("GATE", "13"))})), view(busy(b, 1)))
}

func BenchmarkByKey(b *testing.B) {
	benchmark(b, msg("FLOP-DELY", record(1, elements{"DELY": list(rec("CODE", "81", "DURA", "20"), rec("CODE", "94"))})), view(busy(b, 1)))
}

func BenchmarkSchedule1000(b *testing.B) {
	m, v := schedule(b, 1000)
	benchmark(b, m, v)
}

func BenchmarkLoad(b *testing.B) {
	cat := shippedCatalogue(b)
	for b.Loop() {
		if _, err := rulebook.Load(msgx.Files, cat, rulebook.Settings{}, rulebook.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
