package simulate_test

import (
	"math/rand/v2"
	"time"
)

// tape is every choice of a schedule, in the order in which it was made. What is drawn beyond its end is
// 0, and 0 is always the harmless choice: nothing fails, whoever waits first goes on first. So any tape, shortened
// and zeroed at will, is a schedule that comes to rest; this is what makes shrinking simple.
type tape struct {
	choices []uint16
	at      int
	rng     *rand.Rand // nil when played back
	limit   int
}

func fresh(seed uint64, limit int) *tape {
	return &tape{rng: rand.New(rand.NewPCG(seed, 0)), limit: limit}
}

func play(choices []uint16) *tape { return &tape{choices: choices} }

// draw is one of 0 to n-1.
func (t *tape) draw(n int) int {
	if n <= 1 {
		return 0
	}
	if t.at == len(t.choices) {
		if t.rng == nil || t.at >= t.limit {
			return 0
		}
		t.choices = append(t.choices, uint16(t.rng.IntN(n)))
	}
	t.at++
	return int(t.choices[t.at-1]) % n
}

// chance is true in so many of a hundred draws.
func (t *tape) chance(percent int) bool { return t.draw(100) >= 100-percent }

// over tells that all further choices are harmless.
func (t *tape) over() bool { return t.at == len(t.choices) && (t.rng == nil || t.at >= t.limit) }

// one is one of the values; the first is the harmless one.
func one[T any](t *tape, values ...T) T { return values[t.draw(len(values))] }

// pause is one of so many milliseconds.
func (t *tape) pause(milliseconds ...int) time.Duration {
	return time.Duration(one(t, milliseconds...)) * time.Millisecond
}

// shrink looks for a shorter and calmer tape that is still found guilty, with a bounded number of trials.
func shrink(choices []uint16, guilty func([]uint16) bool, trials int) []uint16 {
	try := func(candidate []uint16) bool {
		if trials--; trials < 0 || !guilty(candidate) {
			return false
		}
		choices = candidate
		return true
	}
	for size := len(choices); size > 0 && trials > 0; size /= 2 {
		for at := 0; at < len(choices) && trials > 0; {
			end := min(at+size, len(choices))
			if try(append(append([]uint16{}, choices[:at]...), choices[end:]...)) {
				continue // what followed has moved up
			}
			if calmer := zeroed(choices, at, end); calmer != nil {
				try(calmer)
			}
			at = end
		}
	}
	return choices
}

// zeroed is nil when there is nothing to zero.
func zeroed(choices []uint16, from, to int) []uint16 {
	out := append([]uint16{}, choices...)
	changed := false
	for i := from; i < to; i++ {
		changed = changed || out[i] != 0
		out[i] = 0
	}
	if !changed {
		return nil
	}
	return out
}
