package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"msgx/cmd/msgx/core"
	"msgx/engine/comparison"
	"msgx/engine/decision"
	"msgx/engine/store"
)

// recordedPage is how many messages are listed at once; their bodies are read one by one.
const recordedPage = 500

// idRange reads FROM..TO.
func idRange(text string) (first, last int64, err error) {
	from, to, ok := strings.Cut(text, "..")
	if ok {
		if first, err = strconv.ParseInt(from, 10, 64); err == nil {
			last, err = strconv.ParseInt(to, 10, 64)
		}
	}
	if !ok || err != nil || first < 1 || last < first {
		return 0, 0, usagef("--recorded %q: expected FROM..TO, two message ids such as 4000..4999", text)
	}
	return first, last, nil
}

// overRecorded compares over messages that were decided, each on what it was decided on.
func (d *rulesDiff) overRecorded(ctx context.Context, comparer *comparison.Comparer, past *recall, older, newer *core.Core, traced comparison.Traced) error {
	first, last, err := idRange(d.recorded)
	if err != nil {
		return err
	}
	before := past.before(ctx)
	r := comparer.Recorded(comparison.Recorded{
		Name: "recorded", Decoder: older.Codec, Old: older.Judge, New: newer.Judge, Traced: traced,
		Before: func(claim decision.Claim) (decision.Claimed, error) { return before(claim) },
		Lost: func(err error) bool {
			var lost *store.LostError
			return errors.As(err, &lost)
		},
	})
	for after := first - 1; after < last; {
		page, err := past.db.Tried(ctx, after, last, recordedPage)
		if err != nil {
			return err
		}
		for _, m := range page {
			if err := compareTried(ctx, r, past, m); err != nil {
				return err
			}
		}
		if len(page) < recordedPage {
			break
		}
		after = page[len(page)-1].MsgID
	}
	r.End()
	return nil
}

func compareTried(ctx context.Context, r *comparison.Recorded, past *recall, m store.Tried) error {
	raw, found, err := past.body(ctx, m.MsgID)
	switch {
	case err != nil:
		return err
	case !found:
		r.Untold(m.MsgID, fmt.Sprintf("message %d: %s", m.MsgID, past.noBody()))
		return nil
	case m.SHA256 != "" && raw.SHA256() != m.SHA256:
		r.Untold(m.MsgID, fmt.Sprintf("message %d: its body is another now", m.MsgID))
		return nil
	}
	return r.Add(raw)
}
