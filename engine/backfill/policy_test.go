package backfill_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"msgx/engine/backfill"
	"msgx/engine/message"
)

var (
	now    = time.Date(2021, 1, 23, 12, 0, 0, 0, time.UTC)
	policy = backfill.Policy{R: time.Hour, First: 2 * time.Second, Max: time.Minute}
)

func TestOutcome(t *testing.T) {
	cases := map[string]struct {
		attempts int
		failing  time.Duration // how long ago its failures began, negative for none
		result   message.MarkResult
		want     message.MarkOutcome
	}{
		"written":                   {3, time.Minute, message.MarkWritten, message.MarkOutcome{Confirmed: true}},
		"there already":             {0, -1, message.MarkAlready, message.MarkOutcome{Confirmed: true}},
		"written after R":           {9, 2 * time.Hour, message.MarkWritten, message.MarkOutcome{Confirmed: true}},
		"no row":                    {0, -1, message.MarkMissing, message.MarkOutcome{AbandonReason: message.AbandonMissingRow}},
		"first failure":             {0, -1, message.MarkFailed, message.MarkOutcome{FirstFailedAt: now, NextAt: now.Add(2 * time.Second), Error: "why"}},
		"failures of an old row":    {7, -1, message.MarkFailed, message.MarkOutcome{FirstFailedAt: now, NextAt: now.Add(time.Minute), Error: "why"}},
		"third failure":             {2, 10 * time.Second, message.MarkFailed, message.MarkOutcome{FirstFailedAt: now.Add(-10 * time.Second), NextAt: now.Add(8 * time.Second), Error: "why"}},
		"the wait has a limit":      {1000, time.Minute, message.MarkFailed, message.MarkOutcome{FirstFailedAt: now.Add(-time.Minute), NextAt: now.Add(time.Minute), Error: "why"}},
		"not beyond R":              {9, 59*time.Minute + 50*time.Second, message.MarkFailed, message.MarkOutcome{FirstFailedAt: now.Add(-59*time.Minute - 50*time.Second), NextAt: now.Add(10 * time.Second), Error: "why"}},
		"failing for R":             {9, time.Hour, message.MarkFailed, message.MarkOutcome{FirstFailedAt: now.Add(-time.Hour), AbandonReason: message.AbandonTransientDeadline, Error: "why"}},
		"failing for R, tried once": {1, time.Hour, message.MarkFailed, message.MarkOutcome{FirstFailedAt: now.Add(-time.Hour), AbandonReason: message.AbandonTransientDeadline, Error: "why"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			// Enqueued long before R: that alone gives nothing up.
			due := message.MarkDue{MsgID: 5, EnqueuedAt: now.Add(-1000 * time.Hour), Attempts: c.attempts}
			if c.failing >= 0 {
				due.FirstFailedAt = now.Add(-c.failing)
			}
			c.want.MsgID, c.want.Result = 5, c.result
			if diff := cmp.Diff(c.want, policy.Outcome(due, c.result, "why", now)); diff != "" {
				t.Errorf("%+v %s (-want +got):\n%s", due, c.result, diff)
			}
		})
	}
}

// A row that keeps failing is tried until its failures have lasted R, is given up
// then and not before, and is never due later than R.
func TestARowThatKeepsFailingIsGivenUpAfterR(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := backfill.Policy{
			R:     time.Duration(rapid.IntRange(1, 1000).Draw(t, "R")) * time.Second,
			First: time.Duration(rapid.IntRange(1, 50).Draw(t, "first")) * time.Second,
			Max:   time.Duration(rapid.IntRange(1, 500).Draw(t, "max")) * time.Second,
		}
		due, at := message.MarkDue{MsgID: 1, EnqueuedAt: now}, now
		for {
			o := p.Outcome(due, message.MarkFailed, "why", at)
			lasted := at.Sub(now)
			if given := o.AbandonReason != ""; given != (lasted >= p.R) {
				t.Fatalf("after %v of %v: given up is %v", lasted, p.R, given)
			} else if given {
				return
			}
			if !o.NextAt.After(at) || o.NextAt.Sub(now) > p.R || o.NextAt.Sub(at) > p.Max {
				t.Fatalf("after %v of %v: next at %v", lasted, p.R, o.NextAt.Sub(now))
			}
			due.Attempts, due.FirstFailedAt = due.Attempts+1, o.FirstFailedAt
			at = o.NextAt.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "late")) * time.Second)
		}
	})
}
