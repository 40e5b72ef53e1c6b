package golden

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Revision is what a case would have to be for it to pass.
type Revision struct {
	File       string // below the golden directory, with slashes
	Was        []byte // the text of the case as it is
	Text       []byte // of the case
	Difference string // of the expectation, in print; "" when the case passes as it is
}

// Revise works out how the expectation of one case would have to read. Of an expectation that
// says only some of what has to come it changes lines whose place in the outcome is plain;
// where one is not, it refuses to guess and says what came. A case that cannot be run, or whose
// runs disagree, has no revision.
func Revise(ctx context.Context, o Options, name string) (*Revision, error) {
	o.Names, o.Pattern = []string{name}, ""
	report, err := Run(ctx, o)
	if err != nil {
		return nil, err
	}
	if c := &report.Cases[0]; c.Verdict == Error {
		return nil, errors.New(c.Text)
	}
	r := &Revision{File: fileOf(name)}
	if r.Was, err = fs.ReadFile(o.corpus(), r.File); err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	c, err := o.read(name)
	if err != nil {
		return nil, err
	}
	got, err := c.Replay(o.Catalogue, o.rules)
	if err != nil {
		return nil, err
	}
	old, was := expectFile, c.expect
	now := c.tell(o.Catalogue, got, c.Settings.Payloads)
	if c.some != nil {
		old, was = expectSomeFile, c.some.text
		if now, err = c.mended(o.place(fileOf(name)), &holder{c, o.Catalogue, got}); err != nil {
			return nil, err
		}
	}
	if now == was {
		r.Text = r.Was
		return r, nil
	}
	r.Text, r.Difference = c.withFile(old, now), difference(was, now)
	if n := bytes.Count(r.Was, []byte("\r\n")); n > 0 && n == bytes.Count(r.Was, []byte("\n")) { // as an editor of Windows has it
		text := bytes.ReplaceAll(r.Text, []byte("\r\n"), []byte("\n"))
		r.Text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return r, nil
}

// mended is expect-some with the lines that do not hold as they would have to be.
func (c *Case) mended(file string, h *holder) (string, error) {
	misses := c.misses(h.cat, h.got)
	lines := strings.SplitAfter(c.some.text, "\n")
	var open []miss
	for _, m := range misses {
		if m.mend == "" {
			open = append(open, m)
			continue
		}
		lines[m.row] = m.mend + "\n"
	}
	if len(open) > 0 {
		return "", fmt.Errorf("%s: nothing tells what these lines would have to be; change them by hand\n%s", file, strings.TrimRight(h.text(open), "\n"))
	}
	return strings.Join(lines, ""), nil
}
