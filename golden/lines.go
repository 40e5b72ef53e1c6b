package golden

import (
	"fmt"
	"slices"
	"strings"
)

// keyOf is what a line is about: "1000345 STND" of "1000345 STND: 14L", "msg 1000345" of
// "msg 1000345 v5 update"; "" for an entry of a list on its own.
func keyOf(line string) string {
	if strings.HasPrefix(line, "+ ") || strings.HasPrefix(line, "- ") {
		return ""
	}
	if key, _, ok := strings.Cut(line, ": "); ok {
		return key
	}
	words := strings.Fields(line)
	return strings.Join(words[:min(2, len(words))], " ")
}

func oneBlank(text string) string { return strings.Join(strings.Fields(text), " ") }

// lines are what "contains" can find: of a message what expect would show of it, each
// change also behind its flight; of the end each field behind its flight.
func (h *holder) lines(step int) []string {
	var out []string
	if step == afterwards {
		return append(h.stateLines(), h.referenceLines()...)
	}
	var b strings.Builder
	r := &h.got.Results[step]
	tellMessage(&b, h.c.steps[step].name, r, h.c.Settings.Payloads)
	for line := range strings.Lines(b.String()) {
		out = append(out, oneBlank(line))
	}
	for i := range r.Settlement.Effects.Advances {
		a := &r.Settlement.Effects.Advances[i]
		for j := range a.Changed {
			out = append(out, behind(a.After.ID.String(), changeText(&a.Changed[j]))...)
		}
	}
	return out
}

// behind puts a prefix before each line of a change, and the name of a list before its entries.
func behind(prefix, text string) []string {
	var out []string
	list := ""
	for line := range strings.Lines(text) {
		line = oneBlank(line)
		switch name, isList := strings.CutSuffix(line, ":"); {
		case isList:
			list = name
		case list != "":
			out = append(out, prefix+" "+list+": "+line)
		default:
			out = append(out, prefix+" "+line)
		}
	}
	return out
}

// stateLines are the fields of each flight afterwards, an entry of a list on its own.
func (h *holder) stateLines() []string {
	var out []string
	for _, s := range h.got.After.List() {
		id := s.ID.String()
		list := ""
		for line := range strings.Lines(string(h.state(s))) {
			line = oneBlank(line)
			entry, isEntry := strings.CutPrefix(line, "- ")
			name, isList := strings.CutSuffix(line, ":")
			switch {
			case strings.HasPrefix(line, "- flight:"):
			case isEntry:
				out = append(out, id+" "+list+": "+entry)
			case isList:
				list = name
			default:
				out = append(out, id+" "+line)
			}
		}
		// What is not written because it goes without saying can be asked for all the same.
		out = append(out, id+" state: "+string(s.Status), fmt.Sprintf("%s version: %d", id, s.Version))
	}
	return out
}

func (h *holder) referenceLines() []string {
	var out []string
	for typ, records := range h.got.After.Refs {
		for key, value := range records {
			out = append(out, typ+" "+key+": "+oneBlank(string(value)))
		}
	}
	slices.Sort(out)
	return out
}
