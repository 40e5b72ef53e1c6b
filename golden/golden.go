// Package golden is the corpus, and the walker that runs it: for every kind of
// message, and for every rule that is easily broken, a case that says what was there,
// what came, and what became of it. README.md explains the form of a case.
//
// A case runs through the same codec, rules and verdict as in the daemon, in memory,
// under the same sandbox and budgets: there is one constructor, rulebook.Load. Run asks
// every case several times, in two orders and on a rule set loaded for it alone, and what
// comes out has to agree byte for byte.
package golden

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"msgx/engine/catalogue"
	"msgx/engine/nearest"
	"msgx/engine/rulebook"
)

// Corpus is the golden directory that the binary carries: the cases, the states they share, and
// the mutants that none of them can tell from the script.
//
//go:embed cases/*.txtar states/*.yaml equivalent.yaml
var Corpus embed.FS

// folder is where the cases are, in the corpus and in a checkout's golden directory.
const folder = "cases"

// Options say what to run and how.
type Options struct {
	Catalogue *catalogue.Catalogue
	Rules     fs.FS           // has handlers.lua and rules/
	Limits    rulebook.Limits // budgets; those of production when left out
	Pattern   string          // regular expression on names, "" for all
	Names     []string        // these cases only, by their whole names; none for all
	// Dir is a golden directory to read cases from; "" means those that the binary carries.
	Dir string
	// Command is how one case of this selection is run, but for its name; for people.
	// "msgx golden run" when left out.
	Command string
}

// Names lists the cases of a corpus, in order.
func Names(corpus fs.FS) ([]string, error) {
	files, err := fs.Glob(corpus, folder+"/*"+suffix)
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, folder+"/"), suffix)
	}
	return files, nil
}

// Load reads the selected cases. An empty selection is an error; so are faults in the
// cases, and all of them are told.
func Load(o Options) ([]*Case, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	var (
		cases  []*Case
		faults []error
	)
	for _, name := range names {
		c, err := o.read(name)
		cases, faults = append(cases, c), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return cases, nil
}

// names selects cases.
func (o *Options) names() ([]string, error) {
	pattern, err := regexp.Compile(o.Pattern)
	if err != nil {
		return nil, fmt.Errorf("golden: pattern: %w", err)
	}
	all, err := Names(o.corpus())
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		if _, err := fs.ReadDir(o.corpus(), folder); err != nil { // a glob tells nothing of it
			return nil, fmt.Errorf("golden: found no cases in %s: %w", o.place(folder), err)
		}
		return nil, fmt.Errorf("golden: found no cases in %s, expected files named like gate-twice%s", o.place(folder), suffix)
	}
	for _, name := range o.Names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("golden: none of %d cases is named %q%s", len(all), name, nearest.Hint(name, all))
		}
	}
	var names []string
	for _, name := range all {
		if pattern.MatchString(name) && (len(o.Names) == 0 || slices.Contains(o.Names, name)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("golden: none of %d cases matches %q", len(all), o.Pattern)
	}
	return names, nil
}

func (o *Options) corpus() fs.FS {
	if o.Dir == "" {
		return Corpus
	}
	return os.DirFS(o.Dir)
}

// place is where a file of the corpus is, for people.
func (o *Options) place(file string) string {
	return filepath.Join(cmp.Or(o.Dir, "golden"), filepath.FromSlash(file))
}

func fileOf(name string) string { return path.Join(folder, name+suffix) }

func (o *Options) read(name string) (*Case, error) {
	data, err := fs.ReadFile(o.corpus(), fileOf(name))
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	c, err := o.parse(name, data)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// rules loads the rule set of the options.
func (o *Options) rules(s rulebook.Settings) (*rulebook.Rulebook, error) {
	if o.Rules == nil {
		return nil, errors.New("golden: no rule set is given")
	}
	return rulebook.Load(o.Rules, o.Catalogue, s, o.Limits)
}

// traced loads the rule set of the options for whoever wants to know what happens.
func (o *Options) traced(s rulebook.Settings) (*rulebook.Rulebook, error) {
	return rulebook.LoadTraced(o.Rules, o.Catalogue, s, o.Limits)
}
