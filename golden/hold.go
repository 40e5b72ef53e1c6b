package golden

import (
	"fmt"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
)

// miss is something that a partial expectation says and that did not come.
type miss struct {
	line  int
	row   int
	step  int // of the message, afterwards for the end
	said  string
	found []string // in its place
	mend  string   // the line as it would have to be; "" when that cannot be told
}

// holder holds what came out to what was said.
type holder struct {
	c   *Case
	cat *catalogue.Catalogue
	got *Outcome
}

// misses lists what does not hold.
func (c *Case) misses(cat *catalogue.Catalogue, got *Outcome) []miss {
	h := &holder{c, cat, got}
	var out []miss
	for i := range c.some.sections {
		s := &c.some.sections[i]
		if s.step != afterwards {
			if m, ok := h.outcome(s); !ok {
				out = append(out, m)
			}
		}
		for j := range s.statements {
			st := &s.statements[j]
			m := miss{line: st.line, row: st.row, step: s.step, said: st.String()}
			if !h.holds(s.step, st, &m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// outcome holds the state, the class and the reason of a message to the head of its section.
func (h *holder) outcome(s *section) (miss, bool) {
	o := h.got.Results[s.step].Settlement.Outcome
	if (s.state == "" || s.state == o.State) && (s.class == "" || s.class == o.Class) && strings.Contains(o.Reason, s.reason) {
		return miss{}, true
	}
	mended := message.Outcome{State: o.State, Class: o.Class}
	if s.reason != "" {
		mended.Reason = o.Reason
	}
	return miss{
		line: s.line, row: s.row, step: s.step, said: outcomeLine(s.head, message.Outcome{State: s.state, Class: s.class, Reason: s.reason}),
		found: []string{outcomeLine(s.head, o)}, mend: outcomeLine(s.head, mended),
	}, false
}

func (h *holder) holds(step int, s *statement, m *miss) bool {
	switch s.verb {
	case verbContains:
		return h.contains(step, s, m)
	case verbUnchanged:
		for _, id := range s.flights {
			m.found = append(m.found, h.change(step, id)...)
		}
	case verbNone:
		for _, word := range s.words {
			m.found = append(m.found, h.all(step, word)...)
		}
	}
	return len(m.found) == 0
}

// contains looks for a line; blanks between words mean nothing.
func (h *holder) contains(step int, s *statement, m *miss) bool {
	lines := h.lines(step)
	want := oneBlank(s.arg)
	if slices.Contains(lines, want) {
		return true
	}
	key := keyOf(want)
	for _, line := range lines {
		if key != "" && keyOf(line) == key && !slices.Contains(m.found, line) {
			m.found = append(m.found, line)
		}
	}
	if len(m.found) == 1 {
		m.mend = "  " + verbContains + ": " + m.found[0]
	}
	return false
}

// state is how a flight is written.
func (h *holder) state(s *flight.State) []byte {
	if s == nil {
		return nil
	}
	return rehearse.FormatState(h.cat, h.c.Settings.Zone, rehearse.World{Flights: map[flight.ID]*flight.State{s.ID: s}})
}

// change tells how a flight differs: of a message what it did to it, of the end from what
// there was at the beginning.
func (h *holder) change(step int, id flight.ID) []string {
	if step != afterwards {
		s := &h.got.Results[step].Settlement
		i := slices.IndexFunc(s.Effects.Advances, func(a decision.Advance) bool { return a.After.ID == id })
		if i < 0 {
			return nil
		}
		a := &s.Effects.Advances[i]
		out := []string{fmt.Sprintf("%s v%d %s", id, a.After.Version, a.Op)}
		for j := range a.Changed {
			out = append(out, behind(id.String(), changeText(&a.Changed[j]))...)
		}
		return out
	}
	was, is := string(h.state(h.c.before.Flights[id])), string(h.state(h.got.After.Flights[id]))
	if was == is {
		return nil
	}
	return strings.Split(strings.TrimSpace(difference(was, is)), "\n")
}

// all lists what there is of a kind of effect, in one message or in all.
func (h *holder) all(step int, word string) []string {
	if step != afterwards {
		return effects(&h.got.Results[step].Settlement, word)
	}
	var out []string
	for i := range h.got.Results {
		for _, e := range effects(&h.got.Results[i].Settlement, word) {
			out = append(out, h.c.steps[i].name+": "+e)
		}
	}
	return out
}

// effects lists one kind of effect of a message.
func effects(s *decision.Settlement, word string) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	e := &s.Effects
	switch word {
	case "event":
		for i := range e.Events {
			say("%s %s v%d", eventWord(e.Events[i].Target), e.Events[i].FLID, e.Events[i].Version)
		}
	case "change":
		for i := range e.Advances {
			say("%s v%d %s", e.Advances[i].After.ID, e.Advances[i].After.Version, e.Advances[i].Op)
		}
		for _, r := range e.Refs {
			say("reference %s %s: %s", r.Type, r.Key, r.Op)
		}
	case "reference":
		for _, r := range e.Refs {
			say("reference %s %s: %s", r.Type, r.Key, r.Op)
		}
	case "request":
		for _, r := range e.Outbound {
			say("request %s", r.Request)
		}
	case "note":
		for _, n := range e.Notes {
			say("note: flight %s: %s", n.FLID, n.Reason)
		}
	case "warning":
		for _, w := range s.Warnings {
			say("warning: %s", w)
		}
	}
	return out
}

// eventWord is how expect calls an event.
func eventWord(target event.Target) string {
	if target == event.Msg {
		return "msg"
	}
	return "schd"
}

// text tells what does not hold, and what came of the messages that it is about.
func (h *holder) text(misses []miss) string {
	var b strings.Builder
	var about []int
	for _, m := range misses {
		fmt.Fprintf(&b, "line %d: %s\n", m.line, m.said)
		if len(m.found) == 0 {
			b.WriteString("    not found\n")
		}
		for _, f := range m.found {
			fmt.Fprintf(&b, "    found %s\n", f)
		}
		if m.step != afterwards && !slices.Contains(about, m.step) {
			about = append(about, m.step)
		}
	}
	for _, step := range about {
		b.WriteString("what came of it:\n")
		var told strings.Builder
		tellMessage(&told, h.c.steps[step].name, &h.got.Results[step], h.c.Settings.Payloads)
		for line := range strings.Lines(told.String()) {
			b.WriteString("    " + line)
		}
	}
	return b.String()
}
