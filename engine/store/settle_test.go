package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/message"
)

func settlementOf(msgID int64, o message.Outcome) decision.Settlement {
	raw := message.Raw{MsgID: msgID, Body: []byte("x\x00\xff")}
	return decision.Settlement{MsgID: msgID, SHA256: raw.SHA256(), Raw: &raw, Outcome: o, At: noon, StartedAt: noon, OwesMark: true}
}

func TestSettleIsOneStatementWithItsIntent(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 9)
	tests := []struct {
		name    string
		outcome message.Outcome
		shadow  bool
		due     bool
	}{
		{"malformed", message.Outcome{State: message.Dead, Class: message.Malformed, Reason: "raw-missing"}, false, true},
		{"protocol", message.Outcome{State: message.Dead, Class: message.Protocol, Reason: "record-count 3, found 2"}, false, true},
		{"exhausted", message.Outcome{State: message.Dead, Class: message.Exhausted, Reason: "disk"}, false, true},
		{"skipped", message.Outcome{State: message.Skipped, Reason: "ignored:LDM-*"}, false, true},
		{"in shadow", message.Outcome{State: message.Skipped, Reason: "ignored:LDM-*"}, true, false},
		{"failed", message.Outcome{State: message.Failed, Class: message.RuleError, Reason: "rules/x.lua:3"}, false, false},
	}
	for i, tt := range tests {
		id := int64(i + 1)
		settlement := settlementOf(id, tt.outcome)
		settlement.OwesMark = !tt.shadow
		if err := w.Settle(t.Context(), settlement); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		r, err := s.Message(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		reason := r.Failure.LastError + r.Failure.SkipReason
		if r.State != tt.outcome.State || r.Failure.Class != tt.outcome.Class || reason != tt.outcome.Reason || !r.Mark.NextAt.IsZero() != tt.due {
			t.Errorf("%s: got %s %s %q, mark due %v, want %s %s %q, %v", tt.name,
				r.State, r.Failure.Class, reason, r.Mark.NextAt, tt.outcome.State, tt.outcome.Class, tt.outcome.Reason, tt.due)
		}
		raw, found, err := s.RawCopy(t.Context(), id)
		if err != nil || !found || string(raw.Body) != "x\x00\xff" || raw.Characters {
			t.Errorf("%s: our copy is %q, found %v, %v", tt.name, raw.Body, found, err)
		}
		err = w.Settle(t.Context(), settlement)
		if tt.outcome.State == message.Failed && err != nil || tt.outcome.State != message.Failed && !errors.Is(err, fault.ErrMoved) {
			t.Errorf("%s once more: got %v, want ErrMoved of a terminal one and nothing of a failed one", tt.name, err)
		}
	}
	if err := w.Settle(t.Context(), settlementOf(9, message.Outcome{State: message.Succeeded})); !errors.Is(err, fault.ErrRefused) {
		t.Errorf("a success without its decision: got %v, want ErrRefused", err)
	}
	due, err := s.DueMarks(t.Context(), noon, time.Hour, 100)
	if err != nil || len(due) != 4 {
		t.Errorf("marks due: got %v, %v, want those of messages 1 to 4", due, err)
	}
}

// What was read ahead may have been overtaken by a replay or a late row.
func TestSettleIsForTheHeadOnly(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 2)
	second := settlementOf(2, message.Outcome{State: message.Dead, Class: message.Malformed, Reason: "x"})
	if err := w.Settle(t.Context(), second); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("message 2 while 1 is unfinished: got %v, want ErrMoved", err)
	}
	if r, err := s.Message(t.Context(), 2); err != nil || r.State != message.Pending {
		t.Errorf("message 2 is %s, %v, want PENDING", r.State, err)
	}
	if err := w.Settle(t.Context(), settlementOf(1, message.Outcome{State: message.Skipped, Reason: "x"})); err != nil {
		t.Fatal(err)
	}
	if err := w.Settle(t.Context(), second); err != nil {
		t.Errorf("message 2 as the head: %v", err)
	}
}

