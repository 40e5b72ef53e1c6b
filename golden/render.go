package golden

import (
	"fmt"
	"io"
	"strings"
)

// WriteText writes the report for people: what failed and why, then the summary. With
// verbose it lists the cases that passed, too.
func (r *Report) WriteText(w io.Writer, verbose bool) error {
	var b strings.Builder
	for i := range r.Cases {
		c := &r.Cases[i]
		switch c.Verdict {
		case Pass:
			if verbose {
				fmt.Fprintf(&b, "PASS  %s\n", c.Name)
			}
		default:
			fmt.Fprintf(&b, "%-5s %s\n%s      again: %s\n", c.Verdict, c.Name, indent(c.Text), c.Again)
		}
	}
	fmt.Fprintln(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}
