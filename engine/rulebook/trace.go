package rulebook

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/message"
)

// Trace tells what a decision did on its way.
type Trace struct {
	Instructions int64     // of the plain run, as everywhere
	Lines        []LineHit // by file and line
	Branches     []Branch  // as they were gone, at most 2000
	Cut          int       // how many more there were
	Outcomes     []Outcome // of every point that was met, whole
	Reads        []string  // "flight 1 STND", "record 2 GTDT", "message meta styp", "reference SLST S209"
	Writes       []string  // "flight 1 STND", "reference SLST S209"
	// Values is what was found where Reads says, in print; tables are shortened.
	Values map[string]string
}

// LineHit is how often a line ran.
type LineHit struct {
	File  string
	Line  int
	Count int
}

// Branch is one evaluation of a point: Taken is whether the condition held, the loop had
// a round. Of "and" and "or" the text is the side that was evaluated.
type Branch struct {
	Point
	Taken    bool
	Operands []string // "#drafts = 2"
}

// Outcome is how often a point went which way. A function only ever has True.
type Outcome struct {
	Point
	True, False int
}

// tracer runs beside a plain rule set: the decision and its cost come from the plain one, what
// happened on the way from an instrumented twin that is asked the same.
type tracer struct {
	twin   *Rulebook
	rec    *recorder
	limits Limits
	last   *Trace
	tell   func(kind string, t *Trace)    // told after each Decide; see Watch
	same   func(decision.Decision, error) // told what the twin decides; for tests
}

// LoadTraced is Load for whoever wants to know what happens: the rule set it gives
// decides as the plain one does, in two to three times the time, and keeps a Trace.
func LoadTraced(fsys fs.FS, cat *catalogue.Catalogue, s Settings, limits Limits) (*Rulebook, error) {
	b, err := Load(fsys, cat, s, limits)
	if err != nil {
		return nil, err
	}
	l := newLoader(fsys, cat)
	l.probes = &probes{}
	rec := newRecorder(l.probes)
	twin, err := l.load(s, limits, rec)
	if err != nil {
		return nil, err
	}
	b.tracer = &tracer{twin: twin, rec: rec, limits: twin.limits}
	return b, nil
}

// roomy is how much more of each limit the twin has when the plain run was within
// all of them: what it reports costs something too.
const roomy = 16

func (t *tracer) follow(msg *message.Message, view decision.View, d decision.Decision, err error, spent int64) {
	t.twin.limits = t.limits
	t.twin.limits.CallDepth += 2
	if err == nil {
		t.twin.limits.Instructions *= roomy
		t.twin.limits.InstructionsPerRecord *= roomy
	}
	t.rec.begin()
	got, twinErr := t.twin.Decide(msg, view)
	if t.same != nil {
		t.same(got, twinErr)
	}
	t.last = t.rec.trace(t.rec.now)
	t.last.Instructions = spent
	t.last.Writes = written(d)
	if t.tell != nil {
		t.tell(msg.Kind, t.last)
	}
}

// written lists what a decision says of flights and references.
func written(d decision.Decision) []string {
	var out []string
	for _, c := range d.Changes {
		flight := "flight " + c.FLID.String()
		if c.Op != decision.Update {
			out = append(out, flight+" "+string(c.Op))
		}
		tags := slices.Concat(slices.Collect(maps.Keys(c.Set)), c.Clear, slices.Collect(maps.Keys(c.Lists)))
		slices.Sort(tags)
		for _, tag := range tags {
			out = append(out, flight+" "+tag)
		}
	}
	for _, r := range d.Refs {
		out = append(out, "reference "+r.Type+" "+r.Key)
	}
	return out
}

// Trace tells of the last Decide; nil when the rule set was not loaded with
// LoadTraced, and before the first.
func (b *Rulebook) Trace() *Trace {
	if b.tracer == nil {
		return nil
	}
	return b.tracer.last
}

// Loaded tells, by file, what ran when the file was loaded: the lines that make its table,
// and those of libraries that it calls for that.
func (b *Rulebook) Loaded() map[string]*Trace {
	if b.tracer == nil {
		return nil
	}
	out := map[string]*Trace{}
	for name, s := range b.tracer.rec.loaded {
		out[name] = b.tracer.rec.trace(s)
	}
	return out
}

// Executable lists the lines that can run, by the files of the rule set.
func (b *Rulebook) Executable() map[string][]int {
	if b.tracer == nil {
		return nil
	}
	out := map[string][]int{}
	for _, p := range b.tracer.rec.probes.lines {
		if slices.Contains(b.used, p.file) {
			out[p.file] = append(out[p.file], p.line)
		}
	}
	for _, lines := range out {
		slices.Sort(lines)
	}
	return out
}

// Points lists where a run can go one way or another, in the files of the rule set.
func (b *Rulebook) Points() []Point {
	if b.tracer == nil {
		return nil
	}
	var out []Point
	for _, p := range b.tracer.rec.probes.points {
		if slices.Contains(b.used, p.File) {
			out = append(out, p.Point)
		}
	}
	return out
}

// Requires lists the libraries of a file, theirs included, as files.
func (b *Rulebook) Requires(file string) []string {
	var out []string
	var walk func(string)
	walk = func(name string) {
		f := b.files[name]
		if f == nil {
			return
		}
		for _, lib := range f.requires {
			full := libFolder + "/" + lib + ".lua"
			if b.files[full] != nil && !slices.Contains(out, full) {
				out = append(out, full)
				walk(full)
			}
		}
	}
	walk(file)
	slices.Sort(out)
	return out
}

func compareLines(file string, line int, otherFile string, otherLine int) int {
	return cmp.Or(strings.Compare(file, otherFile), cmp.Compare(line, otherLine))
}
