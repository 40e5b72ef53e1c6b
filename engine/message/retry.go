package message

import "time"

// Retry is the policy of a stage that tries again: after failure n it waits
// tier n; failure MaxAttempts exhausts at once. len(Tiers) is MaxAttempts-1, so that
// no tier is there in vain.
type Retry struct {
	MaxAttempts int
	Tiers       []time.Duration
}

// After says what follows the given number of failures: exhausted, or how long to wait.
func (r Retry) After(failures int) (wait time.Duration, exhausted bool) {
	if failures >= r.MaxAttempts {
		return 0, true
	}
	if failures < 1 || len(r.Tiers) == 0 {
		return 0, false
	}
	return r.Tiers[min(failures, len(r.Tiers))-1], false
}
