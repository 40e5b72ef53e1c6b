package play

import (
	"errors"
	"net/http"

	"msgx/engine/rulebook/coverage"
	"msgx/golden"
)

// CorpusQuestion asks what the corpus makes of a file with the given text.
type CorpusQuestion struct {
	File   string `json:"file"`
	Source string `json:"source"`
}

// CorpusAnswer is what the corpus makes of it.
type CorpusAnswer struct {
	Cases    int            `json:"cases"`
	Failing  []FailingCase  `json:"failing"`
	Coverage *coverage.File `json:"coverage"` // of the file; nil when no case can run it
	Faults   []Fault        `json:"faults"`   // why the rule set does not load; then there is nothing else
}

// FailingCase is a case that does not come out as it expects, and how.
type FailingCase struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (s *Server) runCorpus(r *http.Request, q CorpusQuestion) (any, error) {
	done, err := s.take(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	rules, standing, _, err := s.rules.drafted(q.File, q.Source)
	if err != nil {
		return nil, err
	}
	o := golden.Options{Catalogue: s.catalogue, Rules: rules, Limits: s.limits, Dir: s.golden}
	files := []string{q.File}
	if standing == Idle {
		files = nil // it has no coverage, and the corpus runs all the same
	}
	report, err := golden.Cover(r.Context(), o, files...)
	if errors.Is(err, golden.ErrNoSuchScript) {
		report, err = golden.Cover(r.Context(), o) // a library that nothing requires
	}
	if err != nil && r.Context().Err() == nil {
		return &CorpusAnswer{Failing: []FailingCase{}, Faults: faultsOf(err)}, nil
	}
	if err != nil {
		return nil, err
	}
	out := &CorpusAnswer{Cases: len(report.Cases), Failing: []FailingCase{}, Faults: []Fault{}}
	for i := range report.Files {
		if report.Files[i].Name == q.File {
			out.Coverage = &report.Files[i]
		}
	}
	if len(report.Failing) == 0 {
		return out, nil
	}
	o.Names = report.Failing
	run, err := golden.Run(r.Context(), o)
	if err != nil {
		return nil, err
	}
	for _, c := range run.Cases {
		if c.Verdict != golden.Pass {
			out.Failing = append(out.Failing, FailingCase{c.Name, c.Text})
		}
	}
	return out, nil
}
