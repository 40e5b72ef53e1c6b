package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/engine/message"
)

func backfillCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backfill",
		Short: "Look at the marks that are owed or given up, and settle them",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(backfillListCommand(g), backfillReopenCommand(g), backfillReconcileCommand(g))
	return cmd
}

func backfillListCommand(g *globals) *cobra.Command {
	var (
		owed, overdue, abandoned, all, asJSON bool
		limit                                 int
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the marks that are owed, overdue or given up",
		Long: `List finished messages whose processed mark is not confirmed in the mailbox:

  --owed       all that are owed, as the back-fill takes them: the least tried first (what is listed
               when nothing is said)
  --overdue    those of them that were enqueued longer than R ago (msgx.pipeline.r); each round tries them
  --abandoned  those that were given up: the mailbox has no such row (MISSING_ROW), or their own
               failures have lasted R (TRANSIENT_DEADLINE). With --all, also what was reconciled since

Given up is not confirmed. backfill reopen tries a mark again; backfill reconcile records that
somebody has compared it with the mailbox.

Exits with 1 when there is none.`,
		Example: "  msgx backfill list\n  msgx backfill list --overdue --json\n  msgx backfill list --abandoned",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > mostAtOnce {
				return usagef("--limit %d: expected 1 to %d", limit, mostAtOnce)
			}
			switch {
			case owed && overdue, owed && abandoned, overdue && abandoned:
				return usagef("more than one list asked for, expected one of --owed, --overdue and --abandoned")
			case all && !abandoned:
				return usagef("--all goes with --abandoned")
			}
			c, err := g.config()
			if err != nil {
				return err
			}
			db, err := g.open(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			var found []message.Standing
			switch {
			case abandoned:
				found, err = db.AbandonedMarks(cmd.Context(), all, limit+1)
			case overdue:
				found, err = db.OwedMarks(cmd.Context(), time.Now().Add(-c.Pipeline.R), limit+1)
			default:
				found, err = db.OwedMarks(cmd.Context(), time.Time{}, limit+1)
			}
			if err != nil {
				return err
			}
			return printMarks(cmd.OutOrStdout(), c, found, limit, asJSON)
		},
	}
	cmd.Flags().BoolVar(&owed, "owed", false, "marks that are owed")
	cmd.Flags().BoolVar(&overdue, "overdue", false, "marks owed for longer than R")
	cmd.Flags().BoolVar(&abandoned, "abandoned", false, "marks that were given up")
	cmd.Flags().BoolVar(&all, "all", false, "with --abandoned, also those that are reconciled")
	cmd.Flags().IntVar(&limit, "limit", 100, "list at most this many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printMarks(out io.Writer, c *config.Config, found []message.Standing, limit int, asJSON bool) error {
	more := len(found) > limit
	if more {
		found = found[:limit]
	}
	switch {
	case asJSON:
		if found == nil {
			found = []message.Standing{}
		}
		if err := printJSON(out, map[string]any{"messages": found, "more": more}); err != nil {
			return err
		}
	case len(found) == 0:
		fmt.Fprintln(out, "no such mark")
	default:
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tSTATE\tENQUEUED\tMARK\tATTEMPTS\tFAILING SINCE\tNEXT TRY\tTEXT")
		for _, m := range found {
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", m.MsgID, m.Label(), airportTime(c, m.EnqueuedAt), markWord(m.Mark), m.Mark.Attempts,
				airportTime(c, m.Mark.FirstFailedAt), airportTime(c, m.Mark.NextAt), orDash(m.Mark.LastError))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if more {
			fmt.Fprintln(out, "and more: --limit")
		}
	}
	if len(found) == 0 {
		return errNotWell
	}
	return nil
}
