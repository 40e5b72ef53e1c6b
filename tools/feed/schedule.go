package feed

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// morning is reference data and the daily schedule.
func (d *day) morning() []operation {
	var ops []operation
	at := d.at(0, 30)
	for _, r := range references {
		at = at.Add(d.some(1, 3))
		var b strings.Builder
		n := 8 + d.rng.IntN(20)
		b.WriteString(el("RECS", number(n)))
		for i := range n {
			b.WriteString(with(r.typ, "", el(r.key, fmt.Sprintf("%s%02d", r.typ[:1], i))+el(r.text, pick(d.rng, []string{"名称", "Name", "说明 A&B", "中文"})+number(i))))
		}
		ops = append(ops, operation{at: at, kind: "REF-" + r.typ, typ: r.typ, subtype: "DNLD", payload: b.String(), must: true})
	}
	at = at.Add(d.some(1, 2))
	ops = append(ops, operation{at: at, kind: "REF-GLST", typ: "GLST", subtype: "UPD", must: true,
		payload: el("RECS", "1") + with("GLST", "", el("GCOD", "G01")+el("DESC", "登机口 01"))})
	at = at.Add(d.some(1, 2))
	ops = append(ops, operation{at: at, kind: "REF-BLST", typ: "BLST", subtype: "DEL", must: true,
		payload: el("RECS", "1") + with("BLST", "", el("BCOD", "B00"))})

	var planned []*flight
	for _, f := range d.flights {
		if !f.late {
			planned = append(planned, f)
		}
	}
	slices.SortStableFunc(planned, func(a, b *flight) int { return a.sodt.Compare(b.sodt) })
	return append(ops, d.download(d.at(1, 0), planned))
}

// download is a daily schedule of the given flights.
func (d *day) download(at time.Time, flights []*flight) operation {
	op := operation{at: at, kind: "SCHD-DNLD", typ: "SCHD", subtype: "DNLD", must: true}
	var b strings.Builder
	b.WriteString(el("RECS", number(len(flights))))
	for _, f := range flights {
		b.WriteString(d.planned(f))
		op.touches = append(op.touches, f.touch(scheduled))
	}
	op.payload = with("SCHD", "", b.String())
	return op
}

// addition announces a flight that the morning did not know.
func (d *day) addition(at time.Time, f *flight) operation {
	return operation{at: at, kind: "SCHD-ADFT", typ: "SCHD", subtype: "ADFT", must: true, flight: f,
		payload: with("SCHD", "", el("RECS", "1")+d.planned(f)), touches: []touch{f.touch(added)}}
}

func (f *flight) touch(v verb) touch {
	t := touch{verb: v, flid: f.flid, plan: f, leaves: f.left}
	if f.master != nil {
		t.master = f.master.flid
	}
	return t
}

// planned is the flight as a schedule carries it.
func (d *day) planned(f *flight) string {
	var b strings.Builder
	b.WriteString(el("FLID", fmt.Sprint(f.flid)) + el("FFID", f.ffid()) + el("ALCD", f.carrier) + el("FLNO", f.number) +
		el("MVIN", f.direction()) + el("SODT", stamp(f.sodt)) + el("FLTY", "W/Z") + el("FLIN", f.reach()) +
		el("ACFT", f.aircraft) + el("RENO", f.tail))
	if f.turn != nil {
		b.WriteString(el("TAOP", f.turn.carrier) + el("TAFL", f.turn.number) + el("TAID", fmt.Sprint(f.turn.flid)))
	}
	b.WriteString(el("TRML", f.terminal) + el("MAXP", number(f.seats)))
	if f.master != nil {
		b.WriteString(el("CSOP", f.master.carrier) + el("CSFT", f.master.number) + el("MAID", fmt.Sprint(f.master.flid)))
	}
	if f.left {
		b.WriteString("<CSOP/><CSFT/><MAID></MAID>")
	}
	if d.chance(30) {
		b.WriteString(el("PHAG", pick(d.rng, agents)) + el("FHAG", pick(d.rng, agents)))
	}
	b.WriteString(pick(d.rng, []string{"", "", "<REMC/>", "<REMC></REMC>", "<CNCL/>", el("REMC", pick(d.rng, remarks))}))
	if d.chance(20) {
		b.WriteString(el("LBNO", number(d.rng.IntN(200))) + el("LBWT", fmt.Sprintf("%d.%d", d.rng.IntN(3000), d.rng.IntN(10))) + el("PAXC", number(d.rng.IntN(f.seats))))
	}
	b.WriteString(d.route(f))
	if f.master == nil && d.chance(40) {
		b.WriteString(with("PSDT", attr("PSNO", "1"), el("PSST", f.stand)+el("STST", stamp(f.sodt.Add(-40*time.Minute)))+el("STET", stamp(f.sodt.Add(40*time.Minute)))))
	}
	return with("FLTR", "", b.String())
}

func (d *day) route(f *flight) string {
	here, there := "TAO", f.other
	flying := time.Duration(60+d.rng.IntN(180)) * time.Minute
	if f.arrival {
		return with("ROUT", attr("RTNO", "1"), el("APCD", there)+el("SCDT", stamp(f.sodt.Add(-flying)))) +
			with("ROUT", attr("RTNO", "2"), el("APCD", here)+el("SCAT", stamp(f.sodt)))
	}
	return with("ROUT", attr("RTNO", "1"), el("APCD", here)+el("SCDT", stamp(f.sodt))) +
		with("ROUT", attr("RTNO", "2"), el("APCD", there)+el("SCAT", stamp(f.sodt.Add(flying))))
}

