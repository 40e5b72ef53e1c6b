package golden

import (
	"encoding/json"
	"encoding/xml"
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
		if c.Verdict == Pass {
			if verbose {
				fmt.Fprintf(&b, "PASS  %s\n", c.Name)
			}
			continue
		}
		fmt.Fprintf(&b, "%-5s %s\n%s\n", c.Verdict, c.Name, indent(c.whole()))
	}
	fmt.Fprintln(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

// whole is all that is to be said of a case that did not pass.
func (c *CaseReport) whole() string {
	var b strings.Builder
	if c.Verdict == Fail {
		fmt.Fprintf(&b, "%s: not as expected\n", c.File)
	}
	b.WriteString(strings.TrimRight(c.Text, "\n") + "\n")
	if c.Ran != nil {
		b.WriteString("\n" + c.Ran.text())
	}
	fmt.Fprintf(&b, "\nagain: %s\n", c.Again)
	return b.String()
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("      ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// WriteJSON writes the report for programs. README.md says what stands where.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("golden: report: %w", err)
	}
	return nil
}

// The elements of a JUnit report, as far as build servers read them.
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		File    string     `xml:"file,attr"`
		Failure *junitText `xml:"failure,omitempty"`
		Error   *junitText `xml:"error,omitempty"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report in the form that build servers read: one suite, a
// test case for each case, the text of a failure as people get it.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{Name: "golden", Tests: len(r.Cases), Failures: r.Failed, Errors: r.Errors}
	for i := range r.Cases {
		c := &r.Cases[i]
		jc := junitCase{Class: "golden", Name: c.Name, File: c.File}
		text := &junitText{Message: c.first(), Type: string(c.Verdict), Text: c.whole()}
		switch c.Verdict {
		case Pass:
		case Fail:
			jc.Failure = text
		default:
			jc.Error = text
		}
		suite.Cases = append(suite.Cases, jc)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	err := enc.Encode(junitSuites{Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Suite: suite})
	if err != nil {
		return fmt.Errorf("golden: report: %w", err)
	}
	_, err = io.WriteString(w, "\n")
	return err
}

// first is the one line that tells most of why a case did not pass.
func (c *CaseReport) first() string {
	if c.Verdict == Fail && c.Ran != nil {
		return c.Ran.Message + " did not come out as expected"
	}
	line, _, _ := strings.Cut(c.Text, "\n")
	return line
}
