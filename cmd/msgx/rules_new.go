package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/engine/rulebook"
)

// manifest is the file that says which script handles which kind.
const manifest = "handlers.lua"

// newVersion is a script about to be copied to its next version.
type newVersion struct {
	dir, name string
	from, to  int
	source    []byte
}

func (v newVersion) file(version int) string {
	return filepath.Join("rules", fmt.Sprintf("%s@%d.lua", v.name, version))
}

func rulesNewCommand(g *globals) *cobra.Command {
	var (
		dir    string
		from   int
		use    bool
		dryRun bool
	)
	cmd := &cobra.Command{
		Use:   "new KIND",
		Short: "Begin a new version of the script that handles a kind",
		Long: `Begin a new version of the script that handles a message kind: its file is copied to the next
free version, to be changed there. The old version stays, so that past decisions can be computed
again. Nothing uses the new one until handlers.lua names it; --use changes that line too.`,
		Example: "  msgx rules new FLOP-GTDT --dir ./candidate\n  msgx rules new FLOP-GTDT --dir ./candidate --from 1 --use",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.config()
			if err != nil {
				return err
			}
			if dir == "" {
				dir = c.Rules.Dir
			}
			if dir == "" {
				return usageError{errors.New("no rule set directory: give --dir, or msgx.rules.dir in the configuration")}
			}
			c.Rules.Dir = dir
			cat, err := core.LoadCatalogue(c)
			if err != nil {
				return err
			}
			book, err := core.LoadRules(c, cat)
			if err != nil {
				return err
			}
			script, ok := book.Script(args[0])
			if !ok {
				return usagef("no script handles %s; `msgx rules list` shows those that do", args[0])
			}
			v, err := nextVersion(dir, script, from)
			if err != nil {
				return err
			}
			changed, err := v.manifest(use)
			if err != nil {
				return err
			}
			if !dryRun {
				if err := v.write(changed); err != nil {
					return err
				}
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), v.told(dryRun, use))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "rule set directory; msgx.rules.dir when left out")
	f.IntVar(&from, "from", 0, "version to copy; the one in use when left out")
	f.BoolVar(&use, "use", false, "make handlers.lua use the new version")
	f.BoolVar(&dryRun, "dry-run", false, "say what would be written and write nothing")
	return cmd
}

// nextVersion finds the file to copy and the first version above all that are there.
func nextVersion(dir string, script rulebook.Script, from int) (newVersion, error) {
	v := newVersion{dir: dir, name: script.Name, from: from}
	if v.from == 0 {
		v.from = script.Version
	}
	source, err := os.ReadFile(filepath.Join(dir, v.file(v.from)))
	if err != nil {
		return v, usagef("--from %d: %w", v.from, err)
	}
	v.source = source
	files, err := filepath.Glob(filepath.Join(dir, "rules", v.name+"@*.lua"))
	if err != nil {
		return v, fmt.Errorf("rules of %s: %w", v.name, err)
	}
	for _, f := range files {
		text := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), v.name+"@"), ".lua")
		if n, err := strconv.Atoi(text); err == nil && n >= v.to {
			v.to = n + 1
		}
	}
	return v, nil
}

// manifest is handlers.lua with the new version in the place of the one in use,
// nil when it stays as it is. It refuses to guess where the name stands more
// than the lines of its kinds show.
func (v newVersion) manifest(use bool) ([]byte, error) {
	if !use {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(v.dir, manifest))
	if err != nil {
		return nil, fmt.Errorf("handlers: %w", err)
	}
	named := regexp.MustCompile(`(=\s*")` + regexp.QuoteMeta(v.name) + `@\d+(")`)
	if !named.Match(data) {
		return nil, fmt.Errorf("%s: found no entry = \"%s@…\" to change; name \"%s@%d\" there by hand", manifest, v.name, v.name, v.to)
	}
	return named.ReplaceAll(data, []byte("${1}"+v.name+"@"+strconv.Itoa(v.to)+"${2}")), nil
}

func (v newVersion) write(changed []byte) error {
	f, err := os.OpenFile(filepath.Join(v.dir, v.file(v.to)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("new version: %w", err)
	}
	if _, err = f.Write(v.source); err != nil {
		return errors.Join(fmt.Errorf("new version: %w", err), f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("new version: %w", err)
	}
	if changed == nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(v.dir, manifest), changed, 0o644); err != nil {
		return fmt.Errorf("handlers: %w", err)
	}
	return nil
}

func (v newVersion) told(dryRun, use bool) string {
	var b strings.Builder
	verb := "copied"
	if dryRun {
		verb = "would copy"
	}
	fmt.Fprintf(&b, "%s %s to %s\n", verb, v.file(v.from), v.file(v.to))
	if use {
		fmt.Fprintf(&b, "%s uses %s@%d\n", manifest, v.name, v.to)
	} else {
		fmt.Fprintf(&b, "nothing uses it yet: name \"%s@%d\" in %s, or repeat with --use\n", v.name, v.to, filepath.Join(v.dir, manifest))
	}
	cases := ""
	if own := filepath.Join(v.dir, "golden"); isDirectory(filepath.Join(own, "cases")) {
		cases = " --dir " + own // those that rules export has put beside it
	}
	fmt.Fprintf(&b, "\nnext: change %[1]s, then\n  msgx rules lint %[2]s\n  msgx rules test --set rules.dir=%[2]s%[4]s\n  msgx rules diff %[3]s %[2]s%[4]s\n",
		filepath.Join(v.dir, v.file(v.to)), v.dir, shipped, cases)
	return b.String()
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
