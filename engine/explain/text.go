package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"msgx/engine/comparison"
	"msgx/engine/decision"
	"msgx/engine/message"
)

// How much of a long part is shown unless all is asked for.
const (
	shownRecords  = 3
	shownBranches = 40
	shownReads    = 30
	shownChanges  = 5
	shownEntries  = 6
	wholeScript   = 60 // lines up to which a script is shown whole
)

// Text writes an explanation for people: short sections, lines of at most 100 columns.
func (x *Explanation) Text(o TextOptions) string {
	p := &page{o: o}
	x.head(p)
	x.writeRecorded(p)
	x.writeSaid(p)
	x.writeIgnored(p)
	if x.Script != nil {
		x.Script.write(p)
	}
	x.writeEffects(p)
	x.writeWith(p)
	return p.b.String()
}

// limit is how many of n are shown.
func (p *page) limit(n, shown int) int {
	if p.o.All {
		return n
	}
	return min(n, shown)
}

func (x *Explanation) head(p *page) {
	name, kind := fmt.Sprintf("message %d", x.MsgID), ""
	if x.Name != "" {
		name += "  " + x.Name
	}
	if x.Said != nil {
		kind = "  " + x.Said.Kind
	}
	p.line(piece{bold, name + kind + "  "}, piece{stateColour(x.Outcome.State), x.Outcome.state()})
	p.wrapped(2, "", x.Outcome.Reason)
	switch s := x.Script; {
	case s != nil:
		p.line(plain("  decided by %s of rule set %.12s with %d of %d instructions (%.1f %%)",
			s.ID, s.Ruleset, s.Instructions, s.Budget, 100*float64(s.Instructions)/float64(s.Budget)))
	default:
		p.line(plain("  no rule was asked"))
	}
}

func (o Outcome) state() string {
	if o.Class == "" {
		return string(o.State)
	}
	return fmt.Sprintf("%s(%s)", o.State, o.Class)
}

func stateColour(s message.State) string {
	switch s {
	case message.Succeeded:
		return green
	case message.Skipped:
		return yellow
	}
	return red
}

func (x *Explanation) writeRecorded(p *page) {
	r := x.Recorded
	if r == nil {
		return
	}
	if r.Same {
		p.line(plain("  "), piece{green, "what is explained here is what is on record"})
	} else {
		p.line(plain("  "), piece{red, "what is explained here is not what is on record:"})
	}
	for _, d := range r.Differs {
		p.wrapped(4, "", d)
	}
	for _, text := range r.Remarks {
		p.wrapped(2, yellow, "note: "+text)
	}
}

func (x *Explanation) writeSaid(p *page) {
	s := x.Said
	if s == nil {
		return
	}
	p.section("said", "  "+s.Meaning)
	p.line(plain("  identity  %s", s.Identity))
	if s.SentAt != "" {
		p.line(plain("  sent at   %s", s.SentAt))
	}
	if s.Declared != nil {
		p.line(plain("  records   %d declared, %d there", *s.Declared, len(s.Records)))
	}
	n := p.limit(len(s.Records), shownRecords)
	for i, r := range s.Records[:n] {
		r.write(p, i+1)
	}
	p.more(2, len(s.Records)-n, "records")
}

func (r *SaidRecord) write(p *page, n int) {
	switch {
	case r.FLID != "":
		p.line(plain("  record %d  flight %s", n, r.FLID))
	default:
		p.line(plain("  record %d  key %s  %s", n, r.Key, r.Value))
	}
	tags := 4
	for _, e := range r.Elements {
		tags = max(tags, columns(e.Tag))
	}
	for _, e := range r.Elements {
		if e.Tag == "FLID" {
			continue
		}
		e.write(p, tags)
	}
	if len(r.Absent) > 0 {
		p.wrapped(4, dim, "absent: "+strings.Join(r.Absent, " "))
	}
	for _, f := range r.Faults {
		p.wrapped(4, red, f)
	}
}

// write shows an element; of a list each entry stands on a line of its own.
func (e *SaidElement) write(p *page, tags int) {
	tag := plain("    %s  ", padded(e.Tag, tags))
	list, isList := entries(e.Value)
	switch {
	case e.Empty:
		p.line(tag, piece{yellow, padded("empty", 30)}, piece{dim, "  " + e.Meaning})
	case isList:
		p.line(tag, piece{dim, e.Meaning})
		n := p.limit(len(list), shownEntries)
		for _, entry := range list[:n] {
			p.line(plain("      %s", entry))
		}
		p.more(6, len(list)-n, "entries")
	default:
		p.line(tag, plain("%s", padded(string(e.Value), 30)), piece{dim, "  " + e.Meaning})
	}
}

