package rehearse

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Fault is one thing that is wrong with a state as it is written.
type Fault struct {
	Layer string // the name of the shared state, "" for the state itself
	Line  int    // from 1
	Text  string // what was found, and what was expected
}

func (f Fault) Error() string {
	if f.Layer == "" {
		return fmt.Sprintf("state: line %d: %s", f.Line, f.Text)
	}
	return fmt.Sprintf("state %s: line %d: %s", f.Layer, f.Line, f.Text)
}

// Faults are all that is wrong with a state, by place. ParseState returns them as its error.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].Error()
	}
	return strings.Join(lines, "\n")
}

// orNil is the error: the faults by place, nil when there are none.
func (f Faults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Line, b.Line))
	})
	return f
}

// FaultsOf takes the faults out of an error of ParseState.
func FaultsOf(err error) (Faults, bool) {
	var f Faults
	ok := errors.As(err, &f)
	return f, ok
}

// yamlPlace is how the YAML reader says where it stopped.
var yamlPlace = regexp.MustCompile(`^yaml: line ([0-9]+): `)

func yamlFault(layer string, err error) Fault {
	text := err.Error()
	line := 1
	if m := yamlPlace.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			line, text = n, text[len(m[0]):]
		}
	}
	return Fault{Layer: layer, Line: line, Text: "this is not YAML: " + strings.TrimPrefix(text, "yaml: ")}
}
