package audit

import (
	"context"
	"fmt"
	"math"

	"msgx/engine/evidence"
	"msgx/engine/message"
)

// decisions holds the numbers of decisions to the order of ids.
func (a *Audit) decisions(ctx context.Context, s Snapshot) error {
	walk := newScan(0, func(ctx context.Context, after int64) ([]evidence.Decision, error) {
		return s.Decisions(ctx, after, page)
	},
		func(d *evidence.Decision) int64 { return d.No })
	var last evidence.Decision
	var highest evidence.Decision // by message id
	for {
		d, err := walk.peek(ctx)
		if err != nil {
			return err
		}
		if d == nil {
			break
		}
		if a.inRange(d.MsgID) {
			a.report.compared(Order, 1)
			if err := a.follows(ctx, s, last, highest, d); err != nil {
				return err
			}
		}
		last = *d
		if d.MsgID > highest.MsgID {
			highest = *d
		}
		walk.pass()
	}
	if gone := last.No == 0 && a.limits.Archived; last.No != a.limits.DecisionNo && !gone {
		a.report.broken(Order, fmt.Sprintf("decision %d", max(last.No, a.limits.DecisionNo)),
			fmt.Sprintf("the last decision on record is %d, the count of decisions %d", last.No, a.limits.DecisionNo), "the same number")
	}
	return nil
}

func (a *Audit) follows(ctx context.Context, s Snapshot, last, highest evidence.Decision, d *evidence.Decision) error {
	at := fmt.Sprintf("decision %d", d.No)
	if d.No != last.No+1 {
		if last.No == 0 && a.limits.Archived {
			a.report.limit(Order, "decisions before %d: their records may have been removed after they were archived", d.No)
		} else {
			a.report.broken(Order, at, fmt.Sprintf("decision %d before it", last.No), "numbers without a gap")
		}
	}
	if d.MsgID > highest.MsgID {
		return nil
	}
	excused, err := s.Exceptions(ctx, []int64{d.MsgID})
	if err != nil {
		return err
	}
	if why, ok := excused[d.MsgID]; ok {
		a.report.count("decisions out of turn, "+why, 1)
		return nil
	}
	a.report.broken(Order, at, fmt.Sprintf("message %d, after decision %d of message %d", d.MsgID, highest.No, highest.MsgID),
		"the order of ids, or a late row or replay on record")
	return nil
}

// schedules holds each schedule to the flights that it carried.
func (a *Audit) schedules(ctx context.Context, s Snapshot) error {
	last := a.o.To
	if last == 0 {
		last = math.MaxInt64
	}
	walk := newScan(0, func(ctx context.Context, after int64) ([]evidence.Schedule, error) {
		return s.Schedules(ctx, after, a.o.From, last, page)
	}, func(e *evidence.Schedule) int64 { return e.SnapID })
	for {
		e, err := walk.peek(ctx)
		if err != nil || e == nil {
			return err
		}
		a.report.compared(Schedules, 1)
		switch {
		case e.Deleted > 0:
			a.report.broken(Schedules, place(e.MsgID), fmt.Sprintf("a schedule that deleted %d flights", e.Deleted), "none: only a deletion deletes")
		case e.Outcome == message.Succeeded && e.Changed > e.Carried:
			a.report.broken(Schedules, place(e.MsgID), fmt.Sprintf("%d flights altered", e.Changed), fmt.Sprintf("at most the %d that it carried", e.Carried))
		}
		walk.pass()
	}
}

// references holds reference data to the messages that wrote them.
func (a *Audit) references(ctx context.Context, s Snapshot) error {
	for typ, key := "", ""; ; {
		found, err := s.References(ctx, typ, key, page)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, r := range found {
			typ, key = r.Type, r.Key
			if !a.inRange(r.MsgID) {
				continue
			}
			a.report.compared(Together, 1)
			if r.MsgState != "" && r.MsgState != message.Succeeded && r.MsgState != message.Archived {
				a.report.broken(Together, fmt.Sprintf("reference %s %s", r.Type, r.Key), fmt.Sprintf("written by message %d, which is %s", r.MsgID, r.MsgState), "a message that SUCCEEDED")
			}
		}
	}
}
