package explain

import (
	"fmt"
	"strings"
)

func (s *Script) write(p *page) {
	for i := range s.Sources {
		s.Sources[i].write(p, i == 0)
	}
	s.writeBranches(p)
	p.section("read", "")
	n := p.limit(len(s.Reads), shownReads)
	names := make([]string, n)
	for i, r := range s.Reads[:n] {
		names[i] = r.What
	}
	to := widest(40, names...)
	for _, r := range s.Reads[:n] {
		p.line(plain("  %s  ", padded(r.What, to)), plain("%s", r.Value))
	}
	p.more(2, len(s.Reads)-n, "reads")
	if n == 0 {
		p.line(plain("  nothing"))
	}
	p.section("written", "")
	if len(s.Writes) == 0 {
		p.line(plain("  nothing"))
	}
	p.wrapped(2, "", strings.Join(s.Writes[:p.limit(len(s.Writes), shownReads)], ", "))
	p.more(2, len(s.Writes)-p.limit(len(s.Writes), shownReads), "places")
}

// write shows the lines of a file with how often each ran. A script is shown whole unless it is long; of a
// library, what ran and one line around it.
func (s *Source) write(p *page, script bool) {
	p.section("ran  "+s.File, "")
	whole := p.o.All || script && len(s.Lines) <= wholeScript
	skipped := false
	for i := range s.Lines {
		if !whole && !s.near(i) {
			skipped = true
			continue
		}
		if skipped {
			p.line(piece{dim, "         …"})
			skipped = false
		}
		s.Lines[i].write(p)
	}
	if skipped {
		p.line(piece{dim, "         …"})
	}
}

func (s *Source) near(i int) bool {
	for n := max(0, i-1); n <= min(len(s.Lines)-1, i+1); n++ {
		if hits := s.Lines[n].Hits; hits != nil && *hits > 0 {
			return true
		}
	}
	return false
}

func (l *Line) write(p *page) {
	number := fmt.Sprintf("%5d  ", l.Number)
	switch {
	case l.Hits == nil:
		p.line(piece{dim, "       " + number + l.Text})
	case *l.Hits == 0:
		p.line(piece{red, "     -" + " "}, piece{dim, number}, plain("%s", l.Text))
	default:
		p.line(piece{green, fmt.Sprintf("%5dx ", *l.Hits)}, piece{dim, number}, piece{"", l.Text})
	}
}

func (s *Script) writeBranches(p *page) {
	p.section("branches", "")
	branches := s.Branches
	if !p.o.All {
		branches = wholes(branches)
	}
	n := p.limit(len(branches), shownBranches)
	places := make([]string, n)
	for i, b := range branches[:n] {
		places[i] = fmt.Sprintf("%s:%d", b.File, b.Line)
	}
	to := widest(40, places...)
	for i, b := range branches[:n] {
		way := piece{red, "no   "}
		if b.Taken {
			way = piece{green, "yes  "}
		}
		text := headed(b.Kind, b.Text)
		operands := strings.Join(b.Operands, "; ")
		head := plain("  %s  ", padded(places[i], to))
		if columns(head.text)+5+columns(text)+2+columns(operands) <= pageWidth || operands == "" {
			p.line(head, way, plain("%s  ", text), piece{dim, operands})
			continue
		}
		p.line(head, way, plain("%s", text))
		p.wrapped(to+9, dim, operands)
	}
	p.more(2, len(branches)-n+s.Cut, "branches")
	if n == 0 {
		p.line(plain("  none"))
	}
}

// wholes leaves out the sides of a condition where the condition itself follows, with all its operands.
func wholes(branches []Branch) []Branch {
	var out []Branch
	for i, b := range branches {
		if b.Kind == "and" || b.Kind == "or" {
			next := i + 1
			for next < len(branches) && (branches[next].Kind == "and" || branches[next].Kind == "or") && branches[next].at(b) {
				next++
			}
			if next < len(branches) && branches[next].at(b) && branches[next].Kind != "for" {
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

func (b Branch) at(other Branch) bool { return b.File == other.File && b.Line == other.Line }

// headed puts the kind of a branch before its text, unless it begins with it: the head of a loop does.
func headed(kind, text string) string {
	if strings.HasPrefix(text, kind+" ") {
		return text
	}
	return kind + " " + text
}