func (x *Explanation) writeIgnored(p *page) {
	i := &x.Ignored
	if len(i.Unknown)+len(i.Dropped)+len(i.NotLooked) == 0 {
		return
	}
	p.section("ignored", "")
	for _, u := range i.Unknown {
		p.line(plain("  unknown element  %s, %d", u.Path, u.Count))
	}
	for _, u := range i.Dropped {
		p.line(plain("  dropped value    %s, %d", u.Path, u.Count))
	}
	if len(i.NotLooked) > 0 {
		p.wrapped(2, "", "not looked at by the script: "+strings.Join(i.NotLooked, " "))
	}
}

func (x *Explanation) writeEffects(p *page) {
	if len(x.Notes)+len(x.Warnings) > 0 {
		p.section("notes", "")
		for _, n := range x.Notes {
			text := "left out: " + n.Reason
			if n.FLID != 0 {
				text = fmt.Sprintf("flight %s left out: %s", n.FLID, n.Reason)
			}
			p.wrapped(2, "", text)
		}
		for _, w := range x.Warnings {
			p.wrapped(2, yellow, "warning: "+w)
		}
	}
	p.section("changes", "")
	if len(x.Changes)+len(x.References)+len(x.Requests) == 0 {
		p.line(plain("  none"))
	}
	n := p.limit(len(x.Changes), shownChanges)
	for i := range x.Changes[:n] {
		x.Changes[i].write(p)
	}
	p.more(2, len(x.Changes)-n, "flights")
	for _, r := range x.References {
		p.line(plain("  %s %s  %s  %s", r.Type, r.Key, r.Op, r.Value))
	}
	for _, r := range x.Requests {
		p.line(plain("  request %s  %v", r.Request, r.Fields))
	}
}

func (c *Change) write(p *page) {
	p.line(plain("  flight %s  %s to version %d", c.FLID, c.Op, c.Version))
	paths := make([]string, len(c.Changed))
	for i, f := range c.Changed {
		paths[i] = f.Path
	}
	to := widest(20, paths...)
	for _, f := range c.Changed {
		writeChanged(p, padded(f.Path, to), f)
	}
}

// writeChanged writes one difference; of lists the entries that go and come stand on lines of their own.
func writeChanged(p *page, path string, f decision.FieldChange) {
	gone, isList := entries(f.Before)
	come, alsoList := entries(f.After)
	if !isList && !alsoList {
		p.line(plain("    %s  %s -> ", path, orNone(f.Before)), piece{green, orNone(f.After)})
		return
	}
	p.line(plain("    %s", path))
	for _, e := range gone {
		p.line(plain("      "), piece{red, "- " + string(e)})
	}
	for _, e := range come {
		p.line(plain("      "), piece{green, "+ " + string(e)})
	}
}

func orNone(value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return "none"
	}
	return string(value)
}

// entries splits a list into its entries.
func entries(value json.RawMessage) ([]json.RawMessage, bool) {
	var out []json.RawMessage
	if !bytes.HasPrefix(value, []byte("[")) || json.Unmarshal(value, &out) != nil {
		return nil, false
	}
	return out, true
}

func (x *Explanation) writeWith(p *page) {
	w := x.With
	if w == nil {
		return
	}
	p.section("with "+w.Name, fmt.Sprintf("  rule set %.12s", w.Ruleset))
	if len(w.Differences) == 0 {
		p.line(plain("  "), piece{green, "the same is decided"}, plain(" by %s", orDash(w.Script)))
		return
	}
	p.line(plain("  %s  ", orDash(w.Script)), piece{stateColour(w.Outcome.State), w.Outcome.state()})
	for _, d := range w.Differences {
		where := string(d.Where)
		if d.FLID != "" {
			where += " of flight " + d.FLID
		}
		p.line(plain("  %s", where))
		p.line(plain("    now   %s", d.Old))
		p.line(plain("    then  "), piece{yellow, d.New})
	}
	if b := w.Branch; b != nil {
		way, only := piece{red, "no   "}, "only with "+w.Name
		if b.Taken {
			way = piece{green, "yes  "}
		}
		if b.Side == comparison.SideOld {
			only = "only now"
		}
		p.line(plain("  the two part at %s:%d, %s:", b.File, b.Line, only))
		p.line(plain("    "), way, plain("%s  ", headed(b.Kind, b.Text)), piece{dim, strings.Join(w.Operands, "; ")})
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
