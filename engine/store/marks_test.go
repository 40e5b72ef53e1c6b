package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/fault"
	"msgx/engine/message"
)

// settled makes messages 1 to n terminal, so that each owes a mark.
func settled(t *testing.T, w *Writer, n int64) {
	t.Helper()
	enqueue(t, w, 1, n)
	for id := int64(1); id <= n; id++ {
		if err := w.Settle(t.Context(), settlementOf(id, message.Outcome{State: message.Skipped, Reason: "ignored:LDM-*"})); err != nil {
			t.Fatal(err)
		}
	}
}

func idsOf(due []message.MarkDue) []int64 {
	ids := []int64{}
	for _, d := range due {
		ids = append(ids, d.MsgID)
	}
	return ids
}

func TestDueMarks(t *testing.T) {
	s, w := fresh(t)
	settled(t, w, 9)
	for id, sql := range map[int64]string{
		1: "backfill_attempts = 2, backfill_next_at = $2",                                        // tried before: later
		2: "backfill_next_at = $2 + interval '1 second', backfill_attempts = 1",                  // backing off
		3: "backfill_next_at = NULL",                                                             // terminal without a time
		4: "backfill_at = $2",                                                                    // confirmed
		5: "backfill_abandoned_at = $2, backfill_abandoned_reason = 'MISSING_ROW'",               // given up
		6: "owes_mark = false, backfill_next_at = NULL, updated_at = $2",                         // decided in shadow
		7: "backfill_next_at = $2 + interval '1 second', enqueued_at = $2 - interval '25 hours'", // backing off, but overdue
		8: "backfill_next_at = $2 + interval '1 second', enqueued_at = $2 - interval '24 hours'", // not yet overdue
	} {
		if _, err := s.pool.Exec(t.Context(), strings.ReplaceAll("UPDATE proc_state SET "+sql+" WHERE msg_id = $1", "$2", "timestamptz '"+noon.Format(time.RFC3339)+"'"), id); err != nil {
			t.Fatalf("message %d: %v", id, err)
		}
	}
	enqueue(t, w, 10, 10)
	due, err := s.DueMarks(t.Context(), noon, 24*time.Hour, 10)
	if diff := cmp.Diff([]int64{3, 7, 9, 1}, idsOf(due)); err != nil || diff != "" {
		t.Errorf("due: %v (-want +got):\n%s", err, diff)
	}
	due, err = s.DueMarks(t.Context(), noon, 24*time.Hour, 2)
	if diff := cmp.Diff([]int64{3, 7}, idsOf(due)); err != nil || diff != "" {
		t.Errorf("first two due: %v (-want +got):\n%s", err, diff)
	}
}

func TestHoldMarksStoresEveryEnd(t *testing.T) {
	s, w := fresh(t)
	settled(t, w, 4)
	later := noon.Add(time.Minute)
	err := w.HoldMarks(t.Context(), []int64{4, 3, 2, 1, 99}, func(_ context.Context, held []message.MarkDue) ([]message.MarkOutcome, error) {
		if diff := cmp.Diff([]int64{1, 2, 3, 4}, idsOf(held)); diff != "" {
			t.Errorf("held (-want +got):\n%s", diff)
		}
		return []message.MarkOutcome{
			{MsgID: 1, Result: message.MarkWritten, Confirmed: true},
			{MsgID: 2, Result: message.MarkMissing, AbandonReason: message.AbandonMissingRow},
			{MsgID: 3, Result: message.MarkFailed, NextAt: later, FirstFailedAt: noon, Error: "time\x00out"},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]RecordMark{}
	for id := int64(1); id <= 4; id++ {
		r, err := s.Message(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if r.Mark.ConfirmedAt.IsZero() != (id != 1) || r.Mark.AbandonedAt.IsZero() != (id != 2) {
			t.Errorf("message %d: confirmed at %v, given up at %v", id, r.Mark.ConfirmedAt, r.Mark.AbandonedAt)
		}
		r.Mark.ConfirmedAt, r.Mark.AbandonedAt = time.Time{}, time.Time{}
		got[id] = r.Mark
	}
	want := map[int64]RecordMark{
		1: {Owed: true, Attempts: 1},
		2: {Owed: true, Attempts: 1, AbandonedReason: message.AbandonMissingRow},
		3: {Owed: true, Attempts: 1, NextAt: later, FirstFailedAt: noon, LastError: "time\uFFFDout"},
		4: {Owed: true, NextAt: noon},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if _, err := s.pool.Exec(t.Context(), "UPDATE proc_state SET backfill_at = NULL WHERE msg_id = 1"); err == nil {
		t.Error("a confirmed mark was taken back, want an error")
	}
}

func TestHoldMarksLeavesOutWhatOthersHold(t *testing.T) {
	_, w := fresh(t)
	settled(t, w, 3)
	boom := errors.New("boom")
	err := w.HoldMarks(t.Context(), []int64{1, 2}, func(ctx context.Context, _ []message.MarkDue) ([]message.MarkOutcome, error) {
		return nil, errors.Join(boom, w.HoldMarks(ctx, []int64{1, 2, 3}, func(_ context.Context, held []message.MarkDue) ([]message.MarkOutcome, error) {
			if diff := cmp.Diff([]int64{3}, idsOf(held)); diff != "" {
				t.Errorf("held by the second (-want +got):\n%s", diff)
			}
			return []message.MarkOutcome{{MsgID: 3, Confirmed: true}}, nil
		}))
	})
	if !errors.Is(err, boom) {
		t.Errorf("error of the callback: got %v, want %v", err, boom)
	}
	// The failed callback has left its rows as they were; a confirmed one is not held again.
	err = w.HoldMarks(t.Context(), []int64{1, 2, 3}, func(_ context.Context, held []message.MarkDue) ([]message.MarkOutcome, error) {
		if diff := cmp.Diff([]int64{1, 2}, idsOf(held)); diff != "" || held[0].Attempts != 0 {
			t.Errorf("held afterwards, %d attempts (-want +got):\n%s", held[0].Attempts, diff)
		}
		return []message.MarkOutcome{{MsgID: 3, Confirmed: true}}, nil
	})
	if !errors.Is(err, fault.ErrRefused) {
		t.Errorf("an outcome of a row that is not held: got %v, want ErrRefused", err)
	}
	err = w.HoldMarks(t.Context(), []int64{3}, func(context.Context, []message.MarkDue) ([]message.MarkOutcome, error) {
		t.Error("called with nothing to hold")
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}
