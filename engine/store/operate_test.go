package store

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/message"
)

var ordered = message.Order{Who: "wang", Reason: "rule mended", At: noon.Add(time.Hour)}

// all leaves nothing out.
func all(message.Standing) string { return "" }

// deadOrFailed leaves out what may not be replayed, as far as the store is concerned.
func deadOrFailed(m message.Standing) string {
	if m.State == message.Dead || m.State == message.Failed {
		return ""
	}
	return "it is " + m.Label()
}

// exhausted makes messages 1 to n dead, each after five failures.
func exhausted(t *testing.T, w *Writer, n int64) {
	t.Helper()
	enqueue(t, w, 1, n)
	for id := int64(1); id <= n; id++ {
		s := settlementOf(id, message.Outcome{State: message.Dead, Class: message.Exhausted, Reason: "RULE_ERROR: boom"})
		s.Attempts, s.Identity = 5, ""
		if err := w.Settle(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(messages []message.Standing) []int64 {
	out := []int64{}
	for _, m := range messages {
		out = append(out, m.MsgID)
	}
	return out
}

// details reads what operator_log keeps of the last action on a message.
func details(t *testing.T, s *Store, id int64) (message.Action, map[string]any) {
	t.Helper()
	r, err := s.Message(t.Context(), id)
	if err != nil || len(r.Actions) == 0 {
		t.Fatalf("actions on message %d: %v, %v", id, r.Actions, err)
	}
	last := r.Actions[len(r.Actions)-1]
	var out map[string]any
	if err := json.Unmarshal(last.Details, &out); err != nil {
		t.Fatal(err)
	}
	return last, out
}

// A replayed message is the head at once, has its identity and no failures, and its back-fill facts
// stay: a confirmed mark is not owed again when it is decided again.
func TestReplay(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 4)
	failed := settlementOf(1, message.Outcome{State: message.Failed, Class: message.RuleError, Reason: "boom"})
	failed.Identity, failed.Attempts, failed.NextAt = "A|B|C|1", 1, noon.Add(time.Minute)
	later := failed
	later.At, later.Before, later.Attempts = noon.Add(time.Minute), 1, 2
	dead := later
	dead.Before = 2
	dead.Outcome, dead.Attempts, dead.NextAt = message.Outcome{State: message.Dead, Class: message.Exhausted, Reason: "RULE_ERROR: boom"}, 5, time.Time{}
	for _, settlement := range []decision.Settlement{failed, later, dead} {
		if err := w.Settle(t.Context(), settlement); err != nil {
			t.Fatal(err)
		}
	}
	decide(t, w, succeed(2))
	decide(t, w, succeed(3))
	if err := w.HoldMarks(t.Context(), []int64{1}, func(context.Context, []message.MarkDue) ([]message.MarkOutcome, error) {
		return []message.MarkOutcome{{MsgID: 1, Result: message.MarkWritten, Confirmed: true}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	before, err := s.Standings(t.Context(), []int64{1})
	if err != nil || !before[0].FirstFailedAt.Equal(noon) {
		t.Fatalf("failing since %v, %v, want %v", before, err, noon)
	}
	done, left, err := s.Replay(t.Context(), []int64{1, 2, 99, 4}, ordered, deadOrFailed)
	if err != nil {
		t.Fatal(err)
	}
	wantLeft := []message.Left{{MsgID: 2, Reason: "it is SUCCEEDED"}, {MsgID: 4, Reason: "it is PENDING"}, {MsgID: 99, Reason: "it was never enqueued"}}
	if diff := cmp.Diff([]int64{1}, ids(done)) + cmp.Diff(wantLeft, left); diff != "" {
		t.Errorf("replayed and left (-want +got):\n%s", diff)
	}
	heads, _, _, err := s.Heads(t.Context(), 1)
	if err != nil || len(heads) != 1 || heads[0].MsgID != 1 || heads[0].Attempts != 0 || heads[0].Identity != "A|B|C|1" || heads[0].Class != "" {
		t.Errorf("head: %+v, %v, want message 1 afresh with its identity", heads, err)
	}
	action, told := details(t, s, 1)
	if action.Who != "wang" || action.Action != "replay" || action.Reason != "rule mended" || !action.At.Equal(ordered.At) {
		t.Errorf("recorded: %+v", action)
	}
	if told["out_of_order"] != true || told["decided_up_to"] != 3.0 {
		t.Errorf("the exception to the order is recorded as %v", told)
	}
	if b := told["before"].(map[string]any); b["state"] != "DEAD" || b["class"] != "EXHAUSTED" || b["text"] != "RULE_ERROR: boom" || b["attempts"] != 5.0 {
		t.Errorf("before: %v", b)
	}
	again := succeed(1)
	again.Identity = "A|B|C|1"
	if found := decide(t, w, again); found.Holder != nil {
		t.Errorf("a replayed message is its own duplicate: %+v", found.Holder)
	}
	after, err := s.Standings(t.Context(), []int64{1})
	if err != nil || after[0].Mark != before[0].Mark {
		t.Errorf("mark (-before +after), %v:\n%s", err, cmp.Diff(before[0].Mark, after[0].Mark))
	}
	if due, err := s.DueMarks(t.Context(), noon.Add(time.Hour), time.Hour, 10); err != nil || len(due) != 2 {
		t.Errorf("due: %v, %v, want 2 and 3", due, err)
	}
}

func TestArchivedIsNotReplayedWhateverIsAsked(t *testing.T) {
	s, w := fresh(t)
	exhausted(t, w, 1)
	if _, err := s.pool.Exec(t.Context(), "UPDATE proc_state SET state = 'ARCHIVED'"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Replay(t.Context(), []int64{1}, ordered, all); err != nil {
		t.Fatal(err)
	}
	if state := query[string](t, s, "SELECT state FROM proc_state"); state != "ARCHIVED" {
		t.Errorf("state %s, want ARCHIVED", state)
	}
	if n := query[int](t, s, "SELECT count(*) FROM operator_log"); n != 0 {
		t.Errorf("%d entries of what was not done", n)
	}
}

// An attempt that was taken up before an operator sent the message through again is not stored over that.
func TestAStaleAttemptIsNotStored(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 1)
	first := settlementOf(1, message.Outcome{State: message.Failed, Class: message.RuleError, Reason: "boom"})
	first.Attempts, first.NextAt = 1, noon
	if err := w.Settle(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := first
	second.Before, second.Attempts = 1, 2
	if done, left, err := s.Replay(t.Context(), []int64{1}, ordered, func(message.Standing) string { return "" }); err != nil || len(done) != 1 {
		t.Fatalf("replay: %v, %v, %v", done, left, err)
	}
	if err := w.Settle(t.Context(), second); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("the second attempt: got %v, want ErrMoved", err)
	}
	if r, err := s.Standings(t.Context(), []int64{1}); err != nil || r[0].State != message.Pending || r[0].Attempts != 0 {
		t.Errorf("got %+v, %v, want it PENDING with fresh attempts", r, err)
	}
	if err := w.Settle(t.Context(), first); err != nil {
		t.Errorf("the first attempt after it: %v", err)
	}
}

func TestRetryNow(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 1)
	if _, left, err := s.RetryNow(t.Context(), 1, ordered); err != nil || len(left) != 1 {
		t.Errorf("a PENDING message: %v, %v, want it left", left, err)
	}
	failed := settlementOf(1, message.Outcome{State: message.Failed, Class: message.Infra, Reason: "x"})
	failed.Attempts, failed.NextAt = 3, noon.Add(48*time.Hour)
	if err := w.Settle(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	if done, _, err := s.RetryNow(t.Context(), 1, ordered); err != nil || len(done) != 1 {
		t.Fatalf("%v, %v", done, err)
	}
	if r, err := s.Standings(t.Context(), []int64{1}); err != nil || r[0].Attempts != 3 || !r[0].NextAttemptAt.Equal(ordered.At) {
		t.Errorf("%+v, %v, want 3 attempts and due now", r, err)
	}
	if action, _ := details(t, s, 1); action.Action != "head retry" {
		t.Errorf("recorded: %+v", action)
	}
}

// What is skipped owes its mark in the same statement; finished messages stay as they are.
func TestSkip(t *testing.T) {
	s, w := fresh(t)
	enqueue(t, w, 1, 4)
	decide(t, w, succeed(1))
	failed := settlementOf(2, message.Outcome{State: message.Failed, Class: message.CodecError, Reason: "too long"})
	failed.Attempts = 2
	if err := w.Settle(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	o := ordered
	o.Approver, o.Ticket = "li", "OPS-1"
	unfinished := func(m message.Standing) string {
		if m.State.Terminal() {
			return "finished"
		}
		return ""
	}
	done, left, err := s.Skip(t.Context(), []int64{1, 2, 3}, o, unfinished)
	if diff := cmp.Diff([]int64{2, 3}, ids(done)) + cmp.Diff([]message.Left{{MsgID: 1, Reason: "finished"}}, left); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, id := range []int64{2, 3} {
		m, err := s.Standings(t.Context(), []int64{id})
		if err != nil || m[0].State != message.Skipped || m[0].Text != "operator:rule mended" || m[0].Class != "" || !m[0].Mark.NextAt.Equal(o.At) {
			t.Errorf("message %d: %+v, %v", id, m, err)
		}
	}
	action, told := details(t, s, 2)
	if action.Approver != "li" || action.Ticket != "OPS-1" || told["before"].(map[string]any)["text"] != "too long" {
		t.Errorf("recorded: %+v %v", action, told)
	}
	decide(t, w, succeed(4))
	for _, o := range []message.Order{{Who: "x", At: noon}, {Reason: "x", At: noon}} {
		if _, _, err := s.Skip(t.Context(), []int64{4}, o, all); !errors.Is(err, fault.ErrRefused) {
			t.Errorf("an order without name or reason: %v, want ErrRefused", err)
		}
	}
}

func TestReopenAndReconcile(t *testing.T) {
	s, w := fresh(t)
	settled(t, w, 4)
	if err := w.HoldMarks(t.Context(), []int64{1, 2, 3}, func(context.Context, []message.MarkDue) ([]message.MarkOutcome, error) {
		return []message.MarkOutcome{
			{MsgID: 1, AbandonReason: message.AbandonTransientDeadline, FirstFailedAt: noon, Error: "gone"},
			{MsgID: 2, AbandonReason: message.AbandonMissingRow},
			{MsgID: 3, Confirmed: true},
		}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if found, err := s.AbandonedMarks(t.Context(), false, 10); err != nil || !cmp.Equal([]int64{1, 2}, ids(found)) {
		t.Errorf("given up: %v, %v", ids(found), err)
	}
	done, left, err := s.Reopen(t.Context(), []int64{1, 3, 4}, ordered)
	wantLeft := []message.Left{{MsgID: 3, Reason: "its mark is confirmed"}, {MsgID: 4, Reason: "its mark was not given up"}}
	if diff := cmp.Diff([]int64{1}, ids(done)) + cmp.Diff(wantLeft, left); err != nil || diff != "" {
		t.Errorf("reopened, %v (-want +got):\n%s", err, diff)
	}
	due, err := s.DueMarks(t.Context(), ordered.At, time.Hour, 10)
	if err != nil || !cmp.Equal([]int64{1, 4}, idsOf(due)) || due[0].Attempts != 0 || !due[0].FirstFailedAt.IsZero() {
		t.Errorf("due: %+v, %v, want the reopened one afresh", due, err)
	}
	if _, told := details(t, s, 1); told["before"].(map[string]any)["abandoned_reason"] != message.AbandonTransientDeadline {
		t.Errorf("recorded: %v", told)
	}
	if done, _, err := s.Reconcile(t.Context(), []int64{2}, ordered); err != nil || len(done) != 1 {
		t.Fatalf("%v, %v", done, err)
	}
	if m, err := s.Standings(t.Context(), []int64{2}); err != nil || m[0].Mark.ReconciledBy != "wang" || !m[0].Mark.ConfirmedAt.IsZero() {
		t.Errorf("reconciled: %+v, %v", m, err)
	}
	if _, left, err := s.Reopen(t.Context(), []int64{2}, ordered); err != nil || len(left) != 1 {
		t.Errorf("reopening what is reconciled: %v, %v, want it left", left, err)
	}
	if found, err := s.AbandonedMarks(t.Context(), false, 10); err != nil || len(found) != 0 {
		t.Errorf("given up and not reconciled: %v, %v", ids(found), err)
	}
	if found, err := s.AbandonedMarks(t.Context(), true, 10); err != nil || !cmp.Equal([]int64{2}, ids(found)) {
		t.Errorf("given up: %v, %v", ids(found), err)
	}
	if found, err := s.OwedMarks(t.Context(), noon, 10); err != nil || len(found) != 0 {
		t.Errorf("overdue: %v, %v", ids(found), err)
	}
}
