package rollout

import (
	"context"
	"errors"
	"fmt"

	"msgx/engine/fault"
	"msgx/engine/ruleset"
)

// Begin decides with which rule set this instance leads, records it and seats it; the package comment has the
// table. An error that is fault.ErrUnavailable can be tried again; any other means that it cannot lead.
func (r *Rollout) Begin(ctx context.Context) error {
	recorded, found, err := r.Store.Live(ctx)
	if err != nil {
		return err
	}
	files, seen := r.read()
	own := trial{files: files, seen: seen, cause: ruleset.Cause{How: ruleset.ByStart, Who: r.opts.Instance}}
	if !found {
		if seen == "" {
			return fmt.Errorf("rules: %s: %s, and none is on record", r.Source.Origin, r.unreadable)
		}
		c, err := r.Workshop.Load(files)
		if err != nil {
			return fmt.Errorf("rules: %s: %w", r.Source.Origin, err)
		}
		return r.first(ctx, c, r.entry(c, own), own)
	}
	last, err := r.recorded(ctx, recorded)
	if err != nil && (errors.Is(err, fault.ErrUnavailable) || ctx.Err() != nil) {
		return err
	}
	here := ruleset.Place{Origin: r.Source.Origin, Seen: seen}
	if seen == "" {
		own.seen = recorded.Seen // it may come back as it was
	}
	if ruleset.GoesOn(recorded, here, r.opts.TakesOver) {
		if err != nil {
			return fmt.Errorf("rules: live is %.12s, and it cannot be loaded from the record: %w", recorded.Hash, err)
		}
		return r.goOn(ctx, last, recorded, own)
	}
	c, reasons, proof := r.prove(ctx, own)
	if proof != nil {
		return proof
	}
	if len(reasons) == 0 {
		return r.first(ctx, c, r.entry(c, own), own)
	}
	if err != nil {
		return fmt.Errorf("rules: %s is refused (%s), and the live one %.12s cannot be loaded from the record: %w", r.Source.Origin, reasons[0], recorded.Hash, err)
	}
	r.live = recorded
	hash := ""
	if c != nil {
		hash = c.Set.Hash
	}
	if err := r.refuse(ctx, own, hash, reasons); err != nil {
		return err
	}
	// What the record has seen stays, so that the next start tries again what lies here.
	own.seen = recorded.Seen
	err = r.goOn(ctx, last, recorded, own)
	r.settle.Consider(seen)
	return err
}

// recorded loads the rule set that is live by the record.
func (r *Rollout) recorded(ctx context.Context, l ruleset.Live) (*Candidate, error) {
	set, err := r.Store.Ruleset(ctx, l.Hash)
	if err != nil {
		return nil, err
	}
	return r.Workshop.Load(set.Files)
}

// goOn leads with what the record says is live.
func (r *Rollout) goOn(ctx context.Context, c *Candidate, recorded ruleset.Live, own trial) error {
	l := r.entry(c, own)
	l.Pinned = recorded.Pinned
	if c.Set.Hash == recorded.Hash && c.Set.Build == recorded.Build {
		l.Cause, l.From, l.Judged = recorded.Cause, recorded.From, nil // it goes on over a change of leader
	}
	if recorded.Origin != r.Source.Origin {
		r.tellOther(c, own.files)
	}
	return r.first(ctx, c, l, own)
}

// tellOther says that what lies here is not what goes on being live.
func (r *Rollout) tellOther(live *Candidate, files map[string][]byte) {
	if files == nil {
		return
	}
	lies := "faulty"
	if c, err := r.Workshop.Load(files); err == nil {
		if lies = short(c.Set.Hash); c.Set.Hash == live.Set.Hash {
			return
		}
	}
	r.Log.Warn("the live rule set is of another place and goes on; msgx rules activate takes what lies here",
		"ruleset", short(live.Set.Hash), "here", lies, "origin", r.Source.Origin)
}

// first records and seats the rule set that an instance begins with.
func (r *Rollout) first(ctx context.Context, c *Candidate, l ruleset.Live, own trial) error {
	if err := r.Writer.GoLive(ctx, c.Set, l, nil, 0); err != nil {
		return err
	}
	r.bench = newBench(c.Judge)
	r.live = l
	r.settle.Consider(own.seen)
	r.meters.wentLive(l, false)
	r.show(l, r.status.Load().Refused)
	r.Log.Info("rule set live", "ruleset", short(l.Hash), "how", l.How, "who", l.Who, "pinned", l.Pinned, "since", l.From)
	return nil
}
