package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"msgx/engine/message"
	"msgx/engine/ruleset"
)

func rulesHistoryCommand(g *globals) *cobra.Command {
	var (
		asJSON bool
		limit  int
	)
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List which rule sets were live when, and which were refused",
		Long: `List which rule sets were live from when to when, how each came to be (start, watch, signal,
activate, rollback) and who asked, how many messages it was asked about, and which rule sets were
refused and why. The latest comes first.

MESSAGES is "-" while a rule set is live, and where a change of leader came in between.`,
		Example: "  msgx rules history\n  msgx rules history --limit 100 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usagef("--limit %d: expected at least 1", limit)
			}
			db, err := g.onRecord(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			entries, err := db.RulesetHistory(cmd.Context(), limit)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), entries)
			}
			return printHistory(cmd.OutOrStdout(), entries, db.config.Airport.Location)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&limit, "limit", 20, "entries to list")
	return cmd
}

// clockTime is how a moment is shown.
const clockTime = "2006-01-02 15:04:05"

func printHistory(out io.Writer, entries []ruleset.Entry, zone *time.Location) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(out, "no rule set was live yet")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "WHEN\tRULE SET\tSTATE\tMESSAGES\tHOW\tWHO\tWHY")
	for _, e := range entries {
		hash, state, judged, cause := entryShown(e, zone)
		fmt.Fprintf(w, "%s\t%.12s\t%s\t%s\t%s\t%s\t%s\n", e.At().In(zone).Format(clockTime), orDash(hash), state, judged,
			cause.How, message.SafeText(cause.Who, 40), orDash(message.SafeText(cause.Why, 60)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range entries {
		if r := e.Refused; r != nil {
			fmt.Fprintf(out, "\nrefused %s (%s of %s)\n%s", r.At.In(zone).Format(clockTime), r.How, r.Origin, listed(r.Reasons))
		}
	}
	_, err := fmt.Fprintf(out, "\ntimes of %s\n", zone)
	return err
}

func entryShown(e ruleset.Entry, zone *time.Location) (hash, state, judged string, cause ruleset.Cause) {
	if e.Refused != nil {
		return e.Refused.Hash, "refused", "-", e.Refused.Cause
	}
	state, judged = "live", "-"
	if !e.Live.Until.IsZero() {
		state = "until " + e.Live.Until.In(zone).Format(clockTime)
	}
	if e.Live.Pinned {
		state += ", pinned"
	}
	if e.Live.Judged != nil {
		judged = fmt.Sprint(*e.Live.Judged)
	}
	return e.Live.Hash, state, judged, e.Live.Cause
}
