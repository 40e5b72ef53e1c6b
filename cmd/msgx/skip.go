package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"msgx/engine/message"
	"msgx/engine/replay"
)

func skipCommand(g *globals) *cobra.Command {
	var (
		which  picked
		ids    []int64
		o      order
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "skip",
		Short: "Give up unfinished messages: they become SKIPPED",
		Long: `Give up messages that are not finished (PENDING or FAILED): they become SKIPPED, change nothing,
and get their processed mark. First it is printed what is in the range: states, kinds, flights, since when.
--dry-run ends there. What is finished stays as it is, and so do rows of the mailbox that are not enqueued yet.
The pump waits meanwhile, so that no message is skipped in the middle of its decision.

Who does it, who approved it, under which ticket and why is put on record for each message.
Exits with 1 when nothing is skipped.`,
		Example: `  msgx skip --from 4700 --to 4800 --dry-run
  msgx skip --id 4711 --approver li --ticket OPS-12 --reason "test message of the sender"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			which.ids = append(which.ids, ids...)
			if err := which.check(0, "--id or --ids, and --from with --to"); err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			if !o.dryRun && (o.approver == "" || o.ticket == "") {
				return usagef("--approver or --ticket is missing: a message is given up only with both, or --dry-run to look only")
			}
			w, err := g.workbench(cmd)
			if err != nil {
				return err
			}
			defer w.Close()
			return w.skipAll(cmd, which, o, asJSON)
		},
	}
	which.flags(cmd)
	cmd.Flags().Int64SliceVar(&ids, "ids", nil, "message ids, a list with commas; the same as --id")
	o.flags(cmd, "skipped")
	cmd.Flags().StringVar(&o.approver, "approver", "", "who approved it")
	cmd.Flags().StringVar(&o.ticket, "ticket", "", "under which ticket")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// skipResult is what `skip` comes to.
type skipResult struct {
	Range   map[message.State]int64 `json:"range,omitempty"` // of a range: how many messages are in which state
	Survey  replay.Survey           `json:"survey"`
	Left    []message.Left          `json:"left_out"`
	Skipped []int64                 `json:"skipped"`
	DryRun  bool                    `json:"dry_run"`
	More    bool                    `json:"more"` // the range holds more unfinished messages than the limit
}

func (w *workbench) skipAll(cmd *cobra.Command, which picked, o order, asJSON bool) error {
	found, left, more, err := which.find(cmd, w.opened, message.Pending, message.Failed)
	if err != nil {
		return err
	}
	r := skipResult{Left: left, Skipped: []int64{}, DryRun: o.dryRun, More: more}
	if which.isRange() {
		if r.Range, err = w.StatesWithin(cmd.Context(), which.from, which.to); err != nil {
			return err
		}
	}
	var unfinished []message.Standing
	for _, m := range found {
		if reason := finished(m); reason != "" {
			r.Left = append(r.Left, message.Left{MsgID: m.MsgID, Reason: reason})
			continue
		}
		unfinished = append(unfinished, m)
	}
	if r.Survey, err = w.replay.Survey(cmd.Context(), unfinished); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if !asJSON {
		w.printSurvey(out, r)
	}
	if !o.dryRun && len(unfinished) > 0 {
		if err := w.skip(cmd, unfinished, o, &r); err != nil {
			return err
		}
	}
	if asJSON {
		if err := printJSON(out, r); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(out, r.summary())
	}
	if len(r.Skipped) == 0 && (!o.dryRun || len(unfinished) == 0) {
		return errNotWell
	}
	return nil
}

func finished(m message.Standing) string {
	if m.State == message.Pending || m.State == message.Failed {
		return ""
	}
	return fmt.Sprintf("it is %s: only what is unfinished can be skipped", m.Label())
}

func (w *workbench) skip(cmd *cobra.Command, unfinished []message.Standing, o order, r *skipResult) error {
	ids := make([]int64, len(unfinished))
	for i, m := range unfinished {
		ids[i] = m.MsgID
	}
	done, left, err := w.Skip(cmd.Context(), ids, o.message(), finished)
	if err != nil {
		return err
	}
	for _, m := range done {
		r.Skipped = append(r.Skipped, m.MsgID)
	}
	r.Left = append(r.Left, left...)
	return nil
}

func (r skipResult) summary() string {
	text := fmt.Sprintf("%s would be skipped", times(len(r.Survey.Messages), "message"))
	if !r.DryRun {
		text = fmt.Sprintf("%s skipped", times(len(r.Skipped), "message"))
	}
	text += fmt.Sprintf(", %d left as they are", len(r.Left))
	if r.More {
		text += "; the range holds more: --limit"
	}
	return text
}

func (w *workbench) printSurvey(out io.Writer, r skipResult) {
	if r.Range != nil {
		fmt.Fprint(out, "in the range:")
		for _, state := range slices.Sorted(maps.Keys(r.Range)) {
			fmt.Fprintf(out, " %d %s", r.Range[state], state)
		}
		if len(r.Range) == 0 {
			fmt.Fprint(out, " nothing is enqueued")
		}
		fmt.Fprintln(out)
	}
	s := r.Survey
	if len(s.Messages) > 0 {
		fmt.Fprintf(out, "unfinished: %s, enqueued %s to %s, naming %s\n", times(len(s.Messages), "message"), w.clock(s.Oldest), w.clock(s.Newest), times(s.Flights, "flight"))
		for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
			fmt.Fprintf(out, "  %6d  %s\n", s.Kinds[kind], map[bool]string{true: "cannot be read", false: kind}[kind == ""])
		}
	}
	for i, c := range s.Messages {
		if i == toldInFull {
			fmt.Fprintf(out, "and %d more messages: --json tells of all\n", len(s.Messages)-toldInFull)
			break
		}
		fmt.Fprintf(out, "%d  %s  %s  flights %s", c.Message.MsgID, orDash(c.Kind), c.Message.Label(), flightList(c.Flights))
		if text := c.Message.Text; text != "" {
			fmt.Fprintf(out, "  %s", text)
		} else if c.Fault != "" {
			fmt.Fprintf(out, "  %s", c.Fault)
		}
		fmt.Fprintln(out)
	}
	printLeft(out, r.Left)
}
