package golden

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	_ "time/tzdata" // a case means the same on a machine without zone files

	"golang.org/x/tools/txtar"

	"msgx/engine/message"
	"msgx/engine/nearest"
	"msgx/engine/rehearse"
)

const (
	suffix         = ".txtar"
	stateFile      = "state"
	expectFile     = "expect"
	expectSomeFile = "expect-some"
	messageType    = ".xml"
)

// Case is one file of the corpus.
type Case struct {
	Name     string
	Settings Settings
	archive  *txtar.Archive
	before   rehearse.World
	steps    []step
	expect   string   // all that has to come of it
	some     *partial // or some of it
}

// step is one message of a case.
type step struct {
	name string
	raw  message.Raw
}

// step finds a message by its name.
func (c *Case) step(name string) (int, bool) {
	i := slices.IndexFunc(c.steps, func(s step) bool { return s.name == name })
	return i, i >= 0
}

// reader parses a case and collects its faults.
type reader struct {
	o      *Options
	c      *Case
	file   string      // for people
	head   map[int]int // line of the "-- name --" of each file in the archive
	given  int         // line of the setting, 0 for none
	faults Faults
}

func (r *reader) fault(line int, format string, args ...any) {
	r.faults = append(r.faults, Fault{r.file, line, fmt.Sprintf(format, args...)})
}

// parse reads a case. The error is Faults: all that is wrong, each with its place.
func (o *Options) parse(name string, data []byte) (*Case, error) {
	c := &Case{Name: name, archive: txtar.Parse(data)}
	r := &reader{o: o, c: c, file: o.place(fileOf(name)), head: map[int]int{}}
	line := 1 + bytes.Count(c.archive.Comment, []byte("\n"))
	for i, f := range c.archive.Files {
		r.head[i] = line
		line += 1 + bytes.Count(f.Data, []byte("\n"))
	}
	r.comment()
	r.messages()
	r.state()
	r.expectations()
	return c, r.faults.orNil()
}

// messages takes the files that are messages, and names those that nobody knows.
func (r *reader) messages() {
	seen := map[string]bool{}
	before := ""
	for i, f := range r.c.archive.Files {
		if seen[f.Name] {
			r.fault(r.head[i], "the file %s stands twice", f.Name)
		}
		seen[f.Name] = true
		switch {
		case f.Name == stateFile, f.Name == expectFile, f.Name == expectSomeFile:
		case strings.HasSuffix(f.Name, messageType):
			if f.Name < before {
				r.fault(r.head[i], "found message %s after %s, expected the messages in the order of their names", f.Name, before)
			}
			before = f.Name
			raw, err := r.c.Settings.body(f)
			if err != nil {
				r.fault(r.head[i], "%s", err)
			}
			raw.MsgID = int64(len(r.c.steps) + 1)
			r.c.steps = append(r.c.steps, step{name: f.Name, raw: raw})
		default:
			r.fault(r.head[i], "found the file %q, expected %s, %s, %s or a message such as 01-name%s%s", f.Name,
				stateFile, expectFile, expectSomeFile, messageType, nearest.Hint(f.Name, []string{stateFile, expectFile, expectSomeFile}))
		}
	}
	if len(r.c.steps) == 0 {
		r.fault(1, "found no message, expected at least one, in a file named like 01-name%s", messageType)
	}
	r.named()
}

// named holds the settings of single messages to the messages that there are.
func (r *reader) named() {
	var names []string
	for _, s := range r.c.steps {
		names = append(names, s.name)
	}
	for file, line := range r.c.Settings.named {
		if !slices.Contains(names, file) {
			r.fault(line, "the setting names %q, which is no message of the case%s", file, nearest.Hint(file, names))
		}
	}
}

// find is a file of the archive and the line of its first line; false when there is none.
func (r *reader) find(name string) (text []byte, line int, ok bool) {
	i := slices.IndexFunc(r.c.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return nil, 0, false
	}
	return r.c.archive.Files[i].Data, r.head[i] + 1, true
}

// state reads what is there before: the shared states that are named, and over
// them the entries of the case itself.
func (r *reader) state() {
	own, line, _ := r.find(stateFile)
	var shared []rehearse.Layer
	for _, name := range r.c.Settings.Given {
		data, err := fs.ReadFile(r.o.corpus(), sharedState(name))
		if err != nil {
			known := r.o.states()
			hint := nearest.Hint(name, known)
			if hint == "" {
				hint = ", expected one of " + strings.Join(known, ", ")
			}
			r.fault(r.given, "given: found no state %q%s", name, hint)
			continue
		}
		shared = append(shared, rehearse.Layer{Name: name, Data: data})
	}
	world, err := rehearse.ParseState(r.o.Catalogue, r.c.Settings.Zone, own, shared...)
	r.c.before = world
	if err == nil {
		return
	}
	faults, ok := rehearse.FaultsOf(err)
	if !ok {
		r.fault(line, "%s", err)
	}
	for _, f := range faults {
		if f.Layer != "" {
			r.faults = append(r.faults, Fault{r.o.place(sharedState(f.Layer)), f.Line, f.Text})
			continue
		}
		r.fault(line+f.Line-1, "%s", f.Text)
	}
}

// stateFolder is where states lie that cases share.
const stateFolder = "states"

func sharedState(name string) string { return path.Join(stateFolder, name+".yaml") }

// states are the names of the shared states.
func (o *Options) states() []string {
	files, err := fs.Glob(o.corpus(), sharedState("*"))
	if err != nil {
		panic(err) // the pattern is ours
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	return files
}

// expectations reads what has to come of the case: all of it, or some of it.
func (r *reader) expectations() {
	all, _, whole := r.find(expectFile)
	some, line, part := r.find(expectSomeFile)
	switch {
	case whole && part:
		r.fault(line-1, "found %s beside %s, expected one of them: the whole says all that the part could", expectSomeFile, expectFile)
	case part:
		r.c.some = r.statements(string(some), line)
	default:
		r.c.expect = tidy(string(all))
	}
}

// withFile is the text of the case with another content of one of its files.
func (c *Case) withFile(name, text string) []byte {
	a := *c.archive
	a.Files = slices.Clone(a.Files)
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		a.Files, i = append(a.Files, txtar.File{Name: name}), len(a.Files)
	}
	a.Files[i].Data = []byte(text)
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
