//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Armed tells whether this program was built to be killed.
const Armed = true

const variable = "FAILPOINT"

var (
	armed = arm(os.Getenv(variable))
	left  atomic.Int64 // passes until the process ends
)

// arm reads a point; a bad one ends the program, or a harness would believe that it had tried it.
func arm(text string) string {
	if text == "" {
		return ""
	}
	point, count, _ := strings.Cut(text, ":")
	boundary, side, _ := strings.Cut(point, "/")
	n, err := strconv.ParseInt(count, 10, 64)
	if !slices.Contains(Boundaries, Boundary(boundary)) || (side != "before" && side != "after") || err != nil || n < 1 {
		fmt.Fprintf(os.Stderr, "%s is %q, expected BOUNDARY/before:N or BOUNDARY/after:N\n", variable, text)
		os.Exit(2)
	}
	left.Store(n)
	return point
}

// Before is the point before something lasts.
func Before(b Boundary) { pass(b, "/before") }

// After is the point after it.
func After(b Boundary) { pass(b, "/after") }

func pass(b Boundary, side string) {
	if armed == "" || armed != string(b)+side || left.Add(-1) != 0 {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal may take a moment
}
