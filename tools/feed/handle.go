package feed

import (
	"fmt"
	"time"
)

// flop is one operation of one flight.
func (d *day) flop(f *flight, at time.Time, subtype, payload string) operation {
	inner := d.flidOf(f)
	if !d.chance(5) {
		inner += el("FFID", f.ffid())
	}
	return operation{at: at, kind: "FLOP-" + subtype, typ: "FLOP", subtype: subtype, flight: f,
		payload: with("FLOP", "", inner+payload), touches: []touch{f.touch(operated)}}
}

// timeline collects the operations of one flight, each after the one before.
type timeline struct {
	d     *day
	f     *flight
	last  time.Time
	ops   []operation
	ended bool
}

// add adds an operation around so many minutes from t, with a chance in percent; 100 makes it essential.
func (l *timeline) add(t time.Time, offset, percent int, subtype string, payload string) {
	if l.ended || !l.d.chance(percent) {
		return
	}
	at := t.Add(time.Duration(offset)*time.Minute + time.Duration(l.d.rng.IntN(150))*time.Second)
	if !at.After(l.last) {
		at = l.last.Add(time.Duration(5+l.d.rng.IntN(40)) * time.Second)
	}
	l.last = at
	if l.f.away(at) && !l.d.chance(3) { // a straggler now and then
		return
	}
	op := l.d.flop(l.f, at, subtype, payload)
	op.must = percent == 100
	l.ops = append(l.ops, op)
}

// handle makes everything that happens to a flight. What happens to a code
// share is told of its master.
func (d *day) handle(f *flight) []operation {
	l := &timeline{d: d, f: f, last: d.at(1, 35)}
	if f.late {
		before := d.some(245, 275)
		if f.master != nil {
			before = d.some(200, 235)
		}
		at := f.sodt.Add(-before)
		l.ops = append(l.ops, d.addition(at, f))
		l.last = at
	}
	if f.master != nil {
		l.add(f.sodt, -100, 5, "REMC", el("REMC", pick(d.rng, remarks)))
		return l.ops
	}
	actual := f.sodt.Add(time.Duration(d.rng.IntN(12)-4) * time.Minute)
	late := d.chance(25)
	if late {
		actual = f.sodt.Add(d.some(15, 120))
	}
	d.prepare(l, actual)
	if late {
		d.delay(l, actual)
	}
	if d.chance(2) {
		l.add(f.sodt, -50, 100, "CNCL", el("CNCL", stamp(f.sodt.Add(-50*time.Minute))))
		l.add(f.sodt, -49, 80, "FTSS", el("FTSS", "CAN"))
		if !d.chance(10) {
			l.ended = true
		}
		l.add(f.sodt, -30, 100, "CNCL", "<CNCL/>") // taken back
	}
	if f.arrival {
		d.arrive(l, actual)
	} else {
		d.depart(l, actual)
	}
	return l.ops
}

