package mutate

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"msgx/engine/rulebook/coverage"
)

// Status is what became of a mutant.
type Status string

// The statuses; the package comment says what they mean.
const (
	Killed     Status = "killed"
	Timeout    Status = "timeout"
	Invalid    Status = "invalid"
	Equivalent Status = "equivalent"
	Survived   Status = "survived"
)

// Result is what became of one mutant.
type Result struct {
	Mutant
	Status  Status `json:"status"`
	By      string `json:"by,omitempty"`      // the case that killed it
	Cases   int    `json:"cases"`             // how many were tried
	Nearest string `json:"nearest,omitempty"` // of a survivor, the case that is most about its line
	Why     string `json:"why,omitempty"`     // of an equivalent one; of an invalid one what the host says
	Diff    string `json:"diff,omitempty"`    // of a survivor
}

// Try runs a case on a mutated rule set: whether it still comes out as expected, and if not,
// whether a budget was used up. An error means that the host refuses the rule set.
type Try func(name string) (passes, outOfBudget bool, err error)

// Suite is a corpus that passes on the rules as they are.
type Suite struct {
	Rules    fs.FS
	Coverage *coverage.Report
	// Load makes a mutated rule set ready. It is called by several goroutines, a Try by one.
	Load func(rules fs.FS) (Try, error)
}

// RunOptions say how Run does its work.
type RunOptions struct {
	Workers  int                   // at least 1
	Progress func(done, total int) // may be nil; called by one goroutine at a time
}

// Run tries all mutants, several at a time, and gives the results in their order. The error is that of the
// context, or of a source that cannot be read.
func Run(ctx context.Context, s Suite, mutants []Mutant, o RunOptions) ([]Result, error) {
	near := neighbours(s.Coverage)
	results := make([]Result, len(mutants))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(o.Workers, 1))
	var (
		lock sync.Mutex
		done int
	)
	for i, m := range mutants {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			source, err := fs.ReadFile(s.Rules, m.File)
			if err != nil {
				return err
			}
			results[i] = s.one(m, string(source), near.cases(m))
			lock.Lock()
			defer lock.Unlock()
			if done++; o.Progress != nil {
				o.Progress(done, len(mutants))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return results, nil
}

// one tries a mutant on cases until one kills it.
func (s Suite) one(m Mutant, source string, cases []string) Result {
	r := Result{Mutant: m, Status: Survived}
	try, err := s.Load(edited{s.Rules, m.File, m.Apply(source)})
	for _, name := range cases {
		if err != nil {
			break
		}
		var passes, outOfBudget bool
		r.Cases++
		passes, outOfBudget, err = try(name)
		switch {
		case err != nil || passes:
			continue
		case outOfBudget:
			r.Status = Timeout
		default:
			r.Status = Killed
		}
		r.By = name
		return r
	}
	if err != nil {
		r.Status, r.Why = Invalid, err.Error()
		return r
	}
	r.Diff = m.Diff(source)
	if len(cases) > 0 {
		r.Nearest = cases[0]
	}
	return r
}

// edited is a rule set with one other file.
type edited struct {
	fs.FS
	name, source string
}

// Open gives the other source in the place of the file.
func (e edited) Open(name string) (fs.File, error) {
	f, err := e.FS.Open(name)
	if err != nil || name != e.name {
		return f, err
	}
	return &otherText{File: f, text: strings.NewReader(e.source)}, nil
}

// otherText is a file that reads as another text.
type otherText struct {
	fs.File
	text io.Reader
}

func (o *otherText) Read(b []byte) (int, error) { return o.text.Read(b) }

// nearness knows which cases run which lines.
type nearness struct {
	lines map[string]map[int][]string
	files map[string][]string
	size  map[string]int // how many lines a case runs
}

func neighbours(r *coverage.Report) *nearness {
	n := &nearness{lines: map[string]map[int][]string{}, files: map[string][]string{}, size: map[string]int{}}
	for _, f := range r.Files {
		n.lines[f.Name] = map[int][]string{}
		for _, l := range f.Hits {
			n.lines[f.Name][l.Number] = l.Cases
			n.files[f.Name] = append(n.files[f.Name], l.Cases...)
			for _, c := range l.Cases {
				n.size[c]++
			}
		}
	}
	return n
}

// cases lists those that run the statement of a mutant; those that run the least else first, since they
// are most about it. Of a statement that has no line of its own it is those that run the file.
func (n *nearness) cases(m Mutant) []string {
	var out []string
	known := false
	for line := m.lines[0]; line <= m.lines[1]; line++ {
		if cases, ok := n.lines[m.File][line]; ok {
			out, known = append(out, cases...), true
		}
	}
	if !known {
		out = append(out, n.files[m.File]...)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(n.size[a], n.size[b]), strings.Compare(a, b)) })
	return slices.Compact(out)
}
