package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/tools/txtar"

	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/nearest"
	"msgx/engine/rulebook"
)

const defaultZone = "Asia/Shanghai"

// Settings are what a case may set, each on a line of its comment: "!zone: Europe/Berlin".
type Settings struct {
	Zone            *time.Location
	DayCutover      time.Duration
	CodeShare       string
	AbsentOptional  string
	IdentityWithDay bool
	Ignore          []string // nil for the default
	Payloads        bool     // show the payload of every event
	Given           []string // shared states
	Rules           []string // scripts at versions, in the place of those that the manifest picks

	encodings  map[string]string
	characters map[string]bool
	named      map[string]int // lines of the settings of single messages
}

// settingNames are what a line of the comment may begin with.
var settingNames = []string{
	"zone", "day-cutover", "code-share", "absent-optional", "identity-with-day", "ignore", "show", "given", "rules", "encoding", "characters",
}

// comment reads the lines of the comment that begin with "!", and expects a line that does not.
func (r *reader) comment() {
	s := &r.c.Settings
	s.CodeShare = decision.KeyMaster
	s.Zone = s.zone()
	s.encodings, s.characters, s.named = map[string]string{}, map[string]bool{}, map[string]int{}
	seen := map[string]bool{}
	said := false
	line := 0
	for text := range strings.Lines(string(r.c.archive.Comment)) {
		line++
		text = strings.TrimSpace(text)
		setting, is := strings.CutPrefix(text, "!")
		if !is {
			said = said || text != ""
			continue
		}
		key, value, _ := strings.Cut(setting, ":")
		key = strings.TrimSpace(key)
		if seen[key] {
			r.fault(line, "setting %q stands twice", key)
		}
		seen[key] = true
		r.setting(line, key, strings.TrimSpace(value))
	}
	if !said {
		r.fault(1, "found no comment, expected one that says what the case shows")
	}
}

func (r *reader) setting(line int, key, value string) {
	s := &r.c.Settings
	name, file, ofMessage := strings.Cut(key, " ")
	switch {
	case !slices.Contains(settingNames, name):
		hint := nearest.Hint(name, settingNames)
		if hint == "" {
			hint = ", expected one of " + strings.Join(settingNames, ", ")
		}
		r.fault(line, "found setting %q%s", name, hint)
		return
	case ofMessage != (name == "encoding" || name == "characters"):
		r.fault(line, "found setting %q, expected a message behind encoding and characters, and behind nothing else", key)
		return
	case ofMessage:
		s.named[file] = line
	}
	var err error
	switch name {
	case "given":
		r.given = line
		if s.Given = strings.Fields(value); len(s.Given) == 0 {
			err = errors.New("found nothing, expected names of states")
		}
	case "rules":
		s.Rules = strings.Fields(value)
		err = r.o.versions(s.Rules)
	default:
		err = s.set(name, file, value)
	}
	if err != nil {
		r.fault(line, "%s: %s", key, err)
	}
}

func (s *Settings) set(name, file, value string) (err error) {
	switch name {
	case "zone":
		if s.Zone, err = time.LoadLocation(value); err != nil {
			s.Zone = time.UTC
			return fmt.Errorf("found %q, expected a zone such as Europe/Berlin", value)
		}
	case "day-cutover":
		if s.DayCutover, err = time.ParseDuration(value); err != nil {
			return fmt.Errorf("found %q, expected a duration such as 4h", value)
		}
	case "code-share":
		s.CodeShare, err = value, oneOf(value, decision.KeyMaster, decision.KeyOwn)
	case "absent-optional":
		s.AbsentOptional, err = value, oneOf(value, rulebook.Keep, rulebook.Clear)
	case "identity-with-day":
		s.IdentityWithDay, err = value == "true", oneOf(value, "true", "false")
	case "ignore":
		s.Ignore = strings.Fields(value)
	case "show":
		s.Payloads, err = true, oneOf(value, "payloads")
	case "encoding":
		s.encodings[file] = value
		err = oneOf(value, "GBK", "GB18030", "UTF-16", "UTF-8-BOM")
	case "characters":
		s.characters[file] = true
	}
	return err
}

func oneOf(value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return fmt.Errorf("found %q, expected one of %s%s", value, strings.Join(values, ", "), nearest.Hint(value, values))
}

// scriptAt is a script at a version.
var scriptAt = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*@[1-9][0-9]*$`)

// versions holds bound scripts to those that the rule set has.
func (o *Options) versions(names []string) error {
	if len(names) == 0 {
		return errors.New("found nothing, expected scripts at versions, such as flop-gtdt@1")
	}
	known := o.scripts()
	var faults []string
	for _, name := range names {
		switch {
		case !scriptAt.MatchString(name):
			faults = append(faults, fmt.Sprintf("found %q, expected a script at a version, such as flop-gtdt@1", name))
		case o.Rules != nil && !slices.Contains(known, name):
			faults = append(faults, fmt.Sprintf("the rule set has no %s%s", name, nearest.Hint(name, known)))
		}
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// scripts are the scripts at their versions that lie in the rule set, whether the
// manifest picks them or not.
func (o *Options) scripts() []string {
	if o.Rules == nil {
		return nil
	}
	files, err := fs.Glob(o.Rules, "rules/*@*.lua")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".lua")
	}
	return files
}

// body is a message as it would stand in the mailbox. The case itself is
// UTF-8; a message in another encoding is encoded here.
func (s *Settings) body(f txtar.File) (message.Raw, error) {
	raw := message.Raw{Body: f.Data, Characters: s.characters[f.Name]}
	var err error
	switch s.encodings[f.Name] {
	case "GBK":
		raw.Body, err = simplifiedchinese.GBK.NewEncoder().Bytes(f.Data)
	case "GB18030":
		raw.Body, err = simplifiedchinese.GB18030.NewEncoder().Bytes(f.Data)
	case "UTF-16":
		raw.Body, err = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes(f.Data)
	case "UTF-8-BOM":
		raw.Body = append([]byte("\xef\xbb\xbf"), f.Data...)
	}
	if err != nil {
		return raw, fmt.Errorf("%s: cannot be written in %s: %w", f.Name, s.encodings[f.Name], err)
	}
	return raw, nil
}

func (s *Settings) zone() *time.Location {
	if s.Zone != nil {
		return s.Zone
	}
	zone, err := time.LoadLocation(defaultZone)
	if err != nil {
		panic(err) // the zones are in the binary
	}
	return zone
}

// lines are the settings as a comment has them; defaults are left out, and so are
// shared states, because a draft has its state whole.
func (s *Settings) lines() []string {
	var out []string
	say := func(is bool, format string, args ...any) {
		if is {
			out = append(out, strings.TrimSpace(fmt.Sprintf(format, args...)))
		}
	}
	say(s.Zone != nil && s.Zone.String() != defaultZone, "!zone: %s", s.Zone)
	say(s.DayCutover != 0, "!day-cutover: %s", s.DayCutover)
	say(s.CodeShare != "" && s.CodeShare != decision.KeyMaster, "!code-share: %s", s.CodeShare)
	say(s.AbsentOptional != "" && s.AbsentOptional != rulebook.Keep, "!absent-optional: %s", s.AbsentOptional)
	say(s.IdentityWithDay, "!identity-with-day: true")
	say(s.Ignore != nil, "!ignore: %s", strings.Join(s.Ignore, " "))
	say(len(s.Rules) > 0, "!rules: %s", strings.Join(s.Rules, " "))
	say(s.Payloads, "!show: payloads")
	return out
}