// prepare is what both directions have.
func (d *day) prepare(l *timeline, actual time.Time) {
	f, t := l.f, l.f.sodt
	l.add(t, -185, 90, "STND", el("STND", f.stand))
	l.add(t, -182, 30, "PSDT", with("PSDT", attr("PSNO", "1"), el("PSST", f.stand)+el("STST", stamp(t.Add(-30*time.Minute)))+el("STET", stamp(t.Add(30*time.Minute)))))
	l.add(t, -178, 25, "HNAG", el("PHAG", pick(d.rng, agents))+el("FHAG", pick(d.rng, agents))+"<MHAG/>")
	l.add(t, -175, 4, "TRML", el("TRML", f.terminal))
	l.add(t, -170, 5, "ACFT", el("ACFT", pick(d.rng, aircraft).code))
	l.add(t, -169, 12, "RENO", el("RENO", fmt.Sprintf("B%04d", 1000+d.rng.IntN(8999))))
	l.add(t, -168, 4, "MAXP", el("MAXP", number(100+d.rng.IntN(200))))
	l.add(t, -165, 3, "FLTY", el("FLTY", pick(d.rng, []string{"W/Z", "J/B", "C/B"})))
	l.add(t, -164, 2, "FLIN", el("FLIN", pick(d.rng, []string{"D", "I", "M"})))
	l.add(t, -160, 8, "VIPP", el("VIPP", number(1+d.rng.IntN(4)))+el("VIPR", number(1+d.rng.IntN(5))))
	l.add(t, -158, 8, "VIPF", with("VIPF", "", el("VPCD", "VIP"+number(1+d.rng.IntN(9)))+el("VFES", number(d.rng.IntN(4)))+
		with("VIPT", "", el("VSCD", "LOUNGE")+el("VTQY", "1")+el("VTST", stamp(t.Add(-60*time.Minute)))+el("VTET", stamp(t.Add(-20*time.Minute))))))
	if f.turn != nil {
		l.add(t, -155, 5, "TAOP", el("TAOP", f.turn.carrier)+el("TAFL", f.turn.number)+el("TAID", fmt.Sprint(f.turn.flid)))
	}
	if d.chance(4) {
		l.add(t, -150, 90, "REMC", el("REMC", rare))
		if n := len(l.ops); n > 0 && l.ops[n-1].subtype == "REMC" {
			l.ops[n-1].needsGB18030 = true
		}
	}
	l.add(t, -149, 15, "REMC", pick(d.rng, []string{el("REMC", pick(d.rng, remarks)), "<REMC><![CDATA[" + pick(d.rng, remarks) + "]]></REMC>", "<REMC/>"}))
	l.add(t, -145, 5, "EXSS", el("EXSC", "OK")+el("EXSR", "外部状态正常"))
	if d.chance(10) { // the stand moves, with the other half of the turnaround
		f.stand = number(101 + d.rng.IntN(280))
		l.add(t, -90, 100, "STND", el("STND", f.stand))
		if n := len(l.ops); f.turn != nil && n > 0 && l.ops[n-1].subtype == "STND" {
			f.turn.stand = f.stand
			op := &l.ops[n-1]
			op.payload += with("FLOP", "", el("FLID", fmt.Sprint(f.turn.flid))+el("FFID", f.turn.ffid())+el("STND", f.stand))
			op.touches = append(op.touches, f.turn.touch(operated))
		}
	}
	l.add(t, -80, 60, "ESTT", el("ESTT", stamp(actual.Add(d.some(0, 8)))))
}

func (d *day) delay(l *timeline, actual time.Time) {
	f, t := l.f, l.f.sodt
	why := pick(d.rng, delays)
	how := attr("CODE", why.code) + attr("STRT", stamp(t)) + attr("DURA", minutes(actual.Sub(t)))
	l.add(t, -75, 70, "DELY", with("DELY", how, escape(why.text)))
	l.add(t, -74, 95, "ESTT", el("ESTT", stamp(actual)))
	l.add(t, -73, 30, "FTSS", el("FTSS", "DLY"))
	l.add(t, -40, 20, "DELY", with("DELY", how, escape(why.text))+with("DELY", attr("CODE", "OTH"), "其他"))
	l.add(t, -35, 25, "ESTT", el("ESTT", stamp(actual.Add(d.some(0, 10)))))
	l.add(t, -30, 5, "DELY", "<DELY/>")
	if !f.arrival {
		l.add(t, -30, 30, "TOBT", el("TOBT", stamp(actual)))
	}
}

