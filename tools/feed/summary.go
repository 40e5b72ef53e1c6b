package feed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Summary counts messages by what has to become of them in the end.
func Summary(messages []Message) string {
	outcomes, bad := map[string]int{}, map[string]int{}
	bytes := 0
	for _, m := range messages {
		e := m.Expect.Final()
		key := string(e.State)
		if e.Class != "" {
			key += "(" + string(e.Class) + ")"
		}
		outcomes[key]++
		if m.Bad != "" {
			bad[m.Bad]++
		}
		bytes += len(m.Body)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages, %d bytes\n", len(messages), bytes)
	for _, counts := range []map[string]int{outcomes, bad} {
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, "  %-24s %6d\n", key, counts[key])
		}
	}
	return b.String()
}