// deletions chooses the flights that are deleted, with the messages that do it.
// A master takes its children along; a sender that minds the order deletes those first.
func (d *day) deletions() []operation {
	var ops []operation
	wanted := max(4, d.o.Flights*25/1000)
	order := d.rng.Perm(len(d.flights))
	// Some masters with children among them, whatever the dice say.
	slices.SortStableFunc(order, func(a, b int) int { return min(len(d.flights[b].children), 1) - min(len(d.flights[a].children), 1) })
	masters := wanted / 3
	rest := order[masters:]
	d.rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	for _, i := range append(order[:masters:masters], rest...) {
		f := d.flights[i]
		if wanted == 0 {
			break
		}
		if f.late || len(f.gone) > 0 || (f.master != nil && len(f.master.gone) > 0) {
			continue
		}
		wanted--
		at := f.sodt.Add(-d.some(60, 180))
		if f.sodt.After(d.at(15, 0)) && d.chance(60) { // long before, so that the second schedule can bring it back
			at = d.at(4, 0).Add(d.some(0, 560))
		}
		family := append([]*flight{f}, f.children...)
		if len(f.children) > 0 && d.chance(30) {
			for _, c := range f.children {
				ops = append(ops, d.deletion(at.Add(-time.Duration(1+d.rng.IntN(20))*time.Second), c))
			}
		}
		ops = append(ops, d.deletion(at, f))
		if d.chance(20) {
			ops = append(ops, d.deletion(at.Add(d.some(1, 3)), f)) // again, without effect
		}
		for _, g := range family {
			g.gone = append(g.gone, span{at.Add(-time.Minute), d.at(48, 0)})
		}
	}
	return ops
}

func (d *day) deletion(at time.Time, f *flight) operation {
	op := operation{at: at, kind: "FDEL", typ: "FLOP", subtype: "FDEL", must: true, flight: f,
		payload: with("FLOP", "", d.flidOf(f)+el("FFID", f.ffid())+"<FDEL/>"), touches: []touch{f.touch(dropped)}}
	if d.chance(20) {
		op.typ, op.subtype = "FDEL", "NONE"
		op.payload = with("FDEL", "", d.flidOf(f)+el("FFID", f.ffid())+"<FDEL></FDEL>")
	}
	return op
}

// flidOf writes a FLID as senders do: with zeros in front or blanks around it now and then.
func (d *day) flidOf(f *flight) string {
	switch d.rng.IntN(50) {
	case 0:
		return el("FLID", fmt.Sprintf("%012d", f.flid))
	case 1:
		return el("FLID", fmt.Sprintf(" %d\t", f.flid))
	}
	return el("FLID", fmt.Sprint(f.flid))
}

// secondSchedule is the afternoon's: some flights as they are, code shares that
// move to another flight or end among them, and some of the deleted, which come back
// with most of their code shares.
func (d *day) secondSchedule() operation {
	at := d.at(14, 0)
	var carried []*flight
	back := map[*flight]bool{}
	for _, f := range d.flights {
		switch {
		case f.late || f.sodt.Before(d.at(14, 30)):
		case f.away(at) && f.master == nil && d.chance(75):
			carried, back[f] = append(carried, f), true
		case f.away(at) && f.master != nil && back[f.master] && d.chance(70):
			back[f] = true
			if d.chance(40) {
				carried = append(carried, d.regrouped(f))
			} else {
				carried = append(carried, f)
			}
		case !f.away(at) && f.master != nil && d.chance(20):
			carried = append(carried, d.regrouped(f))
		case !f.away(at) && d.chance(6):
			carried = append(carried, f)
		}
	}
	for f := range back {
		for i := range f.gone {
			if f.gone[i].from.Before(at) {
				f.gone[i].to = at
			}
		}
	}
	return d.download(at, carried)
}

// regrouped is a code share as it is from now on: under another master, or on its own.
func (d *day) regrouped(f *flight) *flight {
	after := *f
	after.master, after.left = nil, true
	if other := pick(d.rng, d.flights); d.chance(60) && other.master == nil && !other.late {
		after.master, after.left = other, false
	}
	return &after
}

// ignoredKinds are messages that belong to others.
func (d *day) ignoredKinds(n int) []operation {
	var ops []operation
	for range n {
		at := d.at(2, 0).Add(d.some(0, 21*60))
		f := pick(d.rng, d.flights)
		kind := pick(d.rng, []struct{ typ, subtype, payload string }{
			{"LDM", "NONE", with("LDM", "", el("FLNO", f.number)+el("TEXT", "-"+f.tail+"."+number(f.seats)))},
			{"REGN", "UPD", el("RECS", "1") + with("REGN", "", el("RNUM", f.tail)+el("ITAT", f.aircraft))},
			{"RSTA", "STAT", with("RSTA", "", el("STND", f.stand))},
		})
		ops = append(ops, operation{at: at, kind: kind.typ + "-" + kind.subtype, typ: kind.typ, subtype: kind.subtype, payload: kind.payload, ignored: kind.typ})
	}
	return ops
}
