package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/engine/rulebook"
	"msgx/engine/rulebook/declaration"
	"msgx/golden"
)

// manifest is the file that says which script handles which kind.
const manifest = "handlers.lua"

// newVersion is a script about to be copied to its next version.
type newVersion struct {
	dir, name string
	from, to  int
	used      int // the version that handlers.lua names, which --use replaces
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
again. Nothing uses the new one until handlers.lua names it; --use changes that line too, and those of
the kinds that are decided by the same version as KIND. Kinds on another version of the script stay there.`,
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
			was, changed, err := v.manifest(use)
			if err != nil {
				return err
			}
			if !dryRun {
				if err := v.write(was, changed); err != nil {
					return err
				}
			}
			var kinds []string
			for _, s := range book.Scripts() {
				if s.Name == script.Name && s.Version == script.Version {
					kinds = append(kinds, s.Kind)
				}
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), v.told(dryRun, use, kinds))
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
	v := newVersion{dir: dir, name: script.Name, from: from, used: script.Version}
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

// manifest is handlers.lua as it is, and with the new version in the place of the one in use;
// nil when it stays as it is. A family may be on several versions: only the kinds that are on
// the one that is replaced go over.
func (v newVersion) manifest(use bool) (was, changed []byte, err error) {
	if !use {
		return nil, nil, nil
	}
	was, err = os.ReadFile(filepath.Join(v.dir, manifest))
	if err != nil {
		return nil, nil, fmt.Errorf("handlers: %w", err)
	}
	all := declaration.Mentions(was, v.name)
	old := slices.DeleteFunc(slices.Clone(all), func(m declaration.Mention) bool { return m.Script != v.script(v.used) })
	others := slices.ContainsFunc(all, func(m declaration.Mention) bool { return m.Script != all[0].Script })
	switch {
	case len(all) == 0:
		return nil, nil, fmt.Errorf("%s: found no entry \"%s@…\" to change; name \"%s\" there by hand", manifest, v.name, v.script(v.to))
	case len(old) == 0 && others:
		return nil, nil, fmt.Errorf("%s names %s at several versions, and none is version %d: name \"%s\" there by hand", manifest, v.name, v.used, v.script(v.to))
	case len(old) == 0: // a version that was not in use yet is followed by the next
		old = all
	}
	return was, declaration.Rename(was, old, v.script(v.to)), nil
}

func (v newVersion) script(version int) string { return fmt.Sprintf("%s@%d", v.name, version) }

// write files the version, and then the manifest, when it is changed: both or nothing.
func (v newVersion) write(was, changed []byte) error {
	file := filepath.Join(v.dir, v.file(v.to))
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("new version: %w", err)
	}
	_, err = f.Write(v.source)
	if err = errors.Join(err, f.Close()); err != nil {
		err = fmt.Errorf("new version: %w", err)
	} else if changed != nil {
		if err = replaceFile(filepath.Join(v.dir, manifest), was, changed); err != nil {
			err = fmt.Errorf("handlers: %w", err)
		}
	}
	if err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}

// told says what was done; kinds are those that the version in use decides.
func (v newVersion) told(dryRun, use bool, kinds []string) string {
	var b strings.Builder
	verb := "copied"
	if dryRun {
		verb = "would copy"
	}
	fmt.Fprintf(&b, "%s %s to %s\n", verb, v.file(v.from), v.file(v.to))
	if use {
		fmt.Fprintf(&b, "%s uses %s", manifest, v.script(v.to))
		if len(kinds) > 1 {
			fmt.Fprintf(&b, " for %s", strings.Join(kinds, ", "))
		}
		b.WriteByte('\n')
	} else {
		fmt.Fprintf(&b, "nothing uses it yet: name \"%s@%d\" in %s, or repeat with --use\n", v.name, v.to, filepath.Join(v.dir, manifest))
	}
	cases := ""
	if own := filepath.Join(v.dir, "golden"); isDirectory(filepath.Join(own, "cases")) {
		cases = " --dir " + golden.ShellWord(own) // those that rules export has put beside it
	}
	fmt.Fprintf(&b, "\nnext: change %[1]s, then\n  msgx rules lint %[2]s\n  msgx rules test --set %[4]s%[5]s\n  msgx rules diff %[3]s %[2]s%[5]s\n",
		filepath.Join(v.dir, v.file(v.to)), golden.ShellWord(v.dir), shipped, golden.ShellWord("rules.dir="+v.dir), cases)
	return b.String()
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