func (d *day) arrive(l *timeline, actual time.Time) {
	t := l.f.sodt
	belt := number(1 + d.rng.IntN(22))
	plannedBelt := el("BELT", belt) + el("PCOT", stamp(t.Add(10*time.Minute))) + el("PCCT", stamp(t.Add(50*time.Minute)))
	l.add(actual, -140, 50, "PEDT", el("PEDT", stamp(actual.Add(-100*time.Minute))))
	l.add(actual, -98, 90, "PADT", el("PADT", stamp(actual.Add(-100*time.Minute))))
	l.add(actual, -60, 70, "CLDT", with("CLDT", attr("CLNO", "1"), plannedBelt))
	l.add(actual, -45, 8, "ERUT", d.estimatedRoute(l.f))
	l.add(actual, -40, 60, "ESTT", el("ESTT", stamp(actual.Add(time.Duration(d.rng.IntN(5))*time.Minute))))
	l.add(actual, -38, 10, "IEST", el("IEST", stamp(actual)))
	if d.chance(1) {
		l.add(actual, -30, 100, "FDIV", with("FDIV", attr("DDES", pick(d.rng, domestic))+attr("DDIR", "TO"), escape(pick(d.rng, diversions))))
		l.add(actual, -28, 50, "FTSS", el("FTSS", "DIV"))
		if !d.chance(30) {
			l.ended = true
		}
		l.add(actual, 60, 100, "FDIV", "<FDIV/>") // it comes after all
		actual = actual.Add(2 * time.Hour)
		l.add(actual, -20, 100, "ESTT", el("ESTT", stamp(actual)))
	}
	l.add(actual, -12, 50, "RUNW", el("RUNW", pick(d.rng, []string{"16", "17L", "34", "35R"})))
	l.add(actual, 0, 100, "ACTT", el("ACTT", stamp(actual)))
	l.add(actual, 2, 40, "TIPT", with("TIPT", "", el("TRTM", stamp(actual.Add(2*time.Minute)))+el("TRST", "TWY-"+pick(d.rng, []string{"A", "B", "C"}))))
	l.add(actual, 8, 70, "CHOT", with("CHOT", attr("CSNO", "1"), el("CHTM", stamp(actual.Add(8*time.Minute)))+el("CHID", "ON")+el("CHST", l.f.stand)))
	l.add(actual, 9, 40, "ABTM", with("ABTM", attr("ASNO", "1"), el("ABDG", "AB"+l.f.stand)+el("ABOP", "A")+el("AOTM", stamp(actual.Add(9*time.Minute)))))
	l.add(actual, 10, 40, "PORT", with("PORT", "", el("POTM", stamp(actual.Add(10*time.Minute)))+el("POID", "O")))
	l.add(actual, 11, 40, "FTSS", el("FTSS", pick(d.rng, statuses)))
	l.add(actual, 14, 25, "SRVT", d.serviced(actual))
	l.add(actual, 18, 70, "CLDT", with("CLDT", attr("CLNO", "1"), plannedBelt+el("FBAG", stamp(actual.Add(18*time.Minute)))))
	l.add(actual, 40, 60, "CLDT", with("CLDT", attr("CLNO", "1"), plannedBelt+el("FBAG", stamp(actual.Add(18*time.Minute)))+el("LBAG", stamp(actual.Add(40*time.Minute)))))
}

