//go:build failpoints

package failpoint_test

import (
	"testing"

	"msgx/engine/failpoint"
)

// BenchmarkOn is what a point costs in a program that can be killed, where another one or none is armed.
func BenchmarkOn(b *testing.B) {
	for i := 0; i < b.N; i++ {
		failpoint.Before(failpoint.Decide)
		failpoint.After(failpoint.Decide)
	}
}
