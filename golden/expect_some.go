package golden

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/nearest"
)

// partial is an expectation that says some of what has to come of a case.
type partial struct {
	text     string
	sections []section
}

// section is what is said of one message, or of the end.
type section struct {
	step int // of the message; afterwards for the end
	line int // in the file of the case
	row  int // in the text of the expectation, from 0
	head string
	// what the outcome of the message has to be; "" for anything
	state  message.State
	class  message.ErrorClass
	reason string // part of the reason

	statements []statement
}

// afterwards is the step of the section about the end.
const afterwards = -1

const afterwardsName = "afterwards"

// statement is one line below a message, or below afterwards.
type statement struct {
	line, row int
	verb, arg string
	flights   []flight.ID // of unchanged
	words     []string    // of none
}

func (s *statement) String() string { return s.verb + ": " + s.arg }

const (
	verbContains  = "contains"
	verbUnchanged = "unchanged"
	verbNone      = "none"
)

var (
	verbs = []string{verbContains, verbUnchanged, verbNone}
	// noneOf are the words that "none" understands.
	noneOf  = []string{"event", "change", "reference", "request", "note", "warning"}
	states  = []string{string(message.Succeeded), string(message.Skipped), string(message.Failed), string(message.Dead)}
	classes = []string{
		string(message.Malformed), string(message.Protocol), string(message.CodecError), string(message.UnsupportedErr),
		string(message.RuleError), string(message.Infra), string(message.Exhausted),
	}
)

// outcome is how a section says what has to become of its message.
var outcome = regexp.MustCompile(`^([A-Za-z]+)(?:\(([^)]*)\))?(?:\s+(.*))?$`)

// statements parses expect-some; line is that of its first line in the case.
func (r *reader) statements(text string, line int) *partial {
	p := &partial{text: text}
	row := -1
	for raw := range strings.Lines(text) {
		row++
		said := strings.TrimSpace(raw)
		indented := strings.HasPrefix(raw, " ") || strings.HasPrefix(raw, "\t")
		switch {
		case said == "" || strings.HasPrefix(said, "#"):
		case !indented:
			p.sections = append(p.sections, r.section(p, said, line+row, row))
		case len(p.sections) == 0:
			r.fault(line+row, "found %q below no message, expected a message such as %s: or %s: before it", said, r.anyMessage(), afterwardsName)
		default:
			in := &p.sections[len(p.sections)-1]
			in.statements = append(in.statements, r.statement(said, line+row, row))
		}
	}
	if len(p.sections) == 0 {
		r.fault(line-1, "found no statement, expected a message such as %s: or %s: with what has to come of it", r.anyMessage(), afterwardsName)
	}
	for _, s := range p.sections {
		if s.state == "" && len(s.statements) == 0 && !slices.ContainsFunc(r.faults, func(f Fault) bool { return f.Line == s.line }) {
			r.fault(s.line, "%s: holds whatever comes, expected an outcome behind it, or statements below it", s.head)
		}
	}
	return p
}

// names tells whether a flight is in the state before, or its number anywhere in a message:
// of another one, which is a slip of the pen, unchanged holds whatever a rule does.
func (r *reader) names(id flight.ID) bool {
	_, there := r.c.before.Flights[id]
	_, once := r.c.before.LastVersions[id]
	if there || once {
		return true
	}
	number := regexp.MustCompile(`(?:^|\D)0*` + id.String() + `(?:\D|$)`) // not a part of a longer one, such as a time
	return slices.ContainsFunc(r.c.archive.Files, func(f txtar.File) bool {
		return f.Name != expectFile && f.Name != expectSomeFile && number.Match(f.Data)
	})
}

func (r *reader) anyMessage() string {
	if len(r.c.steps) == 0 {
		return "01-name.xml"
	}
	return r.c.steps[0].name
}

// section parses the line that begins one: "01-sets.xml: SUCCEEDED", "afterwards:".
func (r *reader) section(p *partial, said string, line, row int) section {
	name, rest, colon := strings.Cut(said, ":")
	s := section{step: afterwards, line: line, row: row, head: name}
	if !colon {
		r.fault(line, "found %q, expected a message and a colon, or %s:", said, afterwardsName)
		return s
	}
	rest = strings.TrimSpace(rest)
	if slices.ContainsFunc(p.sections, func(other section) bool { return other.head == name }) {
		r.fault(line, "%s stands twice", name)
	}
	if name == afterwardsName {
		if rest != "" {
			r.fault(line, "found %q behind %s:, expected its statements on lines of their own, indented", rest, name)
		}
		return s
	}
	step, ok := r.c.step(name)
	if !ok {
		known := []string{afterwardsName}
		for _, step := range r.c.steps {
			known = append(known, step.name)
		}
		r.fault(line, "%q is no message of the case%s", name, nearest.Hint(name, known))
		return s
	}
	s.step = step
	if rest != "" {
		r.outcome(&s, rest)
	}
	return s
}

func (r *reader) outcome(s *section, text string) {
	m := outcome.FindStringSubmatch(text)
	if m == nil {
		r.fault(s.line, "found %q, expected an outcome such as SUCCEEDED or DEAD(PROTOCOL)", text)
		return
	}
	if err := oneOf(m[1], states...); err != nil {
		r.fault(s.line, "outcome: %s", err)
	}
	if strings.Contains(text, "(") && m[2] != "" {
		if err := oneOf(m[2], classes...); err != nil {
			r.fault(s.line, "class: %s", err)
		}
	}
	s.state, s.class, s.reason = message.State(m[1]), message.ErrorClass(m[2]), m[3]
}

func (r *reader) statement(said string, line, row int) statement {
	verb, arg, colon := strings.Cut(said, ":")
	s := statement{line: line, row: row, verb: verb, arg: strings.TrimSpace(arg)}
	switch {
	case !colon || !slices.Contains(verbs, verb):
		hint := nearest.Hint(verb, verbs)
		if hint == "" {
			hint = fmt.Sprintf(", expected one of %s:", strings.Join(verbs, ":, "))
		}
		r.fault(line, "found %q%s", said, hint)
	case s.arg == "":
		r.fault(line, "found %s: with nothing behind it", verb)
	case verb == verbUnchanged:
		for _, text := range strings.Fields(s.arg) {
			id, err := flight.ParseID(text)
			if err != nil {
				r.fault(line, "unchanged: found %q, expected flights, such as 1000345", text)
				continue
			}
			if !r.names(id) {
				r.fault(line, "unchanged: flight %s is neither in the state nor in a message, expected one that something could happen to", text)
			}
			s.flights = append(s.flights, id)
		}
	case verb == verbNone:
		s.words = strings.Fields(s.arg)
		for _, word := range s.words {
			if err := oneOf(word, noneOf...); err != nil {
				r.fault(line, "none: %s", err)
			}
		}
	}
	return s
}
