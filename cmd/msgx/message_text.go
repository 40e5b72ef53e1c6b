package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/pump"
	"msgx/engine/store"
)

// story is a message with what has to be known around it to say why it stands
// where it stands.
type story struct {
	store.Record
	zone     *time.Location
	ahead    *store.Record // of a message that waits: the head of the line, when that is another
	original *store.Record // of a duplicate: the message that has its identity
	halted   string        // why nothing is decided at present
}

// around reads what has to be known around the message.
func (s *story) around(ctx context.Context, db *opened, lease time.Duration) (err error) {
	if original, cut := strings.CutPrefix(s.Failure.SkipReason, "duplicate-of:"); cut {
		if id, err := strconv.ParseInt(original, 10, 64); err == nil {
			if s.original, err = known(ctx, db, id); err != nil {
				return err
			}
		}
	}
	if s.State != message.Pending && s.State != message.Failed {
		return nil
	}
	heads, _, _, err := db.Heads(ctx, 1)
	if err != nil {
		return err
	}
	if len(heads) == 1 && heads[0].MsgID != s.MsgID {
		if s.ahead, err = known(ctx, db, heads[0].MsgID); err != nil {
			return err
		}
	}
	s.halted, err = halted(ctx, db, lease)
	return err
}

// halted says why nothing is decided at present, "" when something is.
func halted(ctx context.Context, db *opened, lease time.Duration) (string, error) {
	paused, err := db.Paused(ctx)
	if err != nil {
		return "", err
	}
	holder, err := db.Lease(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case holder.Released || holder.BeatAge > lease:
		return "no instance is at work", nil
	case paused[pump.Stage]:
		return "the pump is paused", nil
	}
	return "", nil
}

// known reads a message; nil when it is not there (any more).
func known(ctx context.Context, db *opened, id int64) (*store.Record, error) {
	r, err := db.Message(ctx, id)
	if errors.Is(err, fault.ErrNotFound) {
		return nil, nil //nolint:nilnil // nothing there is an answer
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// notEnqueued says what can be said of an id that has no record.
func notEnqueued(ctx context.Context, db *opened, id int64) error {
	cursor, found, err := db.Cursor(ctx)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("message %d: not enqueued: the mailbox has not been read yet", id)
	}
	if id > cursor.Watermark {
		return fmt.Errorf("message %d: not enqueued: the mailbox has been read up to %d", id, cursor.Watermark)
	}
	holes, err := db.AgedHoles(ctx, time.Time{})
	if err != nil {
		return err
	}
	for _, h := range holes {
		if h.First <= id && id <= h.Last {
			return fmt.Errorf("message %d: not enqueued: its row was missing for so long that it was given up at %s", id, h.At.Format(time.RFC3339))
		}
	}
	return fmt.Errorf("message %d: not enqueued, though the mailbox has been read up to %d: it is from before the reading began, or archived", id, cursor.Watermark)
}

func (s *story) at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(s.zone).Format("2006-01-02 15:04:05")
}

// String tells the facts of a message in the order in which they happen.
func (s *story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "message %d  %s  %s\n\n", s.MsgID, orDash(s.Kind), outcome(&s.Record))
	fmt.Fprintf(&b, "arrived    %s (%s; by the clock of the mailbox)\n", s.at(s.Times.Received), s.zone)
	fmt.Fprintf(&b, "enqueued   %s\n", s.at(s.Times.Enqueued))
	for i, line := range s.decided() {
		fmt.Fprintf(&b, "%-10s %s\n", map[bool]string{true: "decided"}[i == 0], line)
	}
	fmt.Fprintf(&b, "marked     %s\n", s.marked())
	s.appendDelivery(&b)
	for _, a := range s.Actions {
		fmt.Fprintf(&b, "by hand    %s %s by %s: %s", s.at(a.At), a.Action, a.Who, a.Reason)
		if a.Approver != "" {
			fmt.Fprintf(&b, " (approved by %s, %s)", a.Approver, a.Ticket)
		}
		b.WriteByte('\n')
	}
	for _, h := range s.Changes {
		fmt.Fprintf(&b, "\n%s  %s to version %d\n", h.FLID, h.Op, h.Version)
		for _, f := range h.Changed {
			fmt.Fprintf(&b, "    %-13s %s -> %s\n", f.Path, orNone(f.Before), orNone(f.After))
		}
	}
	return b.String()
}

// outcome is a state with its class, such as DEAD(PROTOCOL).
func outcome(r *store.Record) string {
	if r.Failure.Class == "" {
		return string(r.State)
	}
	return fmt.Sprintf("%s(%s)", r.State, r.Failure.Class)
}

