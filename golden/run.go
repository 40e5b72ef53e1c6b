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
	Passed int          `json:"passed"`
	Failed int          `json:"failed"`
	Errors int          `json:"errors"`
	Cases  []CaseReport `json:"cases"` // in the order of their names
}

// CaseReport is what became of one case.
type CaseReport struct {
	Name    string  `json:"name"`
	File    string  `json:"file"` // where the case is, for people
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text,omitempty"`  // of a failure what differs, of an error what is wrong; in print
	Again   string  `json:"again,omitempty"` // the command that runs this case alone
	Ran     *Ran    `json:"ran,omitempty"`   // of a failure
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
	lib := newLoaded(o.rules)
	return run(ctx, o, sources{lib.shared, lib.fresh})
}

// sources are where a run takes its rule sets from.
type sources struct {
	// shared gives the same rule set for the same settings.
	shared func(rulebook.Settings) (verdict.Rules, error)
	// fresh gives a rule set that nobody has asked anything. Several goroutines call it.
	fresh func(rulebook.Settings) (verdict.Rules, error)
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

func run(ctx context.Context, o Options, from sources) (*Report, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	if _, err := from.shared((&Case{}).RuleSettings()); err != nil {
		return nil, err // no case could be run
	}
	all := make([]*running, len(names))
	for i, name := range names {
		all[i] = &running{name: name, file: o.place(fileOf(name))}
		all[i].c, all[i].err = o.read(name)
	}
	if err := askAll(ctx, &o, from, all); err != nil {
		return nil, err
	}
	report := &Report{Cases: []CaseReport{}}
	traced := newLoaded(o.traced)
	for _, r := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		report.add(r.report(&o, traced))
	}
	return report, nil
}

// askAll asks every case as often as it takes to believe the answer.
func askAll(ctx context.Context, o *Options, from sources, all []*running) error {
	for _, r := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.ask(o, "the first run", from.shared)
		r.ask(o, "the second run", from.shared)
	}
	for _, r := range slices.Backward(all) {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.ask(o, "the run in reverse order", from.shared)
	}
	side, ctx := errgroup.WithContext(ctx)
	side.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range all {
		side.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.ask(o, "the run on a fresh rule set", from.fresh)
			return nil
		})
	}
	return side.Wait()
}

// ask runs the case once more and holds what comes out to what came out first.
func (r *running) ask(o *Options, which string, rules func(rulebook.Settings) (verdict.Rules, error)) {
	if r.err != nil {
		return
	}
	book, err := rules(r.c.RuleSettings())
	if err != nil {
		r.err = fmt.Errorf("%s: %w", r.file, err)
		return
	}
	got, err := r.c.replay(o.Catalogue, book, nil)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", r.file, err)
		return
	}
	told := r.c.tell(o.Catalogue, got, true)
	if r.got == nil {
		r.got, r.told = got, told
		return
	}
	if told != r.told {
		r.err = fmt.Errorf("%s disagrees with the first (- first, + this one)\n%s", which, difference(r.told, told))
	}
}

func (r *running) report(o *Options, traced *loaded) CaseReport {
	cr := CaseReport{Name: r.name, File: r.file, Verdict: Pass}
	if r.err == nil {
		cr.Text = r.c.Mismatch(o.Catalogue, r.got)
	}
	if r.err == nil && cr.Text != "" {
		cr.Verdict = Fail
		var book *rulebook.Rulebook
		if book, r.err = traced.book(r.c.RuleSettings()); r.err == nil {
			cr.Ran, r.err = r.c.ran(o.Catalogue, book, r.got)
		}
	}
	if r.err != nil {
		cr.Verdict, cr.Text = Error, r.err.Error()
	}
	if cr.Verdict != Pass {
		cr.Again = o.again(r.name)
	}
	return cr
}

// again is the command line that runs one case alone.
func (o *Options) again(name string) string {
	return cmp.Or(o.Command, "msgx golden run") + " " + caseWord(name)
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

// loaded is rule sets from one loader, kept by their settings.
type loaded struct {
	load func(rulebook.Settings) (*rulebook.Rulebook, error)
	kept map[rulebook.Settings]*rulebook.Rulebook
	errs map[rulebook.Settings]error
}

func newLoaded(load func(rulebook.Settings) (*rulebook.Rulebook, error)) *loaded {
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
