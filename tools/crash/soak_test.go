package crash

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"msgx/tools/feed"
)

var (
	soakFor    = flag.Duration("soak.for", 0, "how long to go on; 0 for the short one of make test")
	soakOutage = flag.Duration("soak.outage", 0, "how long each server is away in the middle of it; 0 for a tenth of the whole")
)

// sample is what one look saw.
type sample struct {
	phase                        string
	rss, heap, goroutines, files float64 // MiB, MiB, count, count
	postgres, mariadb            float64 // connections of the daemon
	lines                        float64 // of its log so far, but for those of messages
	decided                      float64 // messages, so far
	deadTuples                   float64 // in proc_state and msg_event, since the last vacuum
	at                           time.Time
}

// TestSoak lets a daemon work steadily, with each server away for a while in the middle and a long reader that holds
// back vacuum all the time, and holds it to what it needed before.
func TestSoak(t *testing.T) {
	total, outage, rate := *soakFor, *soakOutage, 60
	if total == 0 {
		total = 40 * time.Second
	}
	if outage == 0 {
		outage = total / 10
	}
	p := newPlace(t, build(t, ""))
	p.prepare()
	r := newRun(p, options{seed: *seed})
	i, err := r.start("soak", end{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.stop(i)

	// A report that somebody left open: nothing that has died since can be taken away.
	reader, err := p.pg.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Rollback(context.WithoutCancel(t.Context()))
	if _, err := reader.Exec(t.Context(), `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM proc_state`); err != nil {
		t.Fatal(err)
	}

	var feeding sync.WaitGroup
	feeding.Go(func() { r.steady(rate) })
	var samples []sample
	phase := func(name string, length time.Duration) {
		t.Helper()
		until := time.Now().Add(length)
		for time.Now().Before(until) && t.Context().Err() == nil {
			samples = append(samples, p.sample(i, name))
			time.Sleep(min(time.Second, length/10))
		}
	}
	quiet := (total - 3*outage) / 5
	phase("beginning", quiet) // what is made once is made
	phase("steady", 2*quiet)
	for _, s := range []*server{p.postgres, p.mariadb, p.kafka} {
		s.proxy.Stop()
		phase("without "+s.name, outage)
		if err := s.proxy.Start(); err != nil {
			t.Fatal(err)
		}
	}
	phase("after", 2*quiet)
	close(r.over)
	feeding.Wait()
	began := time.Now()
	for p.left() != "" {
		if time.Since(began) > 3*time.Minute {
			t.Fatalf("not worked off 3 minutes after the last message: %s\n%s", p.left(), i.tail())
		}
		samples = append(samples, p.sample(i, "working off"))
		time.Sleep(200 * time.Millisecond)
	}
	t.Log("\n" + tableOf(samples))
	hold(t, samples)
	if found := r.audit(); found != "" {
		t.Error(found)
	}
}

// steady writes messages at a rate, day after day, until the run is over.
func (r *run) steady(rate int) {
	zone := time.FixedZone("", 8*3600)
	for day := time.Date(2026, 3, 1, 0, 0, 0, 0, zone); ; day = day.AddDate(0, 0, 1) {
		messages, err := feed.Generate(feed.Options{Seed: r.o.seed, Date: day, Zone: zone, Flights: 60, Operations: 900, Holding: -1})
		if err != nil {
			r.fail("feed: %v", err)
			return
		}
		chunk := 0
		for some := range slices.Chunk(messages, rate/4) {
			chunk++
			if r.isOver() {
				return
			}
			// No id is given up: each would hold the reading up for the commit delay, and what is looked at here is the pace.
			r.insert(some, uint64(day.Unix())+uint64(chunk), 0)
			r.pause(250 * time.Millisecond)
		}
	}
}

var address = regexp.MustCompile(`http=(http://\S+)`)

// sample looks once. What cannot be asked at the moment is 0, and left out where it is judged.
func (p *place) sample(i *instance, phase string) sample {
	s := sample{phase: phase, at: time.Now()}
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", i.cmd.Process.Pid)); err == nil {
		pages, _ := strconv.ParseFloat(strings.Fields(string(data))[1], 64)
		s.rss = pages * float64(os.Getpagesize()) / (1 << 20)
	}
	if files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", i.cmd.Process.Pid)); err == nil {
		s.files = float64(len(files))
	}
	if log, err := os.ReadFile(i.log.Name()); err == nil {
		for line := range strings.Lines(string(log)) {
			if !strings.Contains(line, "msg_id=") { // which a message of the day is worth, outage or not
				s.lines++
			}
		}
		if at := address.FindSubmatch(log); at != nil {
			metrics(p.t.Context(), string(at[1])+"/metrics", map[string]*float64{"go_goroutines": &s.goroutines, "go_memstats_heap_inuse_bytes": &s.heap})
			s.heap /= 1 << 20
		}
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Second)
	defer cancel()
	_ = p.pg.QueryRow(ctx, `SELECT (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'msgx'), (SELECT count(*) FROM proc_state WHERE state IN ('SUCCEEDED', 'SKIPPED', 'DEAD')),
		(SELECT sum(n_dead_tup) FROM pg_stat_user_tables WHERE relname IN ('proc_state', 'msg_event'))`).Scan(&s.postgres, &s.decided, &s.deadTuples)
	_ = p.mailbox.QueryRowContext(ctx, `SELECT count(*) FROM information_schema.processlist WHERE db = 'mailbox' AND id <> CONNECTION_ID()`).Scan(&s.mariadb)
	return s
}