// decidedAt is when a finished message came to its state: when its last try began, or when somebody gave it up,
// with or without a try before.
func (s *story) decidedAt() time.Time {
	if strings.HasPrefix(s.Failure.SkipReason, "operator:") {
		for _, a := range slices.Backward(s.Actions) {
			if a.Action == "skip" {
				return a.At
			}
		}
	}
	return s.Times.Started
}

func (s *story) decided() []string {
	var lines []string
	if !s.State.Terminal() && s.State != message.Archived {
		lines = append(lines, "not yet: "+s.waits())
	} else {
		text := s.at(s.decidedAt())
		if s.Failure.Attempts > 1 {
			text += fmt.Sprintf(" after %d failures", s.Failure.Attempts)
		}
		lines = append(lines, text)
	}
	lines = append(lines, s.reason()...)
	for _, n := range s.Decided.Notes {
		text := "left out: " + n.Reason
		if n.FLID != 0 {
			text += fmt.Sprintf(" (%s)", n.FLID)
		}
		lines = append(lines, text)
	}
	if s.State == message.Succeeded && len(s.Changes) == 0 {
		lines = append(lines, "no flight is changed")
	}
	if s.Decided.Script != "" {
		lines = append(lines, fmt.Sprintf("by %s of rule set %.12s", s.Decided.Script, s.Decided.Ruleset))
	}
	if s.Identity != "" {
		lines = append(lines, "identity "+s.Identity)
	}
	return lines
}

// waits says what an unfinished message waits for.
func (s *story) waits() string {
	text := "it is next"
	switch {
	case s.ahead != nil:
		text = fmt.Sprintf("it waits for message %d, %s %s", s.ahead.MsgID, orDash(s.ahead.Kind), outcome(s.ahead))
		if s.ahead.Failure.Attempts > 0 {
			text += ", " + s.tries(s.ahead.Failure)
		}
	case s.Failure.Attempts > 0:
		text = s.tries(s.Failure)
	}
	if s.halted != "" {
		text += "; " + s.halted
	}
	return text
}

func (s *story) tries(f store.RecordFailure) string {
	return fmt.Sprintf("%s, next try %s", times(f.Attempts, "failure"), s.at(f.NextAt))
}

func times(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (s *story) reason() []string {
	var lines []string
	for _, text := range []string{s.Failure.LastError, s.Failure.SkipReason} {
		if text != "" {
			lines = append(lines, text)
		}
	}
	if o := s.original; o != nil {
		body := "with the same body"
		if o.SHA256 != s.SHA256 {
			body = "with another body"
		}
		lines = append(lines, fmt.Sprintf("message %d is %s %s, decided %s, %s", o.MsgID, orDash(o.Kind), outcome(o), s.at(o.Times.Started), body))
	}
	return lines
}

func (s *story) marked() string {
	m := s.Mark
	switch {
	case !m.ConfirmedAt.IsZero():
		return s.at(m.ConfirmedAt)
	case !m.ReconciledAt.IsZero():
		return fmt.Sprintf("given up %s: %s; reconciled %s by %s", s.at(m.AbandonedAt), m.AbandonedReason, s.at(m.ReconciledAt), m.ReconciledBy)
	case !m.AbandonedAt.IsZero():
		return fmt.Sprintf("given up %s: %s", s.at(m.AbandonedAt), m.AbandonedReason)
	case m.Owed && m.Attempts > 0:
		return fmt.Sprintf("owed: %s, next try %s: %s", times(m.Attempts, "failure"), s.at(m.NextAt), m.LastError)
	case !s.State.Terminal() && s.State != message.Archived:
		return "not yet: it comes after the decision"
	case m.Owed:
		return "not yet: it is owed"
	default:
		return "no mark is owed"
	}
}

func (s *story) appendDelivery(b *strings.Builder) {
	if len(s.Events) == 0 {
		b.WriteString("delivered  there is nothing to deliver\n")
		return
	}
	sent := 0
	for _, e := range s.Events {
		if !e.SentAt.IsZero() {
			sent++
		}
	}
	fmt.Fprintf(b, "delivered  %d of %s\n", sent, times(len(s.Events), "event"))
	for _, e := range s.Events {
		fmt.Fprintf(b, "           %d %s key %s %s version %d %s", e.EventID, e.Target, e.Key, e.Type, e.Version, e.State)
		if e.Topic != "" {
			fmt.Fprintf(b, " at %s[%d]@%d, %s", e.Topic, e.Partition, e.Offset, s.at(e.SentAt))
		}
		if e.LastError != "" {
			fmt.Fprintf(b, " after %s: %s", times(e.Attempts, "attempt"), e.LastError)
		}
		b.WriteByte('\n')
	}
}
