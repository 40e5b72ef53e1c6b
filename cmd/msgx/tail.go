package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/clock"
	"msgx/engine/consume"
	"msgx/engine/evidence"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/outbox/kafka"
)

// tail is the feed of events as somebody wants to see it.
type tail struct {
	flid   string
	target string
	from   string
	count  int
	asJSON bool

	only *flight.ID
	feed consume.Feed
	seen int
	out  io.Writer
	c    *config.Config
}

// errEnough ends a tail that has shown what was asked for.
var errEnough = errors.New("enough")

const (
	tailPause = 300 * time.Millisecond // between two looks at a topic
	tailRetry = 2 * time.Second        // while the brokers do not answer
)

func tailCommand(g *globals) *cobra.Command {
	t := &tail{}
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Follow the events as consumers see them",
		Long: `Follow the events that Kafka holds, a line each: when, which flight at which version, by what message, and
what changed from what to what. A repeat, a version that is missing, and one that arrives late are told.
What is not an event of ours is shown as such. It changes nothing, and belongs to no group.

It goes on until it is interrupted, or --count events were shown. While the brokers are away it waits.`,
		Example: "  msgx tail\n  msgx tail --flid 1000345 --from beginning\n  msgx tail --target schd --from beginning --count 10 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := g.cluster()
			if err != nil {
				return err
			}
			t.out, t.c = cmd.OutOrStdout(), c
			err = t.run(cmd.Context(), cmd.ErrOrStderr())
			if errors.Is(err, errEnough) || errors.Is(err, context.Canceled) { // shown, or interrupted
				err = nil
			}
			return err
		},
	}
	cmd.Flags().StringVar(&t.flid, "flid", "", "only events of this flight")
	cmd.Flags().StringVar(&t.target, "target", "msg", "msg: every change; schd: latest states")
	cmd.Flags().StringVar(&t.from, "from", "now", "now, or beginning: all that the topic holds")
	cmd.Flags().IntVar(&t.count, "count", 0, "end after so many events; 0 goes on")
	cmd.Flags().BoolVar(&t.asJSON, "json", false, "print the values as they are, a line each; null for Kafka's null value")
	return cmd
}

func (t *tail) run(ctx context.Context, notes io.Writer) error {
	topics := map[string]string{"msg": t.c.Kafka.MsgTopic, "schd": t.c.Kafka.SchdTopic}
	topic, known := topics[t.target]
	switch {
	case !known:
		return usagef("--target %s: expected msg or schd", t.target)
	case t.from != "now" && t.from != "beginning":
		return usagef("--from %s: expected now or beginning", t.from)
	case t.count < 0:
		return usagef("--count %d: expected 0 or more", t.count)
	}
	if t.flid != "" {
		id, err := flight.ParseID(t.flid)
		if err != nil {
			return usagef("--flid %s: expected 1 to 18 digits", t.flid)
		}
		t.only = &id
	}
	reader, err := kafka.NewReader(daemon.KafkaConfig(t.c), topic)
	if err != nil {
		return err
	}
	var at kafka.Position
	if t.from == "beginning" {
		at = kafka.Position{}
	}
	away := false
	for {
		wait := tailPause
		if at == nil {
			at, err = reader.End(ctx)
		} else {
			err = reader.Next(ctx, at, t.show)
		}
		switch {
		case errors.Is(err, fault.ErrUnavailable):
			if !away && ctx.Err() == nil {
				fmt.Fprintf(notes, "the brokers are away, waiting: %v\n", err)
			}
			away, wait = true, tailRetry
		case err != nil:
			return err
		case away:
			fmt.Fprintln(notes, "the brokers are back")
			away = false
		}
		if err := clock.Sleep(ctx, clock.System{}, wait); err != nil {
			return err
		}
	}
}

// show prints one record.
func (t *tail) show(r evidence.Record) error {
	e, err := consume.Understand(r)
	if err == nil && t.only != nil && e.FLID != *t.only {
		return nil
	}
	var line string
	switch {
	case t.asJSON && r.Value == nil:
		line = "null"
	case t.asJSON:
		line = printable(string(r.Value))
	case err != nil:
		line = fmt.Sprintf("%s/%d@%d  not an event of this version of msgx: %v", r.Landing.Topic, r.Landing.Partition, r.Landing.Offset, err)
	default:
		line = t.line(e)
	}
	if _, err := fmt.Fprintln(t.out, printable(strings.ReplaceAll(line, "\n", " "))); err != nil {
		return err
	}
	if t.seen++; t.seen == t.count {
		return errEnough
	}
	return nil
}

func (t *tail) line(e consume.Event) string {
	var b strings.Builder
	at := "-"
	if !e.UpdatedAt.IsZero() {
		at = airportTime(t.c, e.UpdatedAt)
	}
	fmt.Fprintf(&b, "%s  flight %s v%d", at, e.FLID, e.Version)
	if e.OperationDay != "" {
		fmt.Fprintf(&b, " of %s", e.OperationDay)
	}
	fmt.Fprintf(&b, "  message %d %s", e.MsgID, e.Kind)
	switch {
	case e.Whole == nil:
		b.WriteString("  deleted")
	case e.Op != "":
		fmt.Fprintf(&b, "  %s", e.Op)
	}
	if t.target == "msg" {
		switch arrival, missing := t.feed.Take(e.FLID, e.Version); {
		case arrival == consume.Repeat:
			b.WriteString("  (a repeat)")
		case arrival == consume.Late:
			b.WriteString("  (late: it was missing)")
		case missing > 0:
			fmt.Fprintf(&b, "  (%s missing before it)", several(int(missing), "version"))
		}
	}
	for _, c := range e.Changes {
		fmt.Fprintf(&b, "  %s %s -> %s", c.Path, value(c.Before), value(c.After))
	}
	return b.String()
}

// value is what a change shows of a value; a long one is cut.
func value(raw json.RawMessage) string {
	text := string(raw)
	if text == "" || text == "null" {
		return "nothing"
	}
	const limit = 120
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return text
}