func TestNoTextBreaksTheErrorPath(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 2)
	evil := "a\x00b\xff\xfec\u2028\x1b[31m" + strings.Repeat("界", 5000)
	settlement := settlementOf(1, message.Outcome{State: message.Failed, Class: message.CodecError, Reason: evil})
	settlement.Kind, settlement.Identity = evil[:10], "S|\x00|\xff|1"
	if err := w.Settle(t.Context(), settlement); err != nil {
		t.Fatalf("settle: %v", err)
	}
	settlement.Outcome = message.Outcome{State: message.Skipped, Reason: evil}
	settlement.Effects.Notes = []decision.Note{{Reason: evil}}
	decide(t, w, settlement)
	r, err := s.Message(t.Context(), 1)
	if err != nil || r.State != message.Skipped || len([]rune(r.Failure.SkipReason)) != reasonLimit+1 {
		t.Errorf("got %s with a reason of %d characters, %v", r.State, len([]rune(r.Failure.SkipReason)), err)
	}
}

func TestIdentity(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 6)
	// The failure of the first binds its identity, so that its own retry is no duplicate.
	first := settlementOf(1, message.Outcome{State: message.Failed, Class: message.Infra, Reason: "x"})
	first.Identity, first.Attempts, first.NextAt = "A|B|C|1", 1, noon
	if err := w.Settle(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	first.Outcome = message.Outcome{State: message.Skipped, Reason: "flight-unknown"}
	if found := decide(t, w, first); found.Holder != nil || found.Head.Identity != "A|B|C|1" {
		t.Errorf("retry: holder %+v, head %+v, want no holder and the identity bound", found.Holder, found.Head)
	}

	// The second has the same identity: the claim names the holder, and it cannot be bound twice.
	second := succeed(2)
	second.Identity = "A|B|C|1"
	second.Outcome = message.Outcome{State: message.Skipped, Reason: "duplicate-of:1"}
	found := decide(t, w, second)
	if found.Holder == nil || found.Holder.MsgID != 1 || found.Holder.State != message.Skipped || found.Holder.BodySHA256 != first.SHA256 {
		t.Errorf("holder: got %+v, want message 1, SKIPPED, with its digest", found.Holder)
	}
	third := settlementOf(3, message.Outcome{State: message.Dead, Class: message.Protocol, Reason: "x"})
	third.Identity = "A|B|C|1"
	if err := w.Settle(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	if holder := query[int64](t, s, "SELECT msg_id FROM proc_state WHERE identity_key = 'A|B|C|1'"); holder != 1 {
		t.Errorf("the identity is held by %d, want 1", holder)
	}

	// Beyond the memory the holder gives it up to the new one.
	fourth := succeed(4)
	fourth.Identity = "A|B|C|1"
	claim := claimOf(fourth)
	claim.IdentitySince = noon.Add(time.Microsecond)
	err := w.Decide(t.Context(), claim, func(c decision.Claimed) (decision.Settlement, error) {
		if c.Holder != nil {
			t.Errorf("holder beyond the memory: %+v, want none", c.Holder)
		}
		return fourth, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if holder := query[int64](t, s, "SELECT msg_id FROM proc_state WHERE identity_key = 'A|B|C|1'"); holder != 4 {
		t.Errorf("the identity is held by %d, want 4", holder)
	}
}

// A message that is decided again owes a mark only if it has none.
func TestSettlingAgainOwesNoSecondMark(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 3)
	for i, sql := range []string{ // in the order of ids: only the head is settled
		"backfill_at = enqueued_at",
		"backfill_abandoned_at = enqueued_at, backfill_abandoned_reason = 'MISSING_ROW'",
		"backfill_attempts = 4",
	} {
		id := int64(i + 1)
		if _, err := s.pool.Exec(t.Context(), "UPDATE proc_state SET "+sql+" WHERE msg_id = $1", id); err != nil {
			t.Fatal(err)
		}
		if err := w.Settle(t.Context(), settlementOf(id, message.Outcome{State: message.Skipped, Reason: "x"})); err != nil {
			t.Fatal(err)
		}
		r, err := s.Message(t.Context(), id)
		if err != nil || r.Mark.NextAt.IsZero() != (id != 3) {
			t.Errorf("message %d: mark due at %v, %v, want a time for message 3 alone", id, r.Mark.NextAt, err)
		}
	}
}
