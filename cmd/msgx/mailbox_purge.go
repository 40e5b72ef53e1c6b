package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/engine/evidence"
	"msgx/engine/message"
	"msgx/engine/purge"
)

// headerPage is how many rows of the mailbox are read at once where bodies are not.
const headerPage = 5000

func mailboxPurgePlanCommand(g *globals) *cobra.Command {
	var (
		keep, history string
		asJSON        bool
	)
	cmd := &cobra.Command{
		Use:   "purge-plan a|b",
		Short: "Print the SQL with which the mailbox's owner purges it, after looking whether it may be",
		Long: `Print the SQL with which the owner of the mailbox moves old rows to the history table: by dropping partitions (a), or
by exchanging the whole table for a new one (b), while senders go on writing. Nothing of it is executed here, nothing is changed.

First it is looked, by reading only, whether the purge may be: every row in the range has its mark, or was given up and
reconciled (msgx backfill reconcile); none of them is unfinished or not read yet; the history table takes all columns.
What is in the way is listed, no SQL is printed, and the exit code is 1.`,
		Example: `  msgx mailbox purge-plan b > rotation.sql
  msgx mailbox purge-plan a --keep 30d --history CMINMSGS_HST --json`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"a", "b"},
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := g.desk(cmd)
			if err != nil {
				return err
			}
			defer d.Close()
			kept := d.config.Pipeline.RKeep
			if keep != "" {
				if kept, err = config.ParseDuration(keep); err != nil {
					return usagef("--keep: %w", err)
				}
			}
			if kept < d.config.Pipeline.RKeep {
				return usagef("--keep is %s, expected at least msgx.pipeline.r-keep = %s: replay reads what is kept", kept, d.config.Pipeline.RKeep)
			}
			result, err := d.planPurge(cmd.Context(), args[0], time.Now().Add(-kept).Truncate(time.Second), history)
			if err != nil {
				return err
			}
			return result.print(cmd, asJSON)
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "how long rows stay in the mailbox, such as 30d; at least msgx.pipeline.r-keep, which is the default")
	cmd.Flags().StringVar(&history, "history", "CMINMSGS_HST", "the owner's history table")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// purgeResult is what a plan comes to.
type purgeResult struct {
	Way        string    `json:"way"`
	Before     time.Time `json:"before"`
	Rows       int64     `json:"rows"` // that would go
	First      int64     `json:"first_id,omitempty"`
	Last       int64     `json:"last_id,omitempty"`
	Partitions []string  `json:"partitions,omitempty"`
	Released   []int64   `json:"reconciled,omitempty"` // rows without a mark that were reconciled
	InTheWay   []string  `json:"in_the_way"`
	SQL        string    `json:"sql,omitempty"`
}

func (r *purgeResult) blocked(format string, args ...any) {
	r.InTheWay = append(r.InTheWay, fmt.Sprintf(format, args...))
}

func (d *desk) planPurge(ctx context.Context, way string, before time.Time, history string) (*purgeResult, error) {
	r := &purgeResult{Way: way, Before: before, InTheWay: []string{}}
	p := purge.Plan{Before: before, Zone: d.config.Airport.Location}
	var err error
	if p.Table, err = d.box.Describe(ctx, ""); err != nil {
		return nil, err
	}
	if p.History, err = d.box.Describe(ctx, history); err != nil {
		return nil, err
	}
	switch missing := p.Lacks(); {
	case len(p.History.Columns) == 0:
		r.blocked("there is no table %s, or the account may not see it", history)
	case len(missing) > 0:
		r.blocked("table %s lacks the columns %s", history, strings.Join(missing, ", "))
	}
	if way == "a" {
		if r.Partitions, err = p.Due(); err != nil {
			r.blocked("%s", err)
			return r, nil
		}
		if len(r.Partitions) == 0 {
			r.blocked("no partition of %s ends by %s", p.Table.Name, airportTime(d.config, before))
			return r, nil
		}
	} else if err := d.freeNames(ctx, p.Table.Name, r); err != nil {
		return nil, err
	}
	if err := d.inTheWay(ctx, r); err != nil {
		return nil, err
	}
	p.Released = r.Released
	switch {
	case len(r.InTheWay) > 0:
	case way == "a":
		r.SQL = p.Partitions(r.Partitions)
	default:
		r.SQL = p.Rotation()
	}
	return r, nil
}

