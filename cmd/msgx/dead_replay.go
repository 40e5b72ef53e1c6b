package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgx/engine/message"
	"msgx/engine/replay"
	"msgx/engine/store"
)

func deadReplayCommand(g *globals) *cobra.Command {
	var (
		which  picked
		class  string
		order  order
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Send dead or failed messages through again",
		Long: `Send dead or failed messages through again: by id, by a range of ids, or all dead ones of a class.
First it is shown what each would do if it were decided now, and what is left out and why:

  CHANGE      it would change flights that nobody has touched since
  SUPERSEDED  it would change flights that later messages have touched; they are named
  NOTHING     it would change nothing, or be skipped
  FAILS       it would fail again

--dry-run ends there. Otherwise they become PENDING, with the identity that they have and without
their past failures, and the first is decided next, before everything that waits: the only exception to
the order of the mailbox. It is put on record, with who, why, before and after. What later messages did
is not undone, and marks are not touched. Only the classes of msgx.replay.classes are sent through.

Exits with 1 when nothing is sent through.`,
		Example: `  msgx dead replay --id 4711 --dry-run
  msgx dead replay --class EXHAUSTED --reason "gate rule mended"
  msgx dead replay --from 4700 --to 4800 --by wang --reason "catalogue mended"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			others := 0
			if class != "" {
				others = 1
			}
			if err := which.check(others, "--id, --from with --to, and --class"); err != nil {
				return err
			}
			if err := checkClass(class); err != nil {
				return err
			}
			if err := order.check(); err != nil {
				return err
			}
			w, err := g.workbench(cmd)
			if err != nil {
				return err
			}
			defer w.Close()
			return w.replayAll(cmd, which, class, order, asJSON)
		},
	}
	which.flags(cmd)
	order.flags(cmd, "sent through")
	cmd.Flags().StringVar(&class, "class", "", "all dead messages of this error class, and what is EXHAUSTED and failed with it last")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// replayResult is what `dead replay` comes to.
type replayResult struct {
	replay.Plan
	DryRun bool    `json:"dry_run"`
	Sent   []int64 `json:"sent"`
	More   bool    `json:"more"` // the selection holds more than the limit
}

func (w *workbench) replayAll(cmd *cobra.Command, which picked, class string, o order, asJSON bool) error {
	r := replayResult{DryRun: o.dryRun, Sent: []int64{}}
	found, left, more, err := w.selectDead(cmd, which, class)
	if err != nil {
		return err
	}
	if r.Plan, err = w.replay.Plan(cmd.Context(), found); err != nil {
		return err
	}
	r.Left, r.More = append(left, r.Left...), more
	out := cmd.OutOrStdout()
	if !asJSON {
		w.printPlan(out, r.Plan)
	}
	if !o.dryRun {
		sent, moved, err := w.replay.Send(cmd.Context(), r.Plan, o.message())
		if err != nil {
			return err
		}
		for _, m := range sent {
			r.Sent = append(r.Sent, m.MsgID)
		}
		r.Left = append(r.Left, moved...)
		if !asJSON {
			printLeft(out, moved)
		}
	}
	if asJSON {
		if err := printJSON(out, r); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(out, r.summary())
	}
	if len(r.Sent) == 0 && (!o.dryRun || len(r.Forecasts) == 0) {
		return errNotWell
	}
	return nil
}

func (w *workbench) selectDead(cmd *cobra.Command, which picked, class string) (found []message.Standing, left []message.Left, more bool, err error) {
	if class == "" {
		return which.find(cmd, w.opened, message.Dead, message.Failed, message.Archived)
	}
	found, err = w.Dead(cmd.Context(), store.DeadFilter{Class: message.ErrorClass(class)}, which.limit+1)
	if more = len(found) > which.limit; more {
		found = found[:which.limit]
	}
	return found, nil, more, err
}

func (r replayResult) summary() string {
	text := fmt.Sprintf("%s would be sent through again", times(len(r.Forecasts), "message"))
	if !r.DryRun {
		text = fmt.Sprintf("%s sent through again", times(len(r.Sent), "message"))
	}
	text += fmt.Sprintf(", %d left out", len(r.Left))
	if r.More {
		text += "; the selection holds more: --limit"
	}
	return text
}

// toldInFull bounds how many messages, flights and fields are told one by one to a reader.
const toldInFull = 50

func (w *workbench) printPlan(out io.Writer, p replay.Plan) {
	for i, f := range p.Forecasts {
		if i == toldInFull {
			fmt.Fprintf(out, "and %d more messages: --json tells of all\n", len(p.Forecasts)-toldInFull)
			break
		}
		m := f.Message
		fmt.Fprintf(out, "%d  %s  %s after %s: %s\n", m.MsgID, orDash(f.Kind), m.Label(), times(m.Attempts, "failure"), m.Text)
		printForecast(out, f, w.clock)
	}
	printLeft(out, p.Left)
}

func printLeft(out io.Writer, left []message.Left) {
	for i, l := range left {
		if i == toldInFull {
			fmt.Fprintf(out, "and %d more are left out: --json tells of all\n", len(left)-toldInFull)
			break
		}
		fmt.Fprintf(out, "%d  left out: %s\n", l.MsgID, l.Reason)
	}
}

// printForecast tells what a message would do now.
func printForecast(out io.Writer, f replay.Forecast, clock func(time.Time) string) {
	outcome := string(f.State)
	if f.Class != "" {
		outcome += "(" + string(f.Class) + ")"
	}
	text := fmt.Sprintf("%s  now it would be %s", f.Effect, outcome)
	if f.Script != "" {
		text += " by " + f.Script
	}
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	fmt.Fprintf(out, "    %s\n", text)
	for i, c := range f.Changes {
		if i == toldInFull {
			fmt.Fprintf(out, "        and %s more\n", times(len(f.Changes)-toldInFull, "flight"))
			break
		}
		fmt.Fprintf(out, "        %s  %s to version %d\n", c.FLID, c.Op, c.Version)
		for _, field := range c.Changed {
			fmt.Fprintf(out, "            %-13s %s -> %s%s\n", field.Path, orNone(field.Before), orNone(field.After), overwritten(f, c, field.Path))
		}
	}
	if f.Refs > 0 {
		fmt.Fprintf(out, "        %s of reference data\n", times(f.Refs, "record"))
	}
	for i, t := range f.Later {
		if i == toldInFull {
			fmt.Fprintf(out, "        and %d more later versions\n", len(f.Later)-toldInFull)
			break
		}
		fmt.Fprintf(out, "        since then %s has version %d of message %d %s, %s: %s\n", t.FLID, t.Version, t.MsgID, t.Kind, clock(t.At), strings.Join(t.Paths, " "))
	}
}

// overwritten names the later message whose value would be lost.
func overwritten(f replay.Forecast, c replay.FlightChange, path string) string {
	for _, o := range f.Overwrites {
		if o.FLID == c.FLID && o.Path == path {
			return fmt.Sprintf("   over the value of message %d", o.MsgID)
		}
	}
	return ""
}
