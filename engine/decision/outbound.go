package decision

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String is the request for people: its name, and its fields in the order of their names, such as
// EROR CODE="FLIGHT-UNKNOWN" SEQN="17".
func (o Outbound) String() string {
	var b strings.Builder
	b.WriteString(o.Request)
	for _, tag := range slices.Sorted(maps.Keys(o.Fields)) {
		fmt.Fprintf(&b, " %s=%q", tag, o.Fields[tag])
	}
	return b.String()
}
