package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"msgx/engine/message"
)

func backfillReopenCommand(g *globals) *cobra.Command {
	return settleMarksCommand(g, settling{
		use: "reopen", short: "Try marks that were given up again", changes: "reopened", done: "reopened: due now",
		long: `Take marks that were given up back into the back-fill: due at once, without their past failures, and
with R before them again. What was reconciled stays reconciled.`,
		example: "  msgx backfill reopen --id 4711 --dry-run\n  msgx backfill reopen --from 4700 --to 4800 --reason \"mailbox is writable again\"",
		apply:   func(db *opened) applyMarks { return db.Reopen },
	})
}

func backfillReconcileCommand(g *globals) *cobra.Command {
	return settleMarksCommand(g, settling{
		use: "reconcile", short: "Record that marks which were given up were compared with the mailbox", changes: "reconciled", done: "reconciled",
		long: `Record that somebody has compared marks which were given up with the mailbox and that they count
as settled. The mark itself stays unconfirmed. Reconciled is what lets the record be archived, and what
lets the mailbox's owner remove the row.`,
		example: "  msgx backfill reconcile --id 4711 --reason \"row was purged by its owner\"",
		apply:   func(db *opened) applyMarks { return db.Reconcile },
	})
}

type applyMarks = func(ctx context.Context, ids []int64, o message.Order) ([]message.Standing, []message.Left, error)

// settling is what tells reopen and reconcile apart.
type settling struct {
	use, short, long, example, changes, done string
	apply                                    func(*opened) applyMarks
}

func settleMarksCommand(g *globals, s settling) *cobra.Command {
	var (
		which  picked
		o      order
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:     s.use,
		Short:   s.short,
		Long:    s.long + "\n\nWho did it and why is put on record for each message. Exits with 1 when nothing is " + s.changes + ".",
		Example: s.example,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := which.check(0, "--id, and --from with --to"); err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			db, err := g.open(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			found, left, more, err := which.find(cmd, db, message.Succeeded, message.Skipped, message.Dead)
			if err != nil {
				return err
			}
			r := settleResult{s: s, DryRun: o.dryRun, More: more, Done: []int64{}, Left: left}
			r.sort(found, which.isRange())
			if !o.dryRun && len(r.Done) > 0 {
				done, moved, err := s.apply(db)(cmd.Context(), r.Done, o.message())
				if err != nil {
					return err
				}
				r.Done, r.Left = idsOf(done), append(r.Left, moved...)
			}
			return r.print(cmd, asJSON)
		},
	}
	which.flags(cmd)
	o.flags(cmd, s.changes)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// settleResult is what reopen or reconcile comes to.
type settleResult struct {
	s      settling
	Done   []int64        `json:"messages"`
	Left   []message.Left `json:"left_out"`
	DryRun bool           `json:"dry_run"`
	More   bool           `json:"more"`
}

// sort parts what can be settled from what cannot. Of a range, only what was given up is meant.
func (r *settleResult) sort(found []message.Standing, isRange bool) {
	for _, m := range found {
		switch reason := m.NotSettleable(); {
		case reason == "":
			r.Done = append(r.Done, m.MsgID)
		case !isRange || !m.Mark.AbandonedAt.IsZero():
			r.Left = append(r.Left, message.Left{MsgID: m.MsgID, Reason: reason})
		}
	}
}

func idsOf(messages []message.Standing) []int64 {
	ids := make([]int64, len(messages))
	for i, m := range messages {
		ids[i] = m.MsgID
	}
	return ids
}

func (r settleResult) print(cmd *cobra.Command, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		if err := printJSON(out, r); err != nil {
			return err
		}
	} else {
		for i, id := range r.Done {
			if i == toldInFull {
				fmt.Fprintf(out, "and %d more\n", len(r.Done)-toldInFull)
				break
			}
			fmt.Fprintf(out, "%d  %s\n", id, map[bool]string{true: "would be " + r.s.changes, false: r.s.done}[r.DryRun])
		}
		printLeft(out, r.Left)
		fmt.Fprintf(out, "%s %s, %d left as they are", times(len(r.Done), "mark"), map[bool]string{true: "would be " + r.s.changes, false: r.s.changes}[r.DryRun], len(r.Left))
		if r.More {
			fmt.Fprint(out, "; the range holds more finished messages than --limit")
		}
		fmt.Fprintln(out)
	}
	if len(r.Done) == 0 {
		return errNotWell
	}
	return nil
}