// freeNames looks whether a rotation was begun and not ended.
func (d *desk) freeNames(ctx context.Context, table string, r *purgeResult) error {
	for _, suffix := range []string{"_NEW", "_OLD"} {
		t, err := d.box.Describe(ctx, table+suffix)
		if err != nil {
			return err
		}
		if len(t.Columns) > 0 {
			r.blocked("table %s exists: a rotation was begun and not ended", table+suffix)
		}
	}
	return nil
}

// inTheWay reads every row that would go and looks whether it may.
func (d *desk) inTheWay(ctx context.Context, r *purgeResult) error {
	const told = 10
	mark, _, err := d.Cursor(ctx)
	if err != nil {
		return err
	}
	var unmarked, timeless, young, unread []int64
	err = d.headers(ctx, r.Partitions, func(page []evidence.Header) error {
		for _, h := range page {
			switch {
			case h.ReceivedAt.IsZero() && r.Partitions != nil:
				timeless = append(timeless, h.ID)
			case !h.ReceivedAt.IsZero() && !h.ReceivedAt.Before(r.Before) && r.Partitions != nil:
				young = append(young, h.ID)
			case h.ReceivedAt.IsZero() || !h.ReceivedAt.Before(r.Before):
				continue
			}
			r.Rows++
			if r.First == 0 {
				r.First = h.ID
			}
			r.Last = h.ID
			if !h.Marked {
				unmarked = append(unmarked, h.ID)
			}
			if h.ID > mark.Watermark {
				unread = append(unread, h.ID)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	open, err := d.release(ctx, unmarked, r)
	if err != nil {
		return err
	}
	unfinished, err := d.Within(ctx, r.First, r.Last, []message.State{message.Pending, message.Failed}, told+1)
	if err != nil {
		return err
	}
	running := make([]int64, 0, len(unfinished))
	for _, m := range unfinished {
		running = append(running, m.MsgID)
	}
	for _, c := range []struct {
		ids []int64
		why string
	}{
		{open, "have no mark and are not reconciled"}, {unread, "are above the watermark: they were not read yet"},
		{running, "are unfinished"}, {timeless, "have no time of arrival and lie in a partition that would go"},
		{young, "were received since then and lie in a partition that would go"},
	} {
		if len(c.ids) > 0 {
			r.blocked("%s %s: %s", times(len(c.ids), "row"), c.why, someIDs(c.ids, told))
		}
	}
	if r.Rows == 0 {
		r.blocked("nothing was received before %s", airportTime(d.config, r.Before))
	}
	return nil
}

// headers reads the mailbox from the beginning, page by page.
func (d *desk) headers(ctx context.Context, partitions []string, fn func([]evidence.Header) error) error {
	for after := int64(0); ; {
		page, err := d.box.Headers(ctx, partitions, after, headerPage)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := fn(page); err != nil {
			return err
		}
		after = page[len(page)-1].ID
	}
}

// release finds those of the unmarked rows that were given up and reconciled; open are the others.
func (d *desk) release(ctx context.Context, unmarked []int64, r *purgeResult) (open []int64, err error) {
	for page := range slices.Chunk(unmarked, headerPage) {
		found, err := d.Standings(ctx, page)
		if err != nil {
			return nil, err
		}
		settled := map[int64]bool{}
		for _, m := range found {
			settled[m.MsgID] = !m.Mark.AbandonedAt.IsZero() && !m.Mark.ReconciledAt.IsZero()
		}
		for _, id := range page {
			if settled[id] {
				r.Released = append(r.Released, id)
			} else {
				open = append(open, id)
			}
		}
	}
	return open, nil
}

func someIDs(ids []int64, most int) string {
	text := strings.Trim(fmt.Sprint(ids[:min(most, len(ids))]), "[]")
	if len(ids) > most {
		text += " and more"
	}
	return text
}

func (r *purgeResult) print(cmd *cobra.Command, asJSON bool) error {
	out := cmd.OutOrStdout()
	switch {
	case asJSON:
		if err := printJSON(out, r); err != nil {
			return err
		}
	case len(r.InTheWay) > 0:
		fmt.Fprintln(out, "no purge:")
		for _, reason := range r.InTheWay {
			fmt.Fprintf(out, "  %s\n", reason)
		}
	default:
		fmt.Fprintf(out, "-- Looked at, by reading only: %s would go, ids %d to %d; all are marked", times(int(r.Rows), "row"), r.First, r.Last)
		if len(r.Released) > 0 {
			fmt.Fprintf(out, " but %d that were reconciled", len(r.Released))
		}
		fmt.Fprintf(out, ".\n%s", r.SQL)
	}
	if len(r.InTheWay) > 0 {
		return errNotWell
	}
	return nil
}
