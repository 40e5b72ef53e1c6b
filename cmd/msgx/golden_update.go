package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"msgx/golden"
)

func goldenUpdateCommand(g *globals) *cobra.Command {
	var (
		dir string
		yes bool
	)
	cmd := &cobra.Command{
		Use:   "update CASE",
		Short: "Write what came of one case into it, after showing the difference",
		Long: `Write what came of one case into it as what has to come of it, after showing the difference. It
asks first; where there is no terminal to ask on, --yes is needed. There is no update of several
cases at once: what a case says is a promise, and each is to be read before it is changed.

Of an expectation that says only some of what has to come (expect-some), lines are changed whose
place in the outcome is plain: a field with another value, another outcome. Where nothing
tells what a line would have to be, nothing is written.

Exits with 0 when the case is written or passes as it is, and with 1 when it stays as it was.`,
		Example: "  msgx golden update flop-gtdt --dir ./golden\n  msgx golden update flop-gtdt --dir ./golden --set rules.dir=./candidate --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir == "" {
				return usageError{errors.New("--dir is not given: the golden directory with the case; those in the binary cannot be written")}
			}
			o, err := (&corpus{dir: dir}).options(cmd, g, args)
			if err != nil {
				return err
			}
			r, err := golden.Revise(cmd.Context(), o, args[0])
			if err != nil {
				return err
			}
			file := filepath.Join(dir, filepath.FromSlash(r.File))
			out := cmd.OutOrStdout()
			if r.Difference == "" {
				_, err := fmt.Fprintf(out, "%s passes as it is\n", file)
				return err
			}
			fmt.Fprintf(out, "%s (- expected so far, + came)\n%s", file, r.Difference)
			if !yes {
				if !isTerminal(cmd.InOrStdin()) {
					return usagef("there is no terminal to ask on: give --yes to write %s", file)
				}
				if !agreed(cmd.Context(), cmd.InOrStdin(), out, "write it? [y/N] ") {
					fmt.Fprintln(out, "nothing is written")
					return errNotWell
				}
			}
			if err := replaceFile(file, r.Was, r.Text); err != nil {
				return fmt.Errorf("update: %w", err)
			}
			_, err = fmt.Fprintf(out, "wrote %s\n", file)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "golden directory with the case")
	cmd.Flags().BoolVar(&yes, "yes", false, "write without asking")
	return cmd
}

// isTerminal tells whether somebody may answer there.
func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// agreed asks, and takes anything but a yes for a no, the end of ctx too.
func agreed(ctx context.Context, in io.Reader, out io.Writer, question string) bool {
	fmt.Fprint(out, question)
	said := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(in).ReadString('\n') // an end without an answer is a no
		said <- answer
	}()
	var answer string
	select {
	case answer = <-said:
	case <-ctx.Done(): // no signal ends the read, which is left alone
		fmt.Fprintln(out)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}