func (d *day) depart(l *timeline, actual time.Time) {
	t := l.f.sodt
	counters := func(open bool) string {
		out := ""
		for i := range 2 + d.rng.IntN(2) {
			inner := el("CHKC", number(100+i)) + el("CCLS", pick(d.rng, []string{"Y", "F", "J"})) + el("PCOT", stamp(t.Add(-150*time.Minute))) + el("PCCT", stamp(t.Add(-40*time.Minute)))
			if open {
				inner += el("COTM", stamp(t.Add(-148*time.Minute)))
			}
			out += with("CKDT", attr("CKNO", number(i+1)), inner)
		}
		return out
	}
	gate := pick(d.rng, []string{"A", "B", "C"}) + number(1+d.rng.IntN(40))
	plannedGate := el("GATE", gate) + el("PGOT", stamp(t.Add(-45*time.Minute))) + el("PGCT", stamp(t.Add(-5*time.Minute)))
	l.add(t, -155, 70, "CKDT", counters(false))
	l.add(t, -152, 70, "GTDT", with("GTDT", attr("GTNO", "1"), plannedGate))
	l.add(t, -148, 50, "CHDT", with("CHDT", attr("CHNO", "1"), el("CHUT", number(1+d.rng.IntN(60)))+el("PCBT", stamp(t.Add(-150*time.Minute)))+el("PCET", stamp(t.Add(-30*time.Minute)))))
	l.add(t, -146, 40, "CKDT", counters(true))
	l.add(t, -70, 8, "ROUT", d.route(l.f))
	l.add(t, -60, 50, "TOBT", el("TOBT", stamp(actual)))
	l.add(t, -55, 30, "COBT", el("COBT", stamp(actual)))
	l.add(t, -54, 30, "EOBT", el("EOBT", stamp(actual)))
	l.add(t, -50, 30, "CTOT", el("CTOT", stamp(actual.Add(15*time.Minute))))
	l.add(actual, -40, 80, "BOTM", el("BOTM", stamp(actual.Add(-40*time.Minute))))
	l.add(actual, -39, 50, "GTDT", with("GTDT", attr("GTNO", "1"), plannedGate+el("GOTM", stamp(actual.Add(-39*time.Minute)))))
	if d.chance(5) { // the gate changes: two allocations, one after the other
		l.add(actual, -35, 90, "GTDT", with("GTDT", attr("GTNO", "1"), plannedGate)+with("GTDT", attr("GTNO", "2"), el("GATE", "C"+number(d.rng.IntN(40)))))
	}
	l.add(actual, -30, 25, "SRVT", d.serviced(actual))
	l.add(actual, -25, 10, "APPT", el("APPT", stamp(actual)))
	l.add(actual, -15, 70, "LACL", el("LACL", stamp(actual.Add(-15*time.Minute))))
	l.add(actual, -8, 70, "FINT", el("FINT", stamp(actual.Add(-8*time.Minute))))
	l.add(actual, -7, 40, "PORT", with("PORT", "", el("POTM", stamp(actual.Add(-7*time.Minute)))+el("POID", "C")))
	l.add(actual, -6, 30, "EGSR", el("EGSR", stamp(actual.Add(-6*time.Minute))))
	l.add(actual, -5, 40, "ABTM", with("ABTM", attr("ASNO", "1"), el("ABDG", "AB"+l.f.stand)+el("ABOP", "D")+el("AOTM", stamp(actual.Add(-5*time.Minute)))))
	l.add(actual, -4, 40, "PSHT", with("PSHT", attr("PSHN", "1"), el("PSTM", stamp(actual.Add(-4*time.Minute)))+el("PSID", "OUT")+el("PUST", l.f.stand)))
	l.add(actual, -2, 30, "EGST", el("EGST", stamp(actual.Add(-2*time.Minute))))
	l.add(actual, 0, 70, "CHOT", with("CHOT", attr("CSNO", "1"), el("CHTM", stamp(actual))+el("CHID", "OFF")+el("CHST", l.f.stand)))
	l.add(actual, 6, 40, "TIPT", with("TIPT", "", el("TRTM", stamp(actual.Add(6*time.Minute)))+el("TRST", "HOLD")))
	l.add(actual, 8, 40, "RUNW", el("RUNW", pick(d.rng, []string{"16", "17L", "34", "35R"})))
	l.add(actual, 15, 100, "ACTT", el("ACTT", stamp(actual.Add(15*time.Minute))))
	l.add(actual, 16, 50, "FTSS", el("FTSS", "DEP"))
	if d.chance(1) {
		l.add(actual, 30, 100, "FRET", with("FRET", attr("REID", "A"), "空中返航"))
		l.add(actual, 32, 60, "FLAB", with("FLAB", attr("ARES", "O"), "机械原因"))
		l.add(actual, 50, 100, "ESTT", el("ESTT", stamp(actual.Add(3*time.Hour))))
		actual = actual.Add(3 * time.Hour)
		l.add(actual, 0, 100, "FRET", "<FRET/>")
		l.add(actual, 5, 100, "ACTT", el("ACTT", stamp(actual.Add(5*time.Minute))))
	}
	l.add(actual, 20, 40, "NEAT", el("NEAT", stamp(actual.Add(2*time.Hour))))
	l.add(actual, 125, 50, "NAAT", el("NAAT", stamp(actual.Add(2*time.Hour))))
}

func (d *day) serviced(t time.Time) string {
	s := pick(d.rng, services)
	return with("SRVT", "", el("SRTC", s)+el("SRQT", number(1+d.rng.IntN(3)))+el("SRST", stamp(t.Add(-30*time.Minute)))+el("SRET", stamp(t.Add(-20*time.Minute)))+el("SRPR", pick(d.rng, agents)))
}

func (d *day) estimatedRoute(f *flight) string {
	return with("ERUT", attr("RTNO", "1"), el("APCD", f.other)+el("SCDT", stamp(f.sodt.Add(-90*time.Minute)))+el("SDDC", "+0")) +
		with("ERUT", attr("RTNO", "2"), el("APCD", "TAO")+el("SCAT", stamp(f.sodt))+el("SADC", "+1"))
}
