package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// table is what was done and seen, for people.
func (r *run) table(took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d kills and %d messages in %s, %.1f messages a second\n\n", r.o.seed, r.total, r.inserted, took.Round(time.Second), float64(r.inserted)/took.Seconds())
	fmt.Fprintf(&b, "%6s  %-38s %s\n", "times", "killed", "next one leads after: median, at most")
	for _, how := range slices.Sorted(maps.Keys(r.kills)) {
		fmt.Fprintf(&b, "%6d  %-38s %s\n", r.kills[how], how, spread(r.gaps[how]))
	}
	fmt.Fprintf(&b, "%6d  %-38s %s\n\n", len(r.gaps[leaseRanOut]), leaseRanOut, spread(r.gaps[leaseRanOut]))
	for _, name := range slices.Sorted(maps.Keys(r.troubles)) {
		fmt.Fprintf(&b, "%6d  %s\n", r.troubles[name], name)
	}
	r.wire.mu.Lock()
	defer r.wire.mu.Unlock()
	b.WriteString("\n")
	for _, name := range slices.Sorted(maps.Keys(r.wire.done)) {
		fmt.Fprintf(&b, "%6d  %s\n", r.wire.done[name], name)
	}
	return b.String()
}

// spread is the median and the longest of some times.
func spread(times []time.Duration) string {
	if len(times) == 0 {
		return "-"
	}
	times = slices.Sorted(slices.Values(times))
	return fmt.Sprintf("%.2f s, %.2f s", times[len(times)/2].Seconds(), times[len(times)-1].Seconds())
}
