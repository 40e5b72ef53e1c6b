package explain

import (
	"fmt"
	"strings"

	"golang.org/x/text/width"
)

// TextOptions say how an explanation is written for people.
type TextOptions struct {
	Colour bool // with the escape sequences of a terminal
	All    bool // every record, branch, read and line; otherwise long parts are shortened
}

// pageWidth is what a line of text fits into, in columns of a terminal.
const pageWidth = 100

// page is text being laid out.
type page struct {
	b strings.Builder
	o TextOptions
}

// The colours, as escape sequences.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p *page) paint(colour, text string) string {
	if !p.o.Colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// line writes a line of pieces, cut to the width of the page; a piece is a text or a colour
// and its text.
func (p *page) line(pieces ...piece) {
	for len(pieces) > 0 && strings.TrimSpace(pieces[len(pieces)-1].text) == "" {
		pieces = pieces[:len(pieces)-1]
	}
	left := pageWidth
	for i, piece := range pieces {
		if left <= 0 {
			break
		}
		text := piece.text
		if i == len(pieces)-1 {
			text = strings.TrimRight(text, " ")
		}
		text = cut(text, left)
		left -= columns(text)
		p.b.WriteString(p.paint(piece.colour, text))
	}
	p.b.WriteByte('\n')
}

type piece struct{ colour, text string }

func plain(format string, args ...any) piece { return piece{"", fmt.Sprintf(format, args...)} }

func (p *page) section(name, rest string) {
	p.b.WriteByte('\n')
	p.line(piece{bold, name}, piece{dim, rest})
}

// wrapped writes a text over as many lines as it needs, indented.
func (p *page) wrapped(indent int, colour, text string) {
	room := pageWidth - indent
	line := ""
	flush := func() {
		if line != "" {
			p.line(plain("%*s", indent, ""), piece{colour, line})
		}
		line = ""
	}
	for _, word := range strings.Fields(text) {
		if line != "" && columns(line)+1+columns(word) > room {
			flush()
		}
		for columns(word) > room {
			head := cut(word, room)
			head = strings.TrimSuffix(head, "…")
			p.line(plain("%*s", indent, ""), piece{colour, head})
			word = strings.TrimPrefix(word, head)
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	flush()
}

// more tells what has been left out.
func (p *page) more(indent, n int, what string) {
	if n > 0 {
		p.line(plain("%*s", indent, ""), piece{dim, fmt.Sprintf("and %d more %s", n, what)})
	}
}

// columns is how wide a text is on a terminal.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut shortens a text to a width, with an ellipsis. Control characters become blanks.
func cut(text string, room int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if columns(text) <= room {
		return text
	}
	n := 0
	for i, r := range text {
		if n += runeColumns(r); n > room-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// padded fills a text with blanks up to a width.
func padded(text string, to int) string {
	if n := columns(text); n < to {
		return text + strings.Repeat(" ", to-n)
	}
	return text
}

// widest is the width of the widest text, at most the limit.
func widest(limit int, texts ...string) int {
	n := 0
	for _, t := range texts {
		n = max(n, columns(t))
	}
	return min(n, limit)
}
