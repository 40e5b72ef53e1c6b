package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/replay"
)

func headCommand(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "head",
		Short: "Show what holds the line, and what waits behind it",
		Long: `Show the message at the head of the line: what it is, how often it failed, why and since when, when
it is tried next, what it would do now, which flights it names, and how many messages wait behind it.
To try it now, head retry; to give it up, skip; to give it fresh attempts, dead replay.

Exits with 1 when no message waits.`,
		Example: "  msgx head\n  msgx head --json\n  msgx head retry --reason \"rule mended\"",
		Args:    noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := g.workbench(cmd)
			if err != nil {
				return err
			}
			defer w.Close()
			l, err := w.line(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), l)
			} else {
				l.print(cmd.OutOrStdout(), w)
			}
			if err == nil && l.Head == nil {
				return errNotWell
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(headRetryCommand(g))
	return cmd
}

// line is the head of the line and what is to be known around it.
type line struct {
	Head      *message.Standing `json:"head"` // nil when nothing waits
	Flights   []flight.ID       `json:"flights"`
	Now       *replay.Forecast  `json:"now,omitempty"`     // what it would do now
	Unknown   string            `json:"unknown,omitempty"` // why that cannot be told
	Behind    int64             `json:"behind"`
	Oldest    time.Time         `json:"oldest_behind_enqueued_at,omitzero"`
	Watermark int64             `json:"watermark"`
	// Beyond is the smallest message above the watermark, 0 for none: it waits for the reading.
	Beyond int64  `json:"beyond,omitempty"`
	Halted string `json:"halted,omitempty"` // why nothing is decided at present
}

func (w *workbench) line(cmd *cobra.Command) (*line, error) {
	ctx := cmd.Context()
	heads, watermark, beyond, err := w.Heads(ctx, 1)
	if err != nil {
		return nil, err
	}
	l := &line{Watermark: watermark, Beyond: beyond, Flights: []flight.ID{}}
	if l.Halted, err = halted(ctx, w.opened, w.config.Lease.Duration); err != nil || len(heads) == 0 {
		return l, err
	}
	found, err := w.Standings(ctx, []int64{heads[0].MsgID})
	if err != nil || len(found) == 0 {
		return l, err
	}
	l.Head = &found[0]
	if l.Behind, l.Oldest, err = w.Behind(ctx, l.Head.MsgID); err != nil {
		return nil, err
	}
	forecast, reason, err := w.replay.Foresee(ctx, *l.Head)
	if err != nil {
		return nil, err
	}
	if reason != "" {
		l.Unknown = reason
		return l, nil
	}
	l.Now, l.Flights = &forecast, append(l.Flights, forecast.Named...)
	if l.Head.Kind == "" {
		l.Head.Kind = forecast.Kind
	}
	return l, nil
}

func (l *line) print(out io.Writer, w *workbench) {
	if l.Head == nil {
		fmt.Fprintf(out, "no message waits; the mailbox is read up to %d\n", l.Watermark)
	} else {
		l.printHead(out, w)
	}
	if l.Beyond > 0 {
		fmt.Fprintf(out, "beyond    message %d is above the watermark %d and waits until everything before it is read\n", l.Beyond, l.Watermark)
	}
	if l.Halted != "" {
		fmt.Fprintf(out, "halted    %s\n", l.Halted)
	}
}

func (l *line) printHead(out io.Writer, w *workbench) {
	h := l.Head
	fmt.Fprintf(out, "head      message %d  %s  %s, enqueued %s\n", h.MsgID, orDash(h.Kind), h.Label(), w.clock(h.EnqueuedAt))
	if h.State == message.Failed {
		fmt.Fprintf(out, "failing   since %s: %s of %d, next try %s\n", w.clock(h.FirstFailedAt), times(h.Attempts, "failure"),
			w.config.Pipeline.MaxAttempts, w.clock(h.NextAttemptAt))
		fmt.Fprintf(out, "          %s\n", h.Text)
	}
	fmt.Fprintf(out, "behind    %s", times(int(l.Behind), "message"))
	if !l.Oldest.IsZero() {
		fmt.Fprintf(out, ", the oldest enqueued %s", w.clock(l.Oldest))
	}
	fmt.Fprintf(out, "; the mailbox is read up to %d\n", l.Watermark)
	fmt.Fprintf(out, "flights   %s\n", flightList(l.Flights))
	if l.Unknown != "" {
		fmt.Fprintf(out, "now       cannot be told: %s\n", l.Unknown)
		return
	}
	fmt.Fprintln(out, "now")
	printForecast(out, *l.Now, w.clock)
}

// flightList names flights, not more than a line holds.
func flightList(ids []flight.ID) string {
	const most = 10
	if len(ids) == 0 {
		return "none"
	}
	names := make([]string, 0, most)
	for _, id := range ids[:min(most, len(ids))] {
		names = append(names, id.String())
	}
	text := strings.Join(names, " ")
	if len(ids) > most {
		text += fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return text
}
