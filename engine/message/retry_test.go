package message_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/message"
)

func TestRetrySettle(t *testing.T) {
	policy := message.Retry{MaxAttempts: 3, Tiers: []time.Duration{time.Second, 2 * time.Second}}
	failed := message.Outcome{State: message.Failed, Class: message.RuleError, Reason: "flop.lua:3: boom"}
	type result struct {
		Outcome  message.Outcome
		Attempts int
		Wait     time.Duration
	}
	tests := []struct {
		name     string
		outcome  message.Outcome
		failures int
		want     result
	}{
		{"success keeps the count", message.Outcome{State: message.Succeeded}, 2, result{message.Outcome{State: message.Succeeded}, 2, 0}},
		{"skip keeps the count", message.Outcome{State: message.Skipped, Reason: "ignored:LDM-*"}, 0,
			result{message.Outcome{State: message.Skipped, Reason: "ignored:LDM-*"}, 0, 0}},
		{"dead at once is one failure", message.Outcome{State: message.Dead, Class: message.Malformed}, 0,
			result{message.Outcome{State: message.Dead, Class: message.Malformed}, 1, 0}},
		{"first failure waits the first tier", failed, 0, result{failed, 1, time.Second}},
		{"second failure waits the second tier", failed, 1, result{failed, 2, 2 * time.Second}},
		{"last failure exhausts at once and keeps class and text", failed, 2,
			result{message.Outcome{State: message.Dead, Class: message.Exhausted, Reason: "RULE_ERROR: flop.lua:3: boom"}, 3, 0}},
		{"a count beyond the limit exhausts too", failed, 7,
			result{message.Outcome{State: message.Dead, Class: message.Exhausted, Reason: "RULE_ERROR: flop.lua:3: boom"}, 8, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outcome, attempts, wait := policy.Settle(tt.outcome, tt.failures)
			if diff := cmp.Diff(tt.want, result{outcome, attempts, wait}); diff != "" {
				t.Errorf("Settle(%+v, %d) (-want +got):\n%s", tt.outcome, tt.failures, diff)
			}
		})
	}
}
