package golden

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"msgx/engine/rulebook"
	"msgx/engine/verdict"
)

// Verdict is what a case comes to.
type Verdict string

// The verdicts. A case that cannot be read or run, or whose runs disagree, is an error: it
// says nothing about the rules.
const (
	Pass  Verdict = "PASS"
	Fail  Verdict = "FAIL"
	Error Verdict = "ERROR"
)

// Report is what became of the selected cases.
type Report struct {
	Cases                  []CaseReport // in the order of their names
	Passed, Failed, Errors int
}

// CaseReport is what became of one case.
type CaseReport struct {
	Name    string
	File    string // where the case is, for people
	Verdict Verdict
	Text    string // of a failure what differs, of an error what is wrong; in print
	Again   string // the command that runs this case alone
}

// OK tells whether all is as expected.
func (r *Report) OK() bool { return r.Failed == 0 && r.Errors == 0 }

// String is the summary: how many came to what.
func (r *Report) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d errors", r.Passed, r.Failed, r.Errors)
}

// Run runs the selected cases. Each is asked twice in the order of the names and once in the
// reverse order, on one rule set that all cases with the same settings share, and once on a
// rule set loaded for it alone; all have to agree byte for byte. An error means that nothing
// could be run, and a selection of nothing is one; what the cases come to is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	return run(ctx, o, newLibrary(o.rules))
}

// library gives the rule sets of a run.
type library interface {
	// shared is the same rule set for the same settings.
	shared(s rulebook.Settings) (verdict.Rules, error)
	// fresh is a rule set that nobody has asked anything. It is called by several goroutines.
	fresh(s rulebook.Settings) (verdict.Rules, error)
}

// running is a case on its way.
type running struct {
	name string
	file string
	c    *Case
	err  error
	told string // what came out first, with payloads
	got  *Outcome
}

func run(ctx context.Context, o Options, lib library) (*Report, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	all := make([]*running, len(names))
	for i, name := range names {
		all[i] = &running{name: name, file: o.place(fileOf(name))}
		all[i].c, all[i].err = o.read(name)
	}
	for _, r := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.ask(&o, "the first run", lib.shared)
		r.ask(&o, "the same again", lib.shared)
	}
	for _, r := range slices.Backward(all) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.ask(&o, "the run in reverse order", lib.shared)
	}
	side, ctx := errgroup.WithContext(ctx)
	side.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range all {
		side.Go(func() error {
			r.ask(&o, "the run on a fresh rule set", lib.fresh)
			return ctx.Err()
		})
	}
	if err := side.Wait(); err != nil {
		return nil, err
	}
	report := &Report{}
	for _, r := range all {
		report.add(r.report(&o))
	}
	return report, nil
}

// ask runs the case once more and holds what comes out to what came out first.
func (r *running) ask(o *Options, which string, rules func(rulebook.Settings) (verdict.Rules, error)) {
	if r.err != nil {
		return
	}
	book, err := rules(r.c.RuleSettings())
	if err != nil {
		r.err = err
		return
	}
	got, err := r.c.replay(o.Catalogue, book, nil)
	if err != nil {
		r.err = err
		return
	}
	told := r.c.tell(o.Catalogue, got, true)
	if r.got == nil {
		r.got, r.told = got, told
		return
	}
	if told != r.told {
		r.err = fmt.Errorf("%s disagrees with the first (- first, + %s)\n%s", which, which, difference(r.told, told))
	}
}

func (r *running) report(o *Options) CaseReport {
	cr := CaseReport{Name: r.name, File: r.file, Verdict: Pass, Again: cmp.Or(o.Command, "msgx golden run") + " " + r.name}
	if r.err != nil {
		cr.Verdict, cr.Text = Error, r.err.Error()
		return cr
	}
	if wrong := r.c.Mismatch(o.Catalogue, r.got); wrong != "" {
		cr.Verdict, cr.Text = Fail, wrong
	}
	return cr
}

func (r *Report) add(c CaseReport) {
	r.Cases = append(r.Cases, c)
	switch c.Verdict {
	case Pass:
		r.Passed++
	case Fail:
		r.Failed++
	default:
		r.Errors++
	}
}

// loaded is the library of a run: rule sets from one loader.
type loaded struct {
	load func(rulebook.Settings) (*rulebook.Rulebook, error)
	kept map[rulebook.Settings]*rulebook.Rulebook
	errs map[rulebook.Settings]error
}

func newLibrary(load func(rulebook.Settings) (*rulebook.Rulebook, error)) *loaded {
	return &loaded{load: load, kept: map[rulebook.Settings]*rulebook.Rulebook{}, errs: map[rulebook.Settings]error{}}
}

func (l *loaded) shared(s rulebook.Settings) (verdict.Rules, error) {
	book, err := l.book(s)
	if err != nil {
		return nil, err
	}
	return book, nil
}

func (l *loaded) book(s rulebook.Settings) (*rulebook.Rulebook, error) {
	if err := l.errs[s]; err != nil {
		return nil, err
	}
	if l.kept[s] == nil {
		l.kept[s], l.errs[s] = l.load(s)
	}
	return l.kept[s], l.errs[s]
}

func (l *loaded) fresh(s rulebook.Settings) (verdict.Rules, error) {
	book, err := l.load(s)
	if err != nil {
		return nil, err
	}
	return book, nil
}
