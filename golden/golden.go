// Package golden is the corpus, and the walker that runs it: for every kind of
// message, and for every rule that is easily broken, a case that says what was there,
// what came, and what became of it. README.md explains the form of a case.
//
// A case runs through the same codec, rules and verdict as in the daemon, in memory,
// and twice, each time on a rule set loaded anew; the two runs have to agree.
package golden

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"msgx/engine/catalogue"
)

// Corpus holds the cases that the binary carries.
//
//go:embed cases/*.txtar
var Corpus embed.FS

// folder is where the cases are, in the corpus and in a checkout's golden directory.
const folder = "cases"

// Options say what to run and how.
type Options struct {
	Catalogue *catalogue.Catalogue
	Rules     fs.FS     // has handlers.lua and rules/
	Out       io.Writer // a line for each case, and what differs
	Pattern   string    // regular expression on names, "" for all
	// Dir is a golden directory to read cases from (and to write them to when
	// updating); "" means those that the binary carries.
	Dir    string
	Update bool // write what came out into the cases
}

// Report counts what became of the cases.
type Report struct {
	Passed, Failed, Errors, Updated int
}

// OK tells whether all is as expected.
func (r Report) OK() bool { return r.Failed == 0 && r.Errors == 0 }

func (r Report) String() string {
	text := fmt.Sprintf("%d passed, %d failed, %d errors", r.Passed, r.Failed, r.Errors)
	if r.Updated > 0 {
		text += fmt.Sprintf(", %d updated", r.Updated)
	}
	return text
}

// Run runs the cases that match and prints what becomes of each. An error
// means that nothing could be run, and a selection of nothing is one; what the cases
// come to is in the report.
func Run(o Options) (Report, error) {
	var report Report
	if o.Update && o.Dir == "" {
		return report, fmt.Errorf("golden: an update needs the directory of the cases")
	}
	names, err := o.names()
	if err != nil {
		return report, err
	}
	for _, name := range names {
		o.one(name, &report)
	}
	fmt.Fprintln(o.Out, report)
	return report, nil
}

func (o *Options) one(name string, report *Report) {
	c, err := o.read(name)
	var got string
	if err == nil {
		got, err = c.run(o)
	}
	switch {
	case err != nil:
		report.Errors++
		fmt.Fprintf(o.Out, "ERROR %s: %v\n", name, err)
	case got == c.expect:
		report.Passed++
		fmt.Fprintf(o.Out, "PASS  %s\n", name)
	case o.Update:
		if err := os.WriteFile(filepath.Join(o.Dir, folder, name+suffix), c.withExpect(got), 0o644); err != nil {
			report.Errors++
			fmt.Fprintf(o.Out, "ERROR %s: %v\n", name, err)
			return
		}
		report.Updated++
		fmt.Fprintf(o.Out, "WROTE %s\n", name)
	default:
		report.Failed++
		fmt.Fprintf(o.Out, "FAIL  %s (- expected, + got)\n%s      again: msgx golden run --run '^%s$'\n",
			name, indent(difference(c.expect, got)), name)
	}
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
	var names []string
	for _, name := range all {
		if pattern.MatchString(name) {
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

func (o *Options) read(name string) (*Case, error) {
	data, err := fs.ReadFile(o.corpus(), folder+"/"+name+suffix)
	if err != nil {
		return nil, err
	}
	return ParseCase(o.Catalogue, name, data)
}

// Coverage tells which kinds the selected cases cover: kind to the cases in
// which a message of that kind takes effect.
func Coverage(o Options) (map[string][]string, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	covered := map[string][]string{}
	for _, name := range names {
		c, err := o.read(name)
		if err != nil {
			return nil, fmt.Errorf("golden: %s: %w", name, err)
		}
		out, err := c.once(&o)
		if err != nil {
			return nil, fmt.Errorf("golden: %s: %w", name, err)
		}
		for _, r := range out.results {
			s := &r.Settlement
			if len(s.Effects.Advances)+len(s.Effects.Refs) > 0 && !slices.Contains(covered[s.Kind], name) {
				covered[s.Kind] = append(covered[s.Kind], name)
			}
		}
	}
	return covered, nil
}

func indent(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n      ") + "\n"
}
