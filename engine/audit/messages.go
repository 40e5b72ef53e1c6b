package audit

import (
	"context"
	"fmt"
	"math"
	"time"

	"msgx/engine/evidence"
	"msgx/engine/message"
	"msgx/engine/watermark"
)

// walk goes through ids in order, records beside the rows of the mailbox beside holes.
type walk struct {
	*Audit
	snap     Snapshot
	records  *scan[evidence.Message]
	arrivals *scan[evidence.Arrival] // nil without the mailbox
	holes    *scan[watermark.Hole]
	last     int64 // the last record's id

	open    []int64 // unfinished messages so far that may be overtaken
	failing []int64 // unfinished messages that were tried
	doubts  []doubt
}

// doubt is what has to be looked at again before it is called broken: the reason may be on
// record, or the work may have gone on since the snapshot.
type doubt struct {
	id              int64
	invariant       Invariant
	found, expected string
	afresh          bool // an unfinished message that may be finished by now
}

// messages compares every id up to the watermark, and every record.
func (a *Audit) messages(ctx context.Context, s Snapshot) error {
	floor := a.floor()
	last := a.o.To
	if last == 0 {
		last = math.MaxInt64
	}
	w := &walk{Audit: a, snap: s, last: floor,
		records: newScan(floor, func(ctx context.Context, after int64) ([]evidence.Message, error) {
			return s.Messages(ctx, after, last, page)
		},
			func(m *evidence.Message) int64 { return m.ID }),
		holes: newScan(0, func(ctx context.Context, after int64) ([]watermark.Hole, error) { return s.AgedHoles(ctx, after, page) },
			func(h *watermark.Hole) int64 { return h.First }),
	}
	if m := a.n.Mailbox; m != nil {
		bound := min(last, a.limits.Watermark)
		w.arrivals = newScan(floor, func(ctx context.Context, after int64) ([]evidence.Arrival, error) {
			return m.Arrivals(ctx, after, bound, page)
		},
			func(r *evidence.Arrival) int64 { return r.ID })
	}
	if err := w.run(ctx); err != nil {
		return err
	}
	if end := min(last, a.limits.Watermark); w.last < end {
		if err := w.gap(ctx, w.last+1, end); err != nil {
			return err
		}
	}
	return w.settle(ctx)
}

func (w *walk) run(ctx context.Context) error {
	for {
		m, err := w.records.peek(ctx)
		if err != nil || m == nil {
			return err
		}
		if first, last := w.last+1, min(m.ID-1, w.limits.Watermark); first <= last {
			if err := w.gap(ctx, first, last); err != nil {
				return err
			}
		}
		if m.ID == w.last {
			w.report.broken(Terminal, place(m.ID), "a record at work and one in the archive", "one of them")
			w.records.pass()
			continue
		}
		w.last = m.ID
		arrival, err := w.arrival(ctx, m.ID)
		if err != nil {
			return err
		}
		w.report.count("messages", 1)
		w.message(m)
		w.line(m)
		if w.arrivals != nil && m.ID <= w.limits.Watermark {
			w.mark(m, arrival)
		}
		w.records.pass()
	}
}

func place(id int64) string { return fmt.Sprintf("message %d", id) }

// arrival is the mailbox's row of an id, nil when there is none.
func (w *walk) arrival(ctx context.Context, id int64) (*evidence.Arrival, error) {
	if w.arrivals == nil {
		return nil, nil
	}
	a, err := w.arrivals.peek(ctx)
	if err != nil || a == nil || a.ID != id {
		return nil, err
	}
	found := *a
	w.arrivals.pass()
	return &found, nil
}

// message holds one record to what it says itself.
func (w *walk) message(m *evidence.Message) {
	r := w.report
	at := place(m.ID)
	r.compared(Watermark, 1)
	r.compared(Identity, 1)
	r.compared(Together, 1)
	r.compared(Terminal, 1)
	if m.State.Terminal() && m.ID > w.limits.Watermark {
		r.broken(Watermark, at, fmt.Sprintf("%s, above the watermark %d", m.State, w.limits.Watermark), "to wait for the watermark")
	}
	apart := m.EnqueuedAt.Sub(m.TwinEnqueued).Abs()
	switch {
	case m.Twin != 0 && apart < w.o.IdentityMemory && (m.ID > m.Twin || m.Archived):
		r.broken(Identity, at, fmt.Sprintf("identity %s, which message %d holds too", m.Identity, m.Twin), "an identity of its own")
	case m.State == message.Succeeded && m.Identity == "" && w.now.Sub(m.EnqueuedAt) < w.o.IdentityMemory:
		r.broken(Identity, at, "SUCCEEDED and no identity bound", "the identity it was decided under")
	}
	if m.SHA256 != "" && m.CopySHA256 != "" && m.SHA256 != m.CopySHA256 {
		r.broken(Together, at, fmt.Sprintf("our copy of the body has digest %.12s", m.CopySHA256), fmt.Sprintf("%.12s, of the body that was decided", m.SHA256))
	}
	settled := !m.Marked.IsZero() || m.Abandoned != ""
	if m.State.Terminal() && m.OwesMark && !m.MarkDue && !settled {
		r.broken(Together, at, string(m.State)+" without a mark, a mark due, or a record of giving it up", "one of them, stored with the outcome")
	}
	switch {
	case m.DecisionNo > 0 && m.State != message.Succeeded && m.State != message.Archived:
		r.broken(Terminal, at, fmt.Sprintf("%s with decision %d", m.State, m.DecisionNo), "SUCCEEDED, which it was when it got its number")
	case !finished(m) && !m.Marked.IsZero():
		w.doubt(m.ID, Terminal, fmt.Sprintf("%s, and its mark was confirmed at %s", m.State, stamp(m.Marked)), "a terminal state, or a replay on record")
	}
	w.archive(m, settled)
}

