package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/golden"
)

func goldenCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "golden",
		Short: "Run and write the corpus of expected decisions",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(goldenRunCommand(g), goldenUpdateCommand(g), goldenNewCommand(g), goldenCoverageCommand(g), goldenRecordCommand(g))
	return cmd
}

// corpus is which cases of which directory a command is about.
type corpus struct {
	pattern, dir string
}

// flags declares those that select cases.
func (s *corpus) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.pattern, "run", "r", "", "regular expression on the names of cases")
	cmd.Flags().StringVar(&s.dir, "dir", "", "golden directory to read cases from; msgx.rules.golden when left out, or those in the binary")
}

// options put together what runs cases, as the configuration wants it: the rule set
// and the budgets of production.
func (s *corpus) options(cmd *cobra.Command, g *globals, names []string) (golden.Options, error) {
	if _, err := regexp.Compile(s.pattern); err != nil {
		return golden.Options{}, usagef("--run: %w", err)
	}
	if s.dir != "" {
		if _, err := os.ReadDir(s.dir); err != nil {
			return golden.Options{}, usagef("--dir: %w", err)
		}
	}
	c, err := g.config()
	if err != nil {
		return golden.Options{}, err
	}
	if s.dir == "" && c.Rules.Golden != "" { // the cases that activation runs
		if _, err := os.ReadDir(c.Rules.Golden); err != nil {
			return golden.Options{}, usagef("msgx.rules.golden: %w", err)
		}
		s.dir = c.Rules.Golden
	}
	cat, err := core.LoadCatalogue(c)
	if err != nil {
		return golden.Options{}, err
	}
	return golden.Options{
		Catalogue: cat, Rules: core.RulesFS(c), Limits: core.Limits(c),
		Pattern: s.pattern, Names: names, Dir: s.dir, Command: s.again(cmd, g),
	}, nil
}

// again is the command line that runs a case of the same corpus on the same rule set.
func (s *corpus) again(cmd *cobra.Command, g *globals) string {
	words := []string{cmd.CommandPath()}
	if cmd.Flags().Changed("config") {
		words = append(words, "--config", shellWord(g.file))
	}
	for _, set := range g.set {
		words = append(words, "--set", shellWord(set))
	}
	if s.dir != "" {
		words = append(words, "--dir", shellWord(s.dir))
	}
	return strings.Join(words, " ")
}

var safeWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// shellWord quotes a word where a shell would take it for something else.
func shellWord(word string) string {
	if safeWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
