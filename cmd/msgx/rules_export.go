package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"msgx"
	"msgx/golden"
	"msgx/schemas"
)

func rulesExportCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export HASH DIR",
		Short: "Write a rule set that was live into a directory",
		Long: `Write the text of a rule set that was live once, as it is on record, into a directory that
does not exist yet or is empty: to compare it (msgx rules diff), to run a past message through it
(msgx try --set rules.dir=DIR), or to begin a change from it.

"` + shipped + `" as HASH is the rule set in the binary, for which no server is asked. With it come all versions of its
scripts, its golden cases in DIR/golden, and what an editor needs.`,
		Example: "  msgx rules export " + shipped + " ./candidate\n  msgx rules export 3fa2c1 ./before\n  msgx rules diff ./before ./candidate",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == shipped {
				return exportShipped(cmd.OutOrStdout(), args[1])
			}
			if err := isHash(args[0]); err != nil { // before a server is asked
				return err
			}
			db, err := g.onRecord(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			hash, err := db.named(cmd, args[0])
			if err != nil {
				return err
			}
			set, err := db.Ruleset(cmd.Context(), hash)
			if err != nil {
				return err
			}
			if err := writeFiles(args[1], set.Files); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %d files of rule set %s to %s\n", len(set.Files), set.Hash, args[1])
			return err
		},
	}
	return cmd
}

// exportShipped writes the rule set in the binary, its corpus, and the definitions for editors.
func exportShipped(out io.Writer, dir string) error {
	files := map[string][]byte{".luarc.json": msgx.Editor}
	for _, from := range []struct {
		fsys   fs.FS
		folder string // within dir
	}{{msgx.Files, ""}, {golden.Corpus, "golden"}, {schemas.Definitions, "schemas"}} {
		err := fs.WalkDir(from.fsys, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files[path.Join(from.folder, name)], err = fs.ReadFile(from.fsys, name)
			return err
		})
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	if err := writeFiles(dir, files); err != nil {
		return err
	}
	cases, err := golden.Names(golden.Corpus)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "wrote the rule set in the binary to %[1]s, and its %[2]d golden cases to %[3]s\n\nnext:\n  msgx rules test --set %[4]s --dir %[5]s\n",
		dir, len(cases), filepath.Join(dir, "golden"), golden.ShellWord("rules.dir="+dir), golden.ShellWord(filepath.Join(dir, "golden")))
	return err
}

// writeFiles writes files, by their path, into a directory that is not there yet or is empty.
func writeFiles(dir string, files map[string][]byte) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return usageError{err}
	}
	if len(entries) > 0 {
		return usagef("%s is not empty: found %s and %d more, expected a directory to be made", dir, entries[0].Name(), len(entries)-1)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if err := os.WriteFile(full, files[name], 0o644); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return nil
}
