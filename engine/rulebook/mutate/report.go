package mutate

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Report is what became of the mutants of a rule set; as JSON it is what `msgx rules mutate` prints.
type Report struct {
	Ruleset string   `json:"ruleset"` // the hash of the rules as they are
	Score   float64  `json:"score"`   // percent, rounded down to a tenth
	All     Counts   `json:"all"`
	Sorts   []Sort   `json:"operators"`
	Mutants []Result `json:"mutants"`
	Stale   []string `json:"stale"` // what is wrong with the list of equivalent mutants
}

// Counts are mutants by what became of them.
type Counts struct {
	Made       int `json:"made"`
	Killed     int `json:"killed"`
	Timeout    int `json:"timeout"`
	Invalid    int `json:"invalid"`
	Equivalent int `json:"equivalent"`
	Survived   int `json:"survived"`
}

// Sort counts the mutants of one operator.
type Sort struct {
	Operator string `json:"operator"`
	Counts
}

func (c *Counts) add(s Status) {
	c.Made++
	switch s {
	case Killed:
		c.Killed++
	case Timeout:
		c.Timeout++
	case Invalid:
		c.Invalid++
	case Equivalent:
		c.Equivalent++
	case Survived:
		c.Survived++
	}
}

// score is 100 when there was nothing to kill.
func (c Counts) score() float64 {
	caught := c.Killed + c.Timeout
	if caught+c.Survived == 0 {
		return 100
	}
	return float64(caught*1000/(caught+c.Survived)) / 10
}

// NewReport counts results.
func NewReport(ruleset string, results []Result, stale []string) *Report {
	r := &Report{Ruleset: ruleset, Mutants: results, Stale: stale, Sorts: []Sort{}}
	for _, o := range Operators {
		s := Sort{Operator: o.Name}
		for i := range results {
			if results[i].Operator == o.Name {
				s.add(results[i].Status)
				r.All.add(results[i].Status)
			}
		}
		if s.Made > 0 {
			r.Sorts = append(r.Sorts, s)
		}
	}
	r.Score = r.All.score()
	return r
}

// Text prints the report for people: the survivors, then the counts.
func (r *Report) Text(w io.Writer) error {
	for i := range r.Mutants {
		m := &r.Mutants[i]
		if m.Status == Survived {
			fmt.Fprintf(w, "%s: survived: %s\n%s", m.Place(), m.Change(), m.Diff)
			fmt.Fprintf(w, "  %s\n\n", m.tried())
		}
	}
	for _, text := range r.Stale {
		fmt.Fprintf(w, "equivalent mutants: %s\n", text)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "MADE\tKILLED\tTIMEOUT\tINVALID\tEQUIVALENT\tSURVIVED\t  OPERATOR\n")
	row := func(c Counts, name string) {
		fmt.Fprintf(tw, "%d\t%d\t%d\t%d\t%d\t%d\t  %s\n", c.Made, c.Killed, c.Timeout, c.Invalid, c.Equivalent, c.Survived, name)
	}
	for _, s := range r.Sorts {
		row(s.Counts, s.Operator)
	}
	row(r.All, "all")
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "score %.1f%%: %d of %d that could be noticed\n", r.Score, r.All.Killed+r.All.Timeout, r.All.Killed+r.All.Timeout+r.All.Survived)
	return err
}

func (r *Result) tried() string {
	switch r.Cases {
	case 0:
		return "no case runs this line"
	case 1:
		return "the one case that runs it does not notice: " + r.Nearest
	}
	return fmt.Sprintf("none of the %d cases that run it notices; the nearest is %s", r.Cases, r.Nearest)
}
