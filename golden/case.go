package golden

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a case means the same on a machine without zone files

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/tools/txtar"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rehearse"
)

const (
	suffix      = ".txtar"
	stateFile   = "state"
	expectFile  = "expect"
	messageType = ".xml"
	defaultZone = "Asia/Shanghai"
)

// Case is one file of the corpus.
type Case struct {
	Name     string
	Settings Settings
	archive  *txtar.Archive
	before   rehearse.World
	steps    []step
	expect   string
}

// step is one message of a case.
type step struct {
	name string
	raw  message.Raw
}

// Settings are what a case may set, each on a line of its comment: "!zone: Europe/Berlin".
type Settings struct {
	Zone            *time.Location
	DayCutover      time.Duration
	CodeShare       string
	AbsentOptional  string
	IdentityWithDay bool
	Ignore          []string // nil for the default
	Payloads        bool     // show the payload of every event
	encodings       map[string]string
	characters      map[string]bool
}

// ParseCase reads a case. All its faults are told at once.
func ParseCase(cat *catalogue.Catalogue, name string, data []byte) (*Case, error) {
	c := &Case{Name: name, archive: txtar.Parse(data)}
	var faults []error
	fault := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	fault(c.settings())
	if strings.TrimSpace(string(c.archive.Comment)) == "" {
		fault(errors.New("expected a comment that says what the case shows"))
	}
	for _, f := range c.archive.Files {
		switch {
		case f.Name == stateFile:
			world, err := rehearse.ParseState(cat, c.Settings.Zone, f.Data)
			fault(err)
			c.before = world
		case f.Name == expectFile:
			c.expect = tidy(string(f.Data))
		case strings.HasSuffix(f.Name, messageType):
			raw, err := c.body(f)
			fault(err)
			c.steps = append(c.steps, step{name: f.Name, raw: raw})
		default:
			fault(fmt.Errorf("file %q: expected %s, %s or NN-name%s", f.Name, stateFile, expectFile, messageType))
		}
	}
	if len(c.steps) == 0 {
		fault(errors.New("expected at least one message, in a file named like 01-name.xml"))
	}
	if !slices.IsSortedFunc(c.steps, func(a, b step) int { return strings.Compare(a.name, b.name) }) {
		fault(errors.New("expected the messages in the order of their names"))
	}
	for i := range c.steps {
		c.steps[i].raw.MsgID = int64(i + 1)
	}
	for file := range c.Settings.encodings {
		fault(c.named(file))
	}
	for file := range c.Settings.characters {
		fault(c.named(file))
	}
	return c, errors.Join(faults...)
}

func (c *Case) named(file string) error {
	if slices.ContainsFunc(c.steps, func(s step) bool { return s.name == file }) {
		return nil
	}
	return fmt.Errorf("a setting names %q, which is no message of the case", file)
}

// settings reads the lines of the comment that begin with "!".
func (c *Case) settings() error {
	s := &c.Settings
	s.CodeShare = decision.KeyMaster
	s.encodings, s.characters = map[string]string{}, map[string]bool{}
	zone, err := time.LoadLocation(defaultZone)
	if err != nil {
		return err
	}
	s.Zone = zone
	var faults []error
	for line := range strings.Lines(string(c.archive.Comment)) {
		setting, is := strings.CutPrefix(strings.TrimSpace(line), "!")
		if !is {
			continue
		}
		key, value, _ := strings.Cut(setting, ":")
		if err := s.set(key, strings.TrimSpace(value)); err != nil {
			faults = append(faults, fmt.Errorf("setting %q: %w", setting, err))
		}
	}
	return errors.Join(faults...)
}

func (s *Settings) set(key, value string) (err error) {
	oneOf := func(values ...string) error {
		if slices.Contains(values, value) {
			return nil
		}
		return fmt.Errorf("found %q, expected one of %s", value, strings.Join(values, ", "))
	}
	key, file, _ := strings.Cut(key, " ")
	switch key {
	case "zone":
		s.Zone, err = time.LoadLocation(value)
	case "day-cutover":
		s.DayCutover, err = time.ParseDuration(value)
	case "code-share":
		s.CodeShare, err = value, oneOf(decision.KeyMaster, decision.KeyOwn)
	case "absent-optional":
		s.AbsentOptional, err = value, oneOf("keep", "clear")
	case "identity-with-day":
		s.IdentityWithDay, err = value == "true", oneOf("true", "false")
	case "ignore":
		s.Ignore = strings.Fields(value)
	case "show":
		s.Payloads, err = true, oneOf("payloads")
	case "encoding":
		s.encodings[file] = value
	case "characters":
		s.characters[file] = true
	default:
		err = errors.New("expected one of zone, day-cutover, code-share, absent-optional, identity-with-day, ignore, show, encoding FILE, characters FILE")
	}
	return err
}

// body is a message as it would stand in the mailbox. The case itself is
// UTF-8; a message in another encoding is encoded here.
func (c *Case) body(f txtar.File) (message.Raw, error) {
	raw := message.Raw{Body: f.Data, Characters: c.Settings.characters[f.Name]}
	name, other := c.Settings.encodings[f.Name]
	if !other {
		return raw, nil
	}
	var err error
	switch name {
	case "GBK":
		raw.Body, err = simplifiedchinese.GBK.NewEncoder().Bytes(f.Data)
	case "GB18030":
		raw.Body, err = simplifiedchinese.GB18030.NewEncoder().Bytes(f.Data)
	case "UTF-16":
		raw.Body, err = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes(f.Data)
	case "UTF-8-BOM":
		raw.Body = append([]byte("\xef\xbb\xbf"), f.Data...)
	default:
		err = errors.New("expected one of GBK, GB18030, UTF-16, UTF-8-BOM")
	}
	if err != nil {
		return raw, fmt.Errorf("encoding of %s is %q: %w", f.Name, name, err)
	}
	return raw, nil
}

// withExpect is the file of the case with another expectation.
func (c *Case) withExpect(expect string) []byte {
	a := *c.archive
	a.Files = slices.Clone(a.Files)
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == expectFile })
	if i < 0 {
		a.Files, i = append(a.Files, txtar.File{Name: expectFile}), len(a.Files)
	}
	a.Files[i].Data = []byte(expect)
	return txtar.Format(&a)
}

// tidy makes blanks at the end of lines and of the text mean nothing.
func tidy(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, " \t\r\n")) {
		b.WriteString(strings.TrimRight(line, " \t\r\n"))
		b.WriteByte('\n')
	}
	return b.String()
}
