package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"msgx/cmd/msgx/core"
	"msgx/engine/decision"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
	"msgx/golden"
)

// take is what becomes a case: messages, and what was there before the first.
type take struct {
	messages []recalled
	files    golden.Options
	settings rulebook.Settings
	before   rehearse.World
}

// take reads the message and what it was decided on, and holds it to what is on record.
func (r *recording) take(ctx context.Context, past *recall) (*take, error) {
	ids := []int64{r.msgID}
	last, err := past.message(ctx, r.msgID)
	if err != nil {
		return nil, err
	}
	if original, duplicate := strings.CutPrefix(last.Failure.SkipReason, "duplicate-of:"); duplicate {
		id, err := messageID(original)
		if err != nil {
			return nil, err
		}
		ids = []int64{id, r.msgID}
	}
	t := &take{}
	for i, id := range ids {
		m, err := past.message(ctx, id)
		if err != nil {
			return nil, err
		}
		t.messages = append(t.messages, m)
		claimed, err := t.again(ctx, past, &t.messages[i])
		if err != nil {
			return nil, err
		}
		if i == 0 {
			t.before = rehearse.World{Flights: map[flight.ID]*flight.State{}, Refs: claimed.View.Refs}
			maps.Copy(t.before.Flights, claimed.View.Flights)
		}
	}
	return t, nil
}

// again decides a message again on what it was decided on.
func (t *take) again(ctx context.Context, past *recall, m *recalled) (claimed decision.Claimed, err error) {
	files, from, settings, remarks, err := past.rules(ctx, m.Decided.Ruleset)
	if err != nil {
		return claimed, err
	}
	if len(remarks) > 0 {
		return claimed, fmt.Errorf("message %d: %s", m.MsgID, strings.Join(remarks, "; "))
	}
	cat := past.db.mind.Catalogue
	book, err := rulebook.Load(files, cat, settings, core.Limits(past.config))
	if err != nil {
		return claimed, fmt.Errorf("rule set %s: %w", from, err)
	}
	t.files = golden.Options{Catalogue: cat, Rules: files, Limits: core.Limits(past.config)}
	t.settings = settings
	judge := verdict.New(cat, book, core.VerdictOptions(past.config))
	var s decision.Settlement
	msg, broken := past.db.mind.Codec.Decode(m.raw)
	if broken != nil {
		s = judge.Broken(m.raw, broken, m.at())
	} else {
		if claimed, err = past.before(ctx)(judge.Claim(msg)); err != nil {
			return claimed, err
		}
		s = judge.Judge(msg, claimed, m.at())
	}
	if differs := m.deviations(&s); len(differs) > 0 {
		return claimed, fmt.Errorf("message %d: decided again it does not come out as it is on record:\n  %s", m.MsgID, strings.Join(differs, "\n  "))
	}
	return claimed, nil
}

// shapes runs the messages on the world, as the case will, and tells what comes of it but for values and times.
func (t *take) shapes(past *recall, raws []message.Raw, before rehearse.World) (string, error) {
	book, err := rulebook.Load(t.files.Rules, t.files.Catalogue, t.settings, t.files.Limits)
	if err != nil {
		return "", err
	}
	judge := verdict.New(t.files.Catalogue, book, core.VerdictOptions(past.config))
	r := rehearse.New(past.db.mind.Codec, judge, func() time.Time { return t.messages[0].at() }, before)
	var b strings.Builder
	for i, raw := range raws {
		s := r.Run(raw).Settlement
		o := s.Outcome
		if o.State == message.Failed && t.messages[i].State == message.Dead {
			o = message.Exhaust(o.Class, o.Reason)
		}
		fmt.Fprintf(&b, "  message %d %s %s by %s", i+1, o.State, o.Class, orDash(s.Script))
		if o.State != t.messages[i].State || o.Class != t.messages[i].Failure.Class {
			return "", fmt.Errorf("message %d: in a case of its own it is %s(%s) %s, on record it is %s", t.messages[i].MsgID, o.State, o.Class, o.Reason, outcome(&t.messages[i].Record))
		}
		for n, a := range s.Effects.Advances {
			fmt.Fprintf(&b, "; flight %s %s v%d", a.After.ID, a.Op, a.After.Version)
			if i == len(raws)-1 && (n >= len(t.messages[i].Changes) || t.messages[i].Changes[n].Version != a.After.Version) {
				return "", fmt.Errorf("message %d: in a case of its own flight %s becomes version %d, which is not on record: its row had been removed before", t.messages[i].MsgID, a.After.ID, a.After.Version)
			}
			for _, c := range a.Changed {
				fmt.Fprintf(&b, " %s(%s>%s)", c.Path, presence(c.Before), presence(c.After))
			}
		}
		for _, n := range s.Effects.Notes {
			fmt.Fprintf(&b, "; note %s %s", n.FLID, n.Reason)
		}
		for _, ref := range s.Effects.Refs {
			fmt.Fprintf(&b, "; reference %s %s %s", ref.Type, ref.Key, ref.Op)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// presence tells whether there is a value, and of a list how long it is.
func presence(raw []byte) string {
	if orNone(raw) == "none" {
		return "none"
	}
	if raw[0] == '[' {
		return fmt.Sprintf("%d entries", strings.Count(string(raw), "{"))
	}
	return "value"
}

func (t *take) comment() string {
	m := &t.messages[len(t.messages)-1]
	text := fmt.Sprintf("Recorded: message %d, %s %s", m.MsgID, message.SafeText(orDash(m.Kind), 40), outcome(&m.Record))
	if m.Decided.Script != "" {
		text += " by " + m.Decided.Script
	}
	return text + "."
}
