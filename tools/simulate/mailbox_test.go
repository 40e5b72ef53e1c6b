package simulate_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"msgx/engine/message"
	"msgx/engine/watermark"
)

var errUnreadable = errors.New("the body cannot be read")

// rowsOf are the rows that are visible now.
func (c conn) rowsOf(first, last int64, limit int) []watermark.Row {
	w := c.world()
	now := w.now()
	var found []watermark.Row
	for _, r := range w.rows {
		if r.id >= first && r.id <= last && r.seen(now) && len(found) < limit {
			found = append(found, watermark.Row{MsgID: r.id})
		}
	}
	return found
}

// After reads rows above an id.
func (c conn) After(ctx context.Context, after int64, limit int) ([]watermark.Row, error) {
	_, err := c.at(ctx, looks, "After", after)
	rows := c.rowsOf(after+1, 1<<62, limit)
	if err != nil && c.world().mutant == tornRead && len(rows) > 1 && ctx.Err() == nil {
		return rows[1:], nil
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// Existing reads rows between two ids.
func (c conn) Existing(ctx context.Context, first, last int64, limit int) ([]watermark.Row, error) {
	if _, err := c.at(ctx, looks, "Existing", [2]int64{first, last}); err != nil {
		return nil, err
	}
	return c.rowsOf(first, last, limit), nil
}

// Bounds tells the ends of the ids.
func (c conn) Bounds(ctx context.Context) (lowest, highest, next int64, err error) {
	if _, err := c.at(ctx, looks, "Bounds", nil); err != nil {
		return 0, 0, 0, err
	}
	w := c.world()
	now := w.now()
	next = 1
	for _, r := range w.rows {
		if r.begun <= now {
			next = r.id + 1
		}
		if r.seen(now) {
			highest = r.id
			if lowest == 0 {
				lowest = r.id
			}
		}
	}
	return lowest, highest, next, nil
}

// Bodies reads bodies.
func (c conn) Bodies(ctx context.Context, ids []int64, _ int64) (raws []message.Raw, last int64, err error) {
	if _, err := c.at(ctx, looks, "Bodies", ids); err != nil {
		return nil, 0, err
	}
	w := c.world()
	now := w.now()
	for _, id := range ids {
		last = id
		r := w.byID[id]
		if r.at(w.db.records[id].attempts) == unreadable && r.seen(now) {
			return nil, 0, errUnreadable
		}
		if r.seen(now) {
			raws = append(raws, message.Raw{MsgID: id, Body: []byte("<MSG/>")})
		}
	}
	return raws, last, nil
}

// MarkAll marks rows whose mark is empty.
func (c conn) MarkAll(ctx context.Context, ids []int64, _ time.Time) (map[int64]message.MarkResult, error) {
	s, w := c.in.s, c.world()
	ids = slices.Clone(ids)
	v, err := c.at(ctx, marks, "MarkAll", ids)
	switch v {
	case lost:
		c.mark(ids)
	case brokenOff: // whether the server goes on with it, nobody knows
		s.mu.Lock()
		if s.cut++; s.cut%2 == 0 && !c.in.dead.Load() {
			s.later = append(s.later, func() { c.mark(ids) })
		}
		s.mu.Unlock()
	case odd: // some rows are locked by somebody
		c.mark(ids[:len(ids)/2])
	}
	if err == nil {
		return c.mark(ids), nil
	}
	if w.mutant == falseMark && v == away {
		written := map[int64]message.MarkResult{}
		for _, id := range ids {
			written[id] = message.MarkWritten
		}
		return written, nil
	}
	if v == lost {
		return nil, errors.New("the reply was lost")
	}
	return nil, err
}

func (c conn) mark(ids []int64) map[int64]message.MarkResult {
	w := c.world()
	now := w.now()
	results := map[int64]message.MarkResult{}
	for _, id := range ids {
		r := w.byID[id]
		w.marking(c, id)
		switch {
		case !r.seen(now):
			results[id] = message.MarkMissing
		case r.mark > 0:
			results[id] = message.MarkAlready
		default:
			r.mark, results[id] = now, message.MarkWritten
		}
	}
	return results
}
