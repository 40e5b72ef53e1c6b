package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/golden"
)

// caseName is what a case may be called: it is a file name, and a word on command lines.
var caseName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func goldenNewCommand(g *globals) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "new KIND [NAME]",
		Short: "Begin a case for a message kind",
		Long: `Begin a case for a message kind: a flight that is there, and a message with every element that the
kind can carry and a plausible value in each. What has to come of it is empty; change the case to
what it is to show, then let ` + "`msgx golden update`" + ` write what comes of it, and read that.

NAME is that of the kind when it is left out. A case that is there already is not touched.`,
		Example: "  msgx golden new FLOP-GTDT --dir ./golden\n  msgx golden new FLOP-GTDT gate-twice --dir ./golden",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := strings.ToUpper(args[0])
			name := strings.ToLower(kind)
			if len(args) == 2 {
				name = args[1]
			}
			if !caseName.MatchString(name) {
				return usagef("name %q: expected words of small letters and digits with - between them", name)
			}
			if dir == "" {
				return usageError{errors.New("--dir is not given: the golden directory to write the case into")}
			}
			c, err := g.config()
			if err != nil {
				return err
			}
			cat, err := core.LoadCatalogue(c)
			if err != nil {
				return err
			}
			text, err := golden.Skeleton(cat, kind)
			if err != nil {
				return usageError{err}
			}
			file := filepath.Join(dir, "cases", name+".txtar")
			if err := writeNew(file, text); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n\nnext: change it to what it is to show, then\n  msgx golden update %s --dir %s\n", file, name, golden.ShellWord(dir))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "golden directory to write the case into")
	return cmd
}

// writeNew writes a file that is not there yet, and its folder when needed.
func writeNew(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return usagef("new: %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usagef("%s is there already; give the case another NAME", file)
	}
	if err != nil {
		return fmt.Errorf("new: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("new: %w", err), os.Remove(file))
	}
	return nil
}
