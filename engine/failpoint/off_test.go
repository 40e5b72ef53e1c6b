//go:build !failpoints

package failpoint_test

import (
	"testing"

	"msgx/engine/failpoint"
)

// BenchmarkOff is what a point costs in a program that is shipped: nothing, as an empty loop shows.
func BenchmarkOff(b *testing.B) {
	b.Run("two points", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			failpoint.Before(failpoint.Decide)
			failpoint.After(failpoint.Decide)
		}
	})
	b.Run("empty loop", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
		}
	})
}
