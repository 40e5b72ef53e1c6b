package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"msgx"
	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/rulebook/diagnostic"
	"msgx/engine/rulebook/lint"
)

func rulesLintCommand(g *globals) *cobra.Command {
	var format, explain string
	cmd := &cobra.Command{
		Use:   "lint [DIR | FILE...]",
		Short: "Find what is wrong with a rule set, all at once",
		Long: `Read a rule set and name everything that is wrong with it, without running a message: files and
manifest, purity, the footprint against what is declared, tags and fields against the catalogue, the
shape of scripts and decisions, and what has no effect. Every finding has a number, a place, the
cause and the fix.

DIR is a rule set: the folder that holds handlers.lua. Of a FILE or folder within one only the
findings of that part are shown; it is judged together with the rest of its rule set. Without
an argument the rule set of msgx.rules.dir is read; without that, the one in the current
folder; without that, the one in the binary.

--format json prints {"files": N, "findings": [...]}; a finding has code, file, line, column, width
(in characters from 1; line and column are 0 for a file as a whole), source (the line), message,
cause, fix and page.

--explain MX301 prints the page of a code. What the loader and a running rule report carries the
same codes, in brackets.

Exits with 1 when something is found.`,
		Example: "  msgx rules lint\n  msgx rules lint ./candidate\n  msgx rules lint rules/flop-gtdt@2.lua --format json\n  msgx rules lint --explain MX301",
		RunE: func(cmd *cobra.Command, args []string) error {
			if explain != "" {
				return explainCode(cmd, explain, args)
			}
			if format != "text" && format != "json" {
				return usagef("--format is %q, expected text or json", format)
			}
			c, err := g.config()
			if err != nil {
				return err
			}
			cat, err := core.LoadCatalogue(c)
			if err != nil {
				return err
			}
			rules, paths, err := lintTarget(c, args)
			if err != nil {
				return err
			}
			report, err := lint.Check(rules, cat, paths...)
			if err != nil {
				return err
			}
			if format == "json" {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = report.Write(cmd.OutOrStdout())
			}
			if err == nil && !report.OK() {
				return errNotWell
			}
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().StringVar(&explain, "explain", "", "print the page of a code, such as MX301")
	return cmd
}

// explainCode prints the page of a code, from the pages that the binary carries.
func explainCode(cmd *cobra.Command, code string, args []string) error {
	if len(args) > 0 {
		return usagef("--explain takes no files, found %s", strings.Join(args, " "))
	}
	page, ok := diagnostic.PageOf(msgx.Diagnostics, diagnostic.Code(strings.ToUpper(code)))
	if !ok {
		var codes []string
		for _, k := range diagnostic.All() {
			codes = append(codes, string(k.Code))
		}
		return usagef("--explain: there is no code %q%s", code, diagnostic.Perhaps(code, codes))
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), page)
	return err
}

// lintTarget finds the rule set that is meant, and the parts of it that are asked for.
func lintTarget(c *config.Config, args []string) (fs.FS, []string, error) {
	if len(args) == 0 {
		if c.Rules.Dir == "" && isRuleSet(".") {
			return os.DirFS("."), nil, nil
		}
		return core.RulesFS(c), nil, nil
	}
	root := ""
	var paths []string
	for _, arg := range args {
		dir, path, err := ruleSetOf(arg)
		if err != nil {
			return nil, nil, err
		}
		if root != "" && dir != root {
			return nil, nil, usagef("%s belongs to the rule set %s, and %s to %s; lint one at a time", args[0], root, arg, dir)
		}
		root = dir
		paths = append(paths, path)
	}
	return os.DirFS(root), paths, nil
}

func isRuleSet(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, manifest))
	return err == nil
}

// ruleSetOf walks up from a file or folder to the folder that holds handlers.lua.
func ruleSetOf(arg string) (root, path string, err error) {
	abs, err := filepath.Abs(arg)
	if err != nil {
		return "", "", fmt.Errorf("lint %s: %w", arg, err)
	}
	if _, err := os.Stat(abs); errors.Is(err, fs.ErrNotExist) {
		return "", "", usagef("%s: there is no such file or folder", arg)
	} else if err != nil {
		return "", "", fmt.Errorf("lint: %w", err)
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		if isRuleSet(dir) {
			path, err := filepath.Rel(dir, abs)
			return dir, filepath.ToSlash(path), err
		}
		if dir == filepath.Dir(dir) {
			return "", "", usagef("%s is not part of a rule set: neither it nor a folder above it holds %s", arg, manifest)
		}
	}
}