func finished(m *evidence.Message) bool { return m.State.Terminal() || m.State == message.Archived }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// archive holds an archived record to what has to be there before.
func (w *walk) archive(m *evidence.Message, settled bool) {
	switch {
	case m.Archived:
		w.report.compared(EvidenceFirst, 1)
		if m.OwesMark && (!settled || m.Marked.IsZero() && !m.Reconciled) {
			w.report.broken(EvidenceFirst, place(m.ID), "archived, and its mark is neither confirmed nor reconciled", "one of them before it is archived")
		}
	case m.State == message.Archived && w.now.Sub(m.UpdatedAt) < w.o.HistoryKept:
		w.report.broken(EvidenceFirst, place(m.ID), "ARCHIVED, and the archive does not have it", "a record in the archive")
	}
}

func (w *walk) doubt(id int64, i Invariant, found, expected string) {
	w.doubts = append(w.doubts, doubt{id: id, invariant: i, found: found, expected: expected})
}

// line holds the record to its place in the line: nothing is decided before what came earlier.
func (w *walk) line(m *evidence.Message) {
	const most = 1000 // of a backlog only the front can be overtaken
	if !finished(m) {
		if m.Attempts > 0 || m.State == message.Failed {
			w.failing = append(w.failing, m.ID)
		}
		if len(w.open) < most {
			w.open = append(w.open, m.ID)
		}
		return
	}
	for _, id := range w.open {
		w.doubt(id, Order, fmt.Sprintf("unfinished, and message %d is %s", m.ID, m.State), "to be decided before it")
	}
	w.open = w.open[:0]
}

// mark compares the mark of the mailbox with the record.
func (w *walk) mark(m *evidence.Message, a *evidence.Arrival) {
	r := w.report
	r.compared(EvidenceFirst, 1)
	if a == nil {
		switch {
		case !m.Marked.IsZero():
			r.count("rows purged from the mailbox after their mark", 1)
		case m.Abandoned == message.AbandonMissingRow || m.Abandoned != "" && m.Reconciled:
			r.count("rows gone from the mailbox, their mark given up", 1)
		case m.State != message.Archived && m.OwesMark:
			r.broken(EvidenceFirst, place(m.ID), fmt.Sprintf("%s, not marked, and its row is gone from the mailbox", m.State), "the row to stay until it is marked")
		}
		return
	}
	r.compared(Marks, 1)
	switch {
	case !m.Marked.IsZero() && !a.Marked:
		r.broken(Marks, place(m.ID), "no mark in the mailbox", "the mark that was confirmed at "+stamp(m.Marked))
	case !finished(m) && a.Marked && m.Marked.IsZero():
		w.doubts = append(w.doubts, doubt{id: m.ID, invariant: Marks, afresh: true,
			found: fmt.Sprintf("%s, and its row is marked %s", m.State, a.Mark), expected: "no mark before a terminal state"})
	}
}

// settle looks at every doubt again.
func (w *walk) settle(ctx context.Context) error {
	if len(w.failing) > 1 {
		first := w.failing[0]
		for _, id := range w.failing[1:] {
			w.doubt(id, Order, fmt.Sprintf("tried, and so is message %d before it", first), "one message to be decided at a time")
		}
	}
	for len(w.doubts) > 0 {
		part := w.doubts[:min(page, len(w.doubts))]
		w.doubts = w.doubts[len(part):]
		asked := make([]int64, 0, len(part))
		for _, d := range part {
			asked = append(asked, d.id)
		}
		excused, err := w.snap.Exceptions(ctx, asked)
		if err != nil {
			return err
		}
		for _, d := range part {
			if why, ok := excused[d.id]; ok && !d.afresh {
				w.report.count("messages out of turn, "+why, 1)
				continue
			}
			if d.afresh {
				done, err := w.finishedNow(ctx, d.id)
				if err != nil {
					return err
				}
				if done {
					continue
				}
			}
			w.report.broken(d.invariant, place(d.id), d.found, d.expected)
		}
	}
	return nil
}

// finishedNow looks at a message as it is now, not as it was in the snapshot.
func (w *walk) finishedNow(ctx context.Context, id int64) (done bool, err error) {
	err = w.n.Look(ctx, func(s Snapshot) error {
		found, err := s.Messages(ctx, id-1, id, 1)
		done = len(found) > 0 && finished(&found[0])
		return err
	})
	return done, err
}
