package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/engine/rulebook"
)

func rulesCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Look at the rule set",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		rulesListCommand(g),
		rulesDiffCommand(g),
		rulesBenchCommand(g),
		rulesNewCommand(g),
		rulesTestCommand(g),
		rulesMutateCommand(g),
		rulesPlayCommand(g),
		rulesLintCommand(g),
		rulesExplainCommand(g),
		rulesHistoryCommand(g),
		rulesActivateCommand(g),
		rulesRollbackCommand(g),
		rulesExportCommand(g),
		rulesShadowCommand(g),
	)
	return cmd
}

// listedScript is a line of `rules list --json`.
type listedScript struct {
	Kind    string   `json:"kind"`
	Script  string   `json:"script"`
	Version int      `json:"version"`
	Writes  []string `json:"writes"`
	Reads   []string `json:"reads"`
	File    string   `json:"file"`
}

func rulesListCommand(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List which script at which version handles each message kind",
		Long: `List, for each message kind, the script that handles it, its version, and its footprint: the
fields that it may change. The hash identifies the rule set as a whole; every processed
message records it.

The rule set in the binary is listed, or that of msgx.rules.dir.`,
		Example: "  msgx rules list\n  msgx rules list --set rules.dir=./candidate --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.config()
			if err != nil {
				return err
			}
			cat, err := core.LoadCatalogue(c)
			if err != nil {
				return err
			}
			book, err := core.LoadRules(c, cat)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"ruleset": book.Hash(), "scripts": listScripts(book)})
			}
			out := cmd.OutOrStdout()
			w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "KIND\tSCRIPT\tVERSION\tMAY CHANGE\tREADS")
			for _, s := range book.Scripts() {
				reads := strings.Join(s.Reads, " ")
				if reads == "" {
					reads = "-"
				}
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", s.Kind, s.Name, s.Version, s.Footprint(), reads)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "\nrule set %s (%s)\n", book.Hash(), core.RulesFrom(c))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func listScripts(book *rulebook.Rulebook) []listedScript {
	listed := []listedScript{}
	for _, s := range book.Scripts() {
		listed = append(listed, listedScript{
			Kind: s.Kind, Script: s.Name, Version: s.Version, File: s.File,
			Writes: append([]string{}, s.Writes...), Reads: append([]string{}, s.Reads...),
		})
	}
	return listed
}
