package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"msgx/engine/message"
	"msgx/engine/ruleset"
)

// shadowShown is what `rules shadow --json` prints.
type shadowShown struct {
	Now  *ruleset.ShadowNow     `json:"now"` // null when the leader has no shadow
	Runs []ruleset.ShadowReport `json:"runs"`
}

func rulesShadowCommand(g *globals) *cobra.Command {
	var (
		asJSON         bool
		runs, examples int
	)
	cmd := &cobra.Command{
		Use:   "shadow",
		Short: "Show what the shadow rule set would have decided otherwise",
		Long: `Show what the shadow rule set (msgx.rules.shadow) would have decided otherwise than the live
one: how many messages, by kind and by what differs, and the latest of them with what each said.
Both decide each message over the same flights, those that the live rule set has made.

Counts belong to a pair of rule sets and begin anew when either changes. Messages that were not
compared are counted apart: unread (the shadow reads reference data that the live one does not),
late (it took too long), dropped (it could not keep up).

Exits with 1 when what lies in msgx.rules.shadow does not load.`,
		Example: "  msgx rules shadow\n  msgx rules shadow --examples 50 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runs < 1 || examples < 0 {
				return usagef("--runs %d --examples %d: expected at least 1 and 0", runs, examples)
			}
			db, err := g.onRecord(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			var shown shadowShown
			now, found, err := db.ShadowNow(cmd.Context())
			if err != nil {
				return err
			}
			if found {
				shown.Now = &now
			}
			if shown.Runs, err = db.ShadowReports(cmd.Context(), runs, examples); err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), shown)
			} else {
				err = printShadow(cmd.OutOrStdout(), shown, db.config.Airport.Location)
			}
			if err == nil && found && now.Fault != "" {
				return errNotWell
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.IntVar(&runs, "runs", 1, "pairs of rule sets to show, the latest first")
	f.IntVar(&examples, "examples", 10, "messages to show of each")
	return cmd
}

func printShadow(out io.Writer, s shadowShown, zone *time.Location) error {
	var b strings.Builder
	switch {
	case s.Now == nil:
		b.WriteString("no shadow: msgx.rules.shadow is not set for the instance that led last\n")
	case s.Now.Fault != "":
		fmt.Fprintf(&b, "no shadow: what lies in %s is not loaded\n%s", s.Now.Origin, listed([]string{s.Now.Fault}))
	default:
		fmt.Fprintf(&b, "shadow %.12s of %s, since %s\n", s.Now.Hash, s.Now.Origin, s.Now.At.In(zone).Format(clockTime))
	}
	for _, r := range s.Runs {
		if err := printRun(&b, r, zone); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func printRun(b *strings.Builder, r ruleset.ShadowReport, zone *time.Location) error {
	t := r.Tally
	fmt.Fprintf(b, "\n%.12s beside live %.12s, %s to %s (%s)\n", r.Shadow, r.Live, r.First.In(zone).Format(clockTime), r.Last.In(zone).Format(clockTime), zone)
	fmt.Fprintf(b, "%d of %s decided otherwise", t.Different, times(int(t.Same+t.Different), "message"))
	for _, left := range []struct {
		n    int64
		what string
	}{{t.Unread, "unread"}, {t.Late, "late"}, {t.Dropped, "dropped"}} {
		if left.n > 0 {
			fmt.Fprintf(b, ", %d %s", left.n, left.what)
		}
	}
	b.WriteString("\n")
	if len(r.Counts) > 0 {
		b.WriteString("\n")
		w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "KIND\tWHERE\tMESSAGES")
		for _, c := range r.Counts {
			fmt.Fprintf(w, "%s\t%s\t%d\n", c.Kind, c.Place, c.Messages)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, d := range r.Latest {
		fmt.Fprintf(b, "\nmessage %d %s %s", d.MsgID, d.Kind, d.Place)
		if d.FLID != "" {
			fmt.Fprintf(b, ", flight %s", d.FLID)
		}
		fmt.Fprintf(b, "\n  live    %s\n  shadow  %s\n", message.SafeText(d.Live, 600), message.SafeText(d.Shadow, 600))
	}
	return nil
}
