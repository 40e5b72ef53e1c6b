package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/ruleset"
)

// trial is a rule set on its way.
type trial struct {
	files   map[string][]byte
	seen    string // the content of the source at the time, "" when it cannot be read
	cause   ruleset.Cause
	request int64 // of an operator, 0 for none
	pinned  bool
}

// maxReason bounds a reason, in characters.
const maxReason = 1000

// try loads, proves and seats a rule set, or refuses it. An error leaves it to be tried again.
func (r *Rollout) try(ctx context.Context, t trial) error {
	c, reasons, err := r.prove(ctx, t)
	if err != nil {
		return err
	}
	if len(reasons) > 0 {
		hash := ""
		if c != nil {
			hash = c.Set.Hash
		}
		return r.refuse(ctx, t, hash, reasons)
	}
	live := r.entry(c, t)
	if r.same(c) {
		// It judges already. What is recorded is the pin, and what lies in the source.
		if err := r.Writer.GoLive(ctx, c.Set, live, nil, t.request); err != nil {
			return err
		}
	} else {
		err := r.bench.offer(ctx, c.Judge, func(ctx context.Context, judged int64) error {
			live.From = r.Clock.Now()
			return r.Writer.GoLive(ctx, c.Set, live, r.known(judged), t.request)
		})
		if err != nil && ctx.Err() == nil {
			return r.refuse(ctx, t, c.Set.Hash, []string{"it cannot be recorded: " + err.Error()})
		}
		if err != nil {
			return err
		}
	}
	r.went(live, t)
	return nil
}

// prove loads a candidate and runs the checks over it. The live rule set, asked for again, needs none, and neither does one
// that is gone back to: it was live once, and the cases may have moved on with those that came after it.
func (r *Rollout) prove(ctx context.Context, t trial) (c *Candidate, reasons []string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			reasons, err = []string{message.SafeText(fmt.Sprintf("proving it panicked: %v", cause), maxReason)}, nil
		}
	}()
	began := r.Clock.Now()
	if c, err = r.Workshop.Load(t.files); err != nil {
		return nil, strings.Split(err.Error(), "\n"), nil
	}
	if r.same(c) || t.cause.How == ruleset.ByRollback || t.cause.How == ruleset.ByStart && r.Source.Proved {
		return c, nil, nil
	}
	r.Log.Info("proving a rule set", "ruleset", short(c.Set.Hash), "how", t.cause.How)
	reasons, err = r.Workshop.Prove(ctx, t.files)
	r.meters.proving.Observe(r.Clock.Now().Sub(began).Seconds())
	return c, reasons, err
}

func (r *Rollout) same(c *Candidate) bool {
	return r.live.Hash == c.Set.Hash && r.live.Build == c.Set.Build
}

// known is how many messages the outgoing rule set judged, unless another instance, or this one
// before it lost the lease, has judged by it as well.
func (r *Rollout) known(judged int64) *int64 {
	if r.live.Judged == nil {
		return nil
	}
	return &judged
}

// entry is how a candidate goes on record. Judged is not nil from here on: this instance counts.
func (r *Rollout) entry(c *Candidate, t trial) ruleset.Live {
	return ruleset.Live{
		Hash: c.Set.Hash, Build: c.Set.Build, Cause: t.cause, Pinned: t.pinned, From: r.Clock.Now(),
		Place: ruleset.Place{Origin: r.Source.Origin, Seen: t.seen}, Judged: new(int64),
	}
}

// went notes that a rule set is live.
func (r *Rollout) went(l ruleset.Live, t trial) {
	swapped := r.live.Hash != l.Hash
	switch {
	case swapped:
	case l.Pinned == r.live.Pinned:
		l.Cause, l.From, l.Judged = r.live.Cause, r.live.From, r.live.Judged
	default:
		l.Judged = nil // a new entry, and the count began with the old one
	}
	r.live = l
	r.settle.Consider(t.seen)
	r.meters.wentLive(l, swapped)
	r.show(l, nil)
	text := "rule set live"
	if !swapped {
		text = "rule set is live already"
	}
	r.Log.Info(text, "ruleset", short(l.Hash), "how", t.cause.How, "who", t.cause.Who, "why", t.cause.Why, "pinned", l.Pinned)
}

// refuse records why a candidate is not taken; the live one stays.
func (r *Rollout) refuse(ctx context.Context, t trial, hash string, reasons []string) error {
	refusal := ruleset.Refusal{
		Hash: hash, Cause: t.cause, At: r.Clock.Now(), Reasons: reasons,
		Place: ruleset.Place{Origin: r.Source.Origin, Seen: t.seen},
	}
	err := r.Writer.Refuse(ctx, refusal, t.request)
	if errors.Is(err, fault.ErrFenced) || errors.Is(err, fault.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		r.Log.Error("a refused rule set cannot be recorded", "error", err)
	}
	r.settle.Consider(t.seen)
	r.meters.refuse(t.cause.How)
	r.show(r.live, &refusal)
	r.Log.Error("rule set refused, the live one stays", "ruleset", short(hash), "how", t.cause.How, "who", t.cause.Who,
		"live", short(r.live.Hash), "reasons", len(reasons), "first", firstLine(reasons[0]))
	return nil
}

// short is a hash as people see it.
func short(hash string) string { return fmt.Sprintf("%.12s", hash) }

// firstLine is what the log shows of a reason.
func firstLine(reason string) string {
	line, _, _ := strings.Cut(reason, "\n")
	return message.SafeText(line, maxReason)
}
