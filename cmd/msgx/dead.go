package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/engine/message"
	"msgx/engine/nearest"
	"msgx/engine/store"
)

func deadCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "Look at dead messages and send them through again",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(deadListCommand(g), deadReplayCommand(g))
	return cmd
}

// errorClasses are the classes of a dead message, and those that its last failure can have had.
var errorClasses = []string{
	string(message.Exhausted), string(message.CodecError), string(message.UnsupportedErr), string(message.RuleError), string(message.Infra),
	string(message.Malformed), string(message.Protocol),
}

// checkClass refuses a class that there is not.
func checkClass(class string) error {
	if class == "" || slices.Contains(errorClasses, class) {
		return nil
	}
	return usagef("--class %s: expected one of %s%s", class, strings.Join(errorClasses, ", "), nearest.Hint(class, errorClasses))
}

func deadListCommand(g *globals) *cobra.Command {
	var (
		class, kind, since string
		limit              int
		after              int64
		asJSON             bool
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead messages",
		Long: `List the messages that are DEAD, by id: what they are, why they died, since when they had been
failing, and what became of their mark. --since takes a duration before now, such as 24h or 7d, or a
time such as 2026-03-04T12:00:00+08:00, and goes by the first failure.

Exits with 1 when there is none.`,
		Example: "  msgx dead list\n  msgx dead list --class EXHAUSTED --since 24h\n  msgx dead list --kind FLOP-STND --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkClass(class); err != nil {
				return err
			}
			from, err := sinceWhen(since, time.Now())
			if err != nil {
				return err
			}
			if limit < 1 || limit > mostAtOnce {
				return usagef("--limit %d: expected 1 to %d", limit, mostAtOnce)
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
			found, err := db.Dead(cmd.Context(), store.DeadFilter{Class: message.ErrorClass(class), Kind: kind, Since: from, After: after}, limit+1)
			if err != nil {
				return err
			}
			return printDead(cmd, c, found, limit, asJSON)
		},
	}
	cmd.Flags().StringVar(&class, "class", "", "only this error class, or what is EXHAUSTED and failed with it last: "+strings.Join(errorClasses, ", "))
	cmd.Flags().StringVar(&kind, "kind", "", "only this message kind, such as FLOP-STND")
	cmd.Flags().StringVar(&since, "since", "", "only what began to fail within this duration, or after this time")
	cmd.Flags().Int64Var(&after, "after", 0, "only ids above this one, to read on")
	cmd.Flags().IntVar(&limit, "limit", 100, "list at most this many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// sinceWhen reads a duration before now or a time.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := config.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usagef("--since %q: expected a duration such as 24h or 7d, or a time such as 2026-03-04T12:00:00+08:00", text)
	}
	return at, nil
}

func printDead(cmd *cobra.Command, c *config.Config, found []message.Standing, limit int, asJSON bool) error {
	more := len(found) > limit
	if more {
		found = found[:limit]
	}
	out := cmd.OutOrStdout()
	switch {
	case asJSON:
		if found == nil {
			found = []message.Standing{}
		}
		if err := printJSON(out, map[string]any{"messages": found, "more": more}); err != nil {
			return err
		}
	case len(found) == 0:
		fmt.Fprintln(out, "no dead message is found")
	default:
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tKIND\tCLASS\tFAILURES\tFAILING SINCE\tMARK\tTEXT")
		for _, m := range found {
			fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", m.MsgID, orDash(m.Kind), m.Class, m.Attempts, airportTime(c, m.FirstFailedAt), markWord(m.Mark), m.Text)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if more {
			fmt.Fprintf(out, "and more: --after %d\n", found[len(found)-1].MsgID)
		}
	}
	if len(found) == 0 {
		return errNotWell
	}
	return nil
}

// markWord says in a word or two where a mark stands.
func markWord(m message.MarkStanding) string {
	switch {
	case !m.ConfirmedAt.IsZero():
		return "written"
	case !m.ReconciledAt.IsZero():
		return "reconciled"
	case !m.AbandonedAt.IsZero():
		return m.AbandonedReason
	case m.Owes:
		return "owed"
	}
	return "none"
}