// metrics reads some of the daemon's metrics.
func metrics(ctx context.Context, url string, into map[string]*float64) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if at := into[name]; at != nil {
			*at, _ = strconv.ParseFloat(value, 64)
		}
	}
}

// of are the samples of a phase.
func of(samples []sample, phase string) []sample {
	var out []sample
	for _, s := range samples {
		if s.phase == phase {
			out = append(out, s)
		}
	}
	return out
}

// highest is the highest value in some samples.
func highest(samples []sample, value func(sample) float64) float64 {
	high := 0.0
	for _, s := range samples {
		high = max(high, value(s))
	}
	return high
}

// perMinute is how fast a count grew.
func perMinute(samples []sample, value func(sample) float64) float64 {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s sample) bool { return value(s) == 0 })
	if len(samples) < 2 {
		return 0
	}
	first, last := samples[0], samples[len(samples)-1]
	return (value(last) - value(first)) / last.at.Sub(first.at).Minutes()
}

func tableOf(samples []sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %7s %8s %8s %10s %6s %9s %8s %10s %12s %10s\n",
		"", "s", "MiB RSS", "MiB heap", "goroutines", "files", "postgres", "mariadb", "lines/min", "decided/min", "dead rows")
	var phases []string
	for _, s := range samples {
		if !slices.Contains(phases, s.phase) {
			phases = append(phases, s.phase)
		}
	}
	for _, phase := range phases {
		some := of(samples, phase)
		high := func(value func(sample) float64) float64 { return highest(some, value) }
		fmt.Fprintf(&b, "%-16s %7.0f %8.0f %8.0f %10.0f %6.0f %9.0f %8.0f %10.0f %12.0f %10.0f\n", phase, some[len(some)-1].at.Sub(some[0].at).Seconds(),
			high(func(s sample) float64 { return s.rss }), high(func(s sample) float64 { return s.heap }), high(func(s sample) float64 { return s.goroutines }),
			high(func(s sample) float64 { return s.files }), high(func(s sample) float64 { return s.postgres }), high(func(s sample) float64 { return s.mariadb }),
			perMinute(some, func(s sample) float64 { return s.lines }), perMinute(some, func(s sample) float64 { return s.decided }),
			high(func(s sample) float64 { return s.deadTuples }))
	}
	return b.String()
}

// hold compares the end with the steady time before the outages.
func hold(t *testing.T, samples []sample) {
	t.Helper()
	steady, after := of(samples, "steady"), of(samples, "after")
	later := after[len(after)/2:]
	for _, bound := range []struct {
		name  string
		value func(sample) float64
		more  float64 // than in the steady time
	}{
		{"MiB of heap", func(s sample) float64 { return s.heap }, 30},
		{"MiB resident", func(s sample) float64 { return s.rss }, 60},
		{"goroutines", func(s sample) float64 { return s.goroutines }, 15},
		{"open files", func(s sample) float64 { return s.files }, 15},
		{"connections to PostgreSQL", func(s sample) float64 { return s.postgres }, 3},
		{"connections to MariaDB, those of 4 writers among them", func(s sample) float64 { return s.mariadb }, 6},
	} {
		before, then := highest(steady, bound.value), highest(later, bound.value)
		if before == 0 || then == 0 {
			t.Errorf("%s: nothing was seen", bound.name)
		}
		if then > before+bound.more {
			t.Errorf("%s: %.0f after the outages and %.0f before them, want at most %.0f more", bound.name, then, before, bound.more)
		}
	}
	for _, phase := range []string{"without postgres", "without mariadb", "without kafka"} {
		some := of(samples, phase)
		if lines := some[len(some)-1].lines - some[0].lines; lines > 60 {
			t.Errorf("%s: %.0f lines in the log, want a few: one a stage", phase, lines)
		}
	}
}
