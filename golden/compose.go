package golden

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/tools/txtar"

	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
)

// Draft is a case that has no expectation yet.
type Draft struct {
	Name     string
	Comment  string   // what the case shows, without settings
	Settings Settings // the zero value of each is its default
	Before   rehearse.World
	Messages []NamedRaw // in order; their names sort the same way
}

// Compose writes the text of a new case whose expectation is what the rule set of the options
// makes of it. Messages may be in any encoding that a case can name. It refuses what the
// form of a case cannot hold: the text that is written reads back as the draft.
func Compose(o Options, d Draft) ([]byte, error) {
	return d.compose(&o, o.rules)
}

func (d *Draft) compose(o *Options, load func(rulebook.Settings) (*rulebook.Rulebook, error)) ([]byte, error) {
	archive := &txtar.Archive{}
	var comment strings.Builder
	comment.WriteString(strings.TrimSpace(d.Comment) + "\n\n")
	settings := d.Settings.lines()
	var faults []error
	for _, m := range d.Messages {
		text, setting, err := asText(m)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", m.Name, err))
		}
		settings = append(settings, setting...)
		archive.Files = append(archive.Files, txtar.File{Name: m.Name, Data: text})
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("golden: compose %s: %w", d.Name, err)
	}
	for _, line := range settings {
		comment.WriteString(line + "\n")
	}
	if len(settings) > 0 {
		comment.WriteByte('\n')
	}
	archive.Comment = []byte(comment.String())
	if state := rehearse.FormatState(o.Catalogue, d.Settings.zone(), d.Before); len(state) > 0 {
		archive.Files = slices.Insert(archive.Files, 0, txtar.File{Name: stateFile, Data: state})
	}
	c, err := d.readsBack(o, txtar.Format(archive))
	if err != nil {
		return nil, fmt.Errorf("golden: compose %s: %w", d.Name, err)
	}
	got, err := c.Replay(o.Catalogue, load)
	if err != nil {
		return nil, fmt.Errorf("golden: compose %s: %w", d.Name, err)
	}
	return c.withFile(expectFile, c.tell(o.Catalogue, got, c.Settings.Payloads)), nil
}

// readsBack parses what has been written and holds it to the draft.
func (d *Draft) readsBack(o *Options, text []byte) (*Case, error) {
	c, err := o.parse(d.Name, text)
	if err != nil {
		return nil, err
	}
	zone := d.Settings.zone()
	was, is := rehearse.FormatState(o.Catalogue, zone, d.Before), rehearse.FormatState(o.Catalogue, zone, c.before)
	if !bytes.Equal(was, is) {
		return nil, fmt.Errorf("the state does not read back as it was (- was, + reads)\n%s", difference(string(was), string(is)))
	}
	if len(c.steps) != len(d.Messages) {
		return nil, fmt.Errorf("a case would have %d messages, expected %d: a line of a message looks like the head of a file", len(c.steps), len(d.Messages))
	}
	for i, m := range d.Messages {
		// A file of a case ends with the end of a line; no decision depends on it.
		if was, is := trimEnd(m.Raw.Body), trimEnd(c.steps[i].raw.Body); c.steps[i].name != m.Name || !bytes.Equal(was, is) {
			return nil, fmt.Errorf("message %s does not read back as it was", m.Name)
		}
	}
	return c, nil
}

func trimEnd(body []byte) []byte {
	for _, end := range []string{"\n\x00", "\n", "\r"} { // of UTF-16 as well
		body = bytes.TrimSuffix(body, []byte(end))
	}
	return body
}

// encodings are what a case can name, in the order in which they are tried.
var encodings = []struct {
	name string
	by   encoding.Encoding
}{
	{"UTF-8-BOM", unicode.UTF8BOM},
	{"UTF-16", unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)},
	{"GBK", simplifiedchinese.GBK},
	{"GB18030", simplifiedchinese.GB18030},
}

// asText is a message in UTF-8, and the settings that make it what it was.
func asText(m NamedRaw) (text []byte, settings []string, err error) {
	if m.Raw.Characters {
		return m.Raw.Body, []string{"!characters " + m.Name}, nil
	}
	plain, err := unicode.UTF8.NewDecoder().Bytes(m.Raw.Body)
	if err == nil && bytes.Equal(plain, m.Raw.Body) && !bytes.HasPrefix(plain, []byte("\xef\xbb\xbf")) {
		return plain, nil, nil
	}
	for _, e := range encodings {
		plain, err := e.by.NewDecoder().Bytes(m.Raw.Body)
		if err != nil || bytes.ContainsRune(plain, '\uFFFD') {
			continue
		}
		if back, err := e.by.NewEncoder().Bytes(plain); err == nil && bytes.Equal(back, m.Raw.Body) {
			return plain, []string{"!encoding " + m.Name + ": " + e.name}, nil
		}
	}
	return nil, nil, fmt.Errorf("found bytes of no encoding that a case can name: UTF-8, UTF-8-BOM, UTF-16, GBK, GB18030")
}
