package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func headRetryCommand(g *globals) *cobra.Command {
	var o order
	cmd := &cobra.Command{
		Use:   "retry",
		Short: "Try the head of the line now, whatever its back-off",
		Long: `Make the message at the head of the line due now, when it has failed and waits for its next try. Its
failures stay counted: the last one allowed kills it. dead replay --id gives it fresh attempts instead.

Exits with 1 when the head does not wait for a try.`,
		Example: "  msgx head retry --dry-run\n  msgx head retry --reason \"catalogue mended\"",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			w, err := g.workbench(cmd)
			if err != nil {
				return err
			}
			defer w.Close()
			l, err := w.line(cmd)
			if err != nil {
				return err
			}
			l.print(cmd.OutOrStdout(), w)
			if l.Head == nil {
				return errNotWell
			}
			return w.retryHead(cmd, l, o)
		},
	}
	o.flags(cmd, "tried")
	return cmd
}

func (w *workbench) retryHead(cmd *cobra.Command, l *line, o order) error {
	out := cmd.OutOrStdout()
	if o.dryRun {
		if l.Head.NextAttemptAt.IsZero() {
			fmt.Fprintf(out, "message %d waits for no try\n", l.Head.MsgID)
			return errNotWell
		}
		fmt.Fprintf(out, "message %d would be due now\n", l.Head.MsgID)
		return nil
	}
	done, left, err := w.RetryNow(cmd.Context(), l.Head.MsgID, o.message())
	if err != nil {
		return err
	}
	printLeft(out, left)
	if len(done) == 0 {
		return errNotWell
	}
	fmt.Fprintf(out, "message %d is due now\n", l.Head.MsgID)
	return nil
}
