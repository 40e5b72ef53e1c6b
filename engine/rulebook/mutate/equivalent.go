package mutate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Excuse says why no case can tell a mutant from the script.
type Excuse struct {
	File   string `yaml:"file"`
	Line   string `yaml:"line"`   // the text of the line on which the mutant begins, so that it is found when lines move
	Change string `yaml:"change"` // as the report prints it
	Column int    `yaml:"column"` // needed when a line has the same change twice
	Why    string `yaml:"why"`
}

func (e Excuse) String() string {
	return fmt.Sprintf("%s, line %q, change %q", e.File, e.Line, e.Change)
}

// ParseExcuses reads a list of equivalent mutants, in YAML. All its faults are told.
func ParseExcuses(data []byte) ([]Excuse, error) {
	var out []Excuse
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&out); err != nil && !errors.Is(err, io.EOF) { // nothing but comments is an empty list
		return nil, fmt.Errorf("equivalent mutants: %w", err)
	}
	var faults []error
	for i, e := range out {
		if e.File == "" || e.Line == "" || e.Change == "" || strings.TrimSpace(e.Why) == "" {
			faults = append(faults, fmt.Errorf("equivalent mutants: entry %d: expected file, line, change and why", i+1))
		}
	}
	return out, errors.Join(faults...)
}

// Excused marks the survivors that the list explains as equivalent, and gives what is wrong with
// the list: an entry that fits no mutant, one that fits several, and one whose mutant does not survive. Entries
// of files that have not been tried are passed over.
func Excused(rules fs.FS, results []Result, excuses []Excuse, files []string) ([]string, error) {
	lines := map[string][]string{}
	for _, name := range files {
		source, err := fs.ReadFile(rules, name)
		if err != nil {
			return nil, err
		}
		lines[name] = strings.Split(string(source), "\n")
	}
	wrong := []string{}
	for _, e := range excuses {
		if lines[e.File] == nil {
			continue
		}
		var found []*Result
		for i := range results {
			m := &results[i]
			if m.File == e.File && m.Change() == e.Change && (e.Column == 0 || e.Column == m.Column) && strings.TrimSpace(lines[m.File][m.Line-1]) == strings.TrimSpace(e.Line) {
				found = append(found, m)
			}
		}
		switch {
		case len(found) == 0:
			wrong = append(wrong, fmt.Sprintf("%s: no such mutant any more; mend the entry or take it out", e))
		case len(found) > 1:
			wrong = append(wrong, fmt.Sprintf("%s: %d mutants fit (%s, %s); give the column", e, len(found), found[0].Place(), found[1].Place()))
		case found[0].Status != Survived:
			wrong = append(wrong, fmt.Sprintf("%s: not equivalent, it is %s by case %s; take the entry out", e, found[0].Status, found[0].By))
		default:
			found[0].Status, found[0].Why = Equivalent, strings.Join(strings.Fields(e.Why), " ")
		}
	}
	return wrong, nil
}
