package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
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
	c, err := g.config()
	if err != nil {
		return golden.Options{}, err
	}
	if s.dir, err = casesIn(s.dir, c); err != nil {
		return golden.Options{}, err
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

// casesIn is the golden directory to read cases from: that of --dir, else that of the
// configuration, whose cases activation runs; "" for the corpus in the binary.
func casesIn(dir string, c *config.Config) (string, error) {
	from := "--dir"
	if dir == "" {
		dir, from = c.Rules.Golden, "msgx.rules.golden"
	}
	if dir == "" {
		return "", nil
	}
	if _, err := os.ReadDir(dir); err != nil {
		return "", usagef("%s: %w", from, err)
	}
	return dir, nil
}

// again is the command line that runs a case of the same corpus on the same rule set.
func (s *corpus) again(cmd *cobra.Command, g *globals) string {
	words := []string{"msgx golden run"}
	if cmd.Parent().Name() == "rules" && cmd.Name() == "test" { // the same under its other name
		words = []string{cmd.CommandPath()}
	}
	if cmd.Flags().Changed("config") {
		words = append(words, "--config", golden.ShellWord(g.file))
	}
	for _, set := range g.set {
		words = append(words, "--set", golden.ShellWord(set))
	}
	if s.dir != "" {
		words = append(words, "--dir", golden.ShellWord(s.dir))
	}
	return strings.Join(words, " ")
}
