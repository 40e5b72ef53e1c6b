package feed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// flight is one flight as the airport plans and handles it.
type flight struct {
	flid     int64
	carrier  string
	number   string // FLNO
	arrival  bool
	sodt     time.Time
	other    string // the airport at the other end
	inland   bool
	aircraft string
	seats    int
	tail     string
	terminal string
	stand    string
	master   *flight
	children []*flight
	turn     *flight // the other half of the turnaround
	left     bool    // it was a code share and is none any more
	late     bool    // not in the morning schedule
	gone     []span  // when it is deleted
}

// span is the time in which a flight is deleted.
type span struct{ from, to time.Time }

// operation is a message before it is written.
type operation struct {
	at           time.Time
	kind         string
	typ, subtype string
	payload      string
	touches      []touch
	must         bool   // cannot be left out to meet the number of operations
	ignored      string // the ignore rule that it matches
	flight       *flight
	needsGB18030 bool
}

// day makes one day.
type day struct {
	o       Options
	rng     *rand.Rand
	base    int64 // of the day's FLIDs and SEQNs
	flights []*flight
	numbers map[string]bool
	ops     []operation
	model   *model
}

func newDay(o Options) *day {
	days := o.Date.Unix() / 86400
	return &day{
		o: o, rng: rand.New(rand.NewPCG(o.Seed, uint64(days))), base: days % 40 * 200_000,
		numbers: map[string]bool{}, model: newModel(),
	}
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func (d *day) chance(percent int) bool { return d.rng.IntN(100) < percent }

// at is a time of the day.
func (d *day) at(hour, minute int) time.Time {
	return d.o.Date.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

// some is between low and high minutes, with odd seconds.
func (d *day) some(low, high int) time.Duration {
	return time.Duration(low*60+d.rng.IntN((high-low)*60+1)) * time.Second
}

// plan lays out flights and operations.
func (d *day) plan() {
	d.planFlights()
	var pool []operation
	d.ops = append(d.ops, d.morning()...)
	fixed := len(d.ops)
	pool = append(pool, d.deletions()...)
	pool = append(pool, d.secondSchedule())
	for _, f := range d.flights {
		pool = append(pool, d.handle(f)...)
	}
	pool = append(pool, d.ignoredKinds(d.o.Operations/100)...)
	pool = d.exactly(pool, d.o.Operations)
	d.ops = append(d.ops, pool...)
	slices.SortStableFunc(d.ops[fixed:], func(a, b operation) int { return a.at.Compare(b.at) })
}

// exactly brings the operations to the wanted number: what is not essential
// goes first, and estimates of flights come on top.
func (d *day) exactly(pool []operation, n int) []operation {
	if extra := len(pool) - n; extra > 0 {
		var spare []int
		for i := range pool {
			if !pool[i].must {
				spare = append(spare, i)
			}
		}
		d.rng.Shuffle(len(spare), func(i, j int) { spare[i], spare[j] = spare[j], spare[i] })
		out := map[int]bool{}
		for _, i := range spare[:min(extra, len(spare))] {
			out[i] = true
		}
		kept := make([]operation, 0, n)
		for i := range pool {
			if !out[i] {
				kept = append(kept, pool[i])
			}
		}
		return kept
	}
	for len(pool) < n {
		f := pick(d.rng, d.flights)
		at := f.sodt.Add(-d.some(1, 240))
		if at.Before(d.at(1, 30)) || f.away(at) || f.late {
			continue
		}
		pool = append(pool, d.flop(f, at, "ESTT", el("ESTT", stamp(f.sodt.Add(d.some(0, 90))))))
	}
	return pool
}

// away tells whether the flight is deleted at that time.
func (f *flight) away(at time.Time) bool {
	return slices.ContainsFunc(f.gone, func(s span) bool { return !at.Before(s.from) && at.Before(s.to) })
}

func (d *day) planFlights() {
	children := d.o.Flights * 15 / 100
	parents := d.o.Flights - children
	late := max(2, d.o.Flights/100)
	for i := 0; i < parents+late; {
		arrival := d.newFlight(true, d.at(6, 10).Add(d.some(0, 900)))
		arrival.late = i >= parents
		d.flights = append(d.flights, arrival)
		i++
		if i == parents || i >= parents+late || !d.chance(90) {
			continue
		}
		departure := d.newFlight(false, arrival.sodt.Add(d.some(50, 130)).Truncate(5*time.Minute))
		if departure.sodt.After(d.at(23, 40)) {
			departure.sodt = d.at(23, 40)
		}
		departure.carrier, departure.aircraft, departure.seats, departure.tail = arrival.carrier, arrival.aircraft, arrival.seats, arrival.tail
		departure.number = d.flightNumber(departure.carrier)
		departure.stand, departure.terminal, departure.inland, departure.late = arrival.stand, arrival.terminal, arrival.inland, arrival.late
		arrival.turn, departure.turn = departure, arrival
		d.flights = append(d.flights, departure)
		i++
	}
	masters := len(d.flights)
	for i := 0; i < children+2; {
		m := d.flights[d.rng.IntN(masters)]
		if len(m.children) >= 3 || (m.late != (i >= children)) {
			continue
		}
		c := d.newFlight(m.arrival, m.sodt)
		for c.carrier == m.carrier {
			c.carrier = pick(d.rng, airlines)
		}
		c.number = d.flightNumber(c.carrier)
		c.other, c.inland, c.aircraft, c.seats, c.tail, c.terminal, c.stand = m.other, m.inland, m.aircraft, m.seats, m.tail, m.terminal, m.stand
		c.master, c.late = m, m.late
		m.children = append(m.children, c)
		d.flights = append(d.flights, c)
		i++
	}
	for i, f := range d.flights {
		f.flid = 1_000_000 + d.base + int64(i) + 1
	}
}

func (d *day) newFlight(arrival bool, sodt time.Time) *flight {
	plane := pick(d.rng, aircraft)
	f := &flight{
		carrier: pick(d.rng, airlines), arrival: arrival, sodt: sodt.Truncate(5 * time.Minute), inland: d.chance(75),
		aircraft: plane.code, seats: plane.seats, tail: fmt.Sprintf("B%04d", 1000+d.rng.IntN(8999)),
		terminal: "T" + number(1+d.rng.IntN(3)), stand: number(101 + d.rng.IntN(280)),
	}
	f.number = d.flightNumber(f.carrier)
	f.other = pick(d.rng, domestic)
	if !f.inland {
		f.other = pick(d.rng, international)
	}
	return f
}

func (d *day) flightNumber(carrier string) string {
	for {
		n := carrier + number(100+d.rng.IntN(9899))
		if !d.numbers[n] {
			d.numbers[n] = true
			return n
		}
	}
}

// direction is MVIN.
func (f *flight) direction() string {
	if f.arrival {
		return "A"
	}
	return "D"
}

func (f *flight) reach() string {
	if f.inland {
		return "D"
	}
	return "I"
}

// ffid is the display key.
func (f *flight) ffid() string {
	return fmt.Sprintf("%s-%s-%s-%s-%s", f.carrier, f.number, f.direction(), strings.ToUpper(f.sodt.Format("02Jan061504")), f.reach())
}
