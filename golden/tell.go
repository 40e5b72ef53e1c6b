package golden

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/message"
	"msgx/engine/rehearse"
)

// tell writes what came out of a case, in the form of its expect file: each
// message with its outcome and effects, then the flights as they are afterwards.
func (c *Case) tell(cat *catalogue.Catalogue, out *Outcome, payloads bool) string {
	var b strings.Builder
	for i := range out.Results {
		tellMessage(&b, c.steps[i].name, &out.Results[i], payloads)
	}
	b.WriteString("\nafterwards:\n")
	b.Write(rehearse.FormatState(cat, c.Settings.Zone, out.After))
	return tidy(b.String())
}

// tellMessage writes what came of one message.
func tellMessage(b *strings.Builder, name string, r *rehearse.Result, payloads bool) {
	b.WriteString(outcomeLine(name, r.Settlement.Outcome) + "\n")
	if r.Message != nil {
		tellCounts(b, "unknown", r.Message.Unknowns)
		tellCounts(b, "dropped", r.Message.Dropped)
	}
	tellSettlement(b, &r.Settlement, payloads)
}

// outcomeLine is the line with which a message begins: "01-sets.xml: DEAD(PROTOCOL) record-count 3, found 2".
func outcomeLine(name string, o message.Outcome) string {
	text := name + ": " + string(o.State)
	if o.Class != "" {
		text += "(" + string(o.Class) + ")"
	}
	return strings.TrimRight(text+" "+o.Reason, " ")
}

func tellCounts(b *strings.Builder, what string, counts []message.Unknown) {
	for _, u := range counts {
		fmt.Fprintf(b, "  %s %s, %d\n", what, u.Path, u.Count)
	}
}

func tellSettlement(b *strings.Builder, s *decision.Settlement, payloads bool) {
	for _, w := range s.Warnings {
		fmt.Fprintf(b, "  warning: %s\n", w)
	}
	for _, n := range s.Effects.Notes {
		if n.FLID != 0 {
			fmt.Fprintf(b, "  note: flight %s: %s\n", n.FLID, n.Reason)
		} else {
			fmt.Fprintf(b, "  note: %s\n", n.Reason)
		}
	}
	for _, e := range s.Effects.Events {
		tellEvent(b, s, &e, payloads)
	}
	for _, r := range s.Effects.Refs {
		fmt.Fprintf(b, "  reference %s %s: %s %s\n", r.Type, r.Key, r.Op, r.Value)
	}
	for _, out := range s.Effects.Outbound {
		fmt.Fprintf(b, "  request %s\n", out)
	}
}

// tellEvent writes an event. The changes stand under the msg event, which
// carries them; a payload is shown on request, without the hash of the rule set, which is
// another after every edit of a rule.
func tellEvent(b *strings.Builder, s *decision.Settlement, e *event.Event, payloads bool) {
	i := slices.IndexFunc(s.Effects.Advances, func(a decision.Advance) bool { return a.After.ID == e.FLID })
	switch {
	case i < 0:
		fmt.Fprintf(b, "  %s of flight %s, which does not advance\n", e.Target, e.FLID)
		return
	case e.Target == event.Msg:
		fmt.Fprintf(b, "  msg  %s v%d %s", e.FLID, e.Version, s.Effects.Advances[i].Op)
	default:
		fmt.Fprintf(b, "  schd %s v%d", e.FLID, e.Version)
	}
	if e.Key != e.FLID.String() {
		fmt.Fprintf(b, ", key %s", e.Key)
	}
	if e.Type == event.Tombstone {
		b.WriteString(", tombstone")
	}
	b.WriteByte('\n')
	if e.Target == event.Msg {
		for _, c := range s.Effects.Advances[i].Changed {
			b.WriteString(changeText(&c))
		}
	}
	if payloads && e.Payload != nil {
		fmt.Fprintf(b, "    payload %s\n", strings.ReplaceAll(string(e.Payload), e.Ruleset, "(hash)"))
	}
}

// changeText is one difference; of a list each entry on its own line, as
// it goes (-) and comes (+).
func changeText(c *decision.FieldChange) string {
	var b strings.Builder
	gone, isList := entries(c.Before)
	come, alsoList := entries(c.After)
	switch {
	case isList || alsoList:
		fmt.Fprintf(&b, "    %s:\n", c.Path)
		for _, e := range gone {
			fmt.Fprintf(&b, "      - %s\n", e)
		}
		for _, e := range come {
			fmt.Fprintf(&b, "      + %s\n", e)
		}
	case c.Before == nil:
		fmt.Fprintf(&b, "    %s: %s\n", c.Path, c.After)
	case c.After == nil:
		fmt.Fprintf(&b, "    %s: %s -> nothing\n", c.Path, c.Before)
	default:
		fmt.Fprintf(&b, "    %s: %s -> %s\n", c.Path, c.Before, c.After)
	}
	return b.String()
}

// entries splits a list into its entries.
func entries(value json.RawMessage) ([]json.RawMessage, bool) {
	var out []json.RawMessage
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &out) != nil {
		return nil, false
	}
	return out, true
}
