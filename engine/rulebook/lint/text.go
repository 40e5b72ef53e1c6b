package lint

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Write prints the findings for people: message, place, the line with a caret under
// what is meant, cause, fix and page; at the end how many.
func (r Report) Write(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Findings {
		f.write(&b)
	}
	if r.OK() {
		fmt.Fprintf(&b, "%s, no findings\n", count(r.Files, "file"))
	} else {
		fmt.Fprintf(&b, "%s, %s\n", count(r.Files, "file"), count(len(r.Findings), "finding"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func (f Finding) write(b *strings.Builder) {
	fmt.Fprintf(b, "error[%s]: %s\n", f.Code, f.Message)
	if f.Line == 0 {
		fmt.Fprintf(b, "  --> %s\n", f.File)
	} else {
		number := strconv.Itoa(f.Line)
		margin := strings.Repeat(" ", len(number))
		fmt.Fprintf(b, "%s--> %s:%d:%d\n", margin+" ", f.File, f.Line, f.Column)
		fmt.Fprintf(b, "%s |\n%s | %s\n", margin+" ", " "+number, f.Source)
		fmt.Fprintf(b, "%s | %s%s\n", margin+" ", f.indent(), strings.Repeat("^", max(f.Width, 1)))
	}
	fmt.Fprintf(b, "  = cause: %s\n  = fix: %s\n  = page: %s\n\n", f.Cause, f.Fix, f.Page)
}

// indent is as wide on a screen as what stands before the finding: tabs stay, and
// characters of double width take two blanks.
func (f Finding) indent() string {
	var b strings.Builder
	for _, c := range f.before {
		switch {
		case c == '\t':
			b.WriteByte('\t')
		case c >= 0x1100 && c <= 0xffe6:
			b.WriteString("  ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}
