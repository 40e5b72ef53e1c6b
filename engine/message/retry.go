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

// Settle turns what one attempt made of a message into what is stored: how
// many failures it then has, and, unless that is the end of it, how long it
// waits. An exhausted message keeps the class and text of its last failure
// in the reason.
func (r Retry) Settle(o Outcome, failures int) (settled Outcome, attempts int, wait time.Duration) {
	switch o.State {
	case Dead:
		return o, failures + 1, 0
	case Failed:
		failures++
	default:
		return o, failures, 0
	}
	wait, exhausted := r.After(failures)
	if exhausted {
		return Exhaust(o.Class, o.Reason), failures, 0
	}
	return o, failures, wait
}

// Exhaust is the end of a message that has failed as often as it may. Class is
// empty where only the text of its last failure is known.
func Exhaust(class ErrorClass, text string) Outcome {
	if class != "" {
		text = string(class) + ": " + text
	}
	return Outcome{State: Dead, Class: Exhausted, Reason: text}
}
