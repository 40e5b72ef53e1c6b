package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/clock"
	"msgx/engine/consume"
	"msgx/engine/event"
	"msgx/engine/evidence"
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

	only    *flight.ID
	feed    consume.Feed
	numbers map[flight.ID]string // flight numbers as far as they were told
	seen    int
	out     io.Writer
	colour  bool
	c       *config.Config
}

// errEnough ends a tail that has shown what was asked for.
var errEnough = errors.New("enough")

func tailCommand(g *globals) *cobra.Command {
	t := &tail{}
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Follow the events as consumers see them",
		Long: `Follow the events that Kafka holds, a line each: when (airport time), which flight at which version, by what
message, and what changed from what to what. The flight number is there once an event has told it. A repeat, a
version that is missing, and one that arrives late are told. What is not an event of this version of msgx is shown as
such. It changes nothing, and belongs to no group.

--from takes now, beginning (all that the topic holds), or a time: an event sent then or later is shown. A time without
offset is the airport's; a clock alone is today's.

--json prints an object a line: topic, partition, offset, key, headers and value, as they are; for KAFKA:msg arrival (NEW,
REPEAT, LATE) and missing, the number of versions that should have come before; fault where it is not an event.

It goes on until it is interrupted, --count events were shown, or nobody reads what it writes. While the brokers are away it waits.`,
		Example: `  msgx tail
  msgx tail --flid 1000345 --from beginning
  msgx tail --from 06:30
  msgx tail --from 2026-03-01T06:30:00+08:00 --json | jq -r .headers.kind
  msgx tail --target schd --from beginning --count 10 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := g.cluster()
			if err != nil {
				return err
			}
			t.out, t.c, t.numbers = cmd.OutOrStdout(), c, map[flight.ID]string{}
			t.colour = !t.asJSON && onTerminal(t.out)
			// A closed pipe is told by the write, which ends it in good order, instead of by a signal.
			pipe := make(chan os.Signal, 1)
			signal.Notify(pipe, syscall.SIGPIPE)
			defer signal.Stop(pipe)
			err = t.run(cmd.Context(), cmd.ErrOrStderr())
			if errors.Is(err, errEnough) || errors.Is(err, context.Canceled) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
				err = nil // shown, interrupted, or not looked at any more
			}
			return err
		},
	}
	cmd.Flags().StringVar(&t.flid, "flid", "", "only events of this flight")
	cmd.Flags().StringVar(&t.target, "target", "msg", "msg: every change; schd: latest states")
	cmd.Flags().StringVar(&t.from, "from", "now", "now, beginning, or a time: 06:30, 2026-03-01, 2026-03-01T06:30, with seconds and offset if need be")
	cmd.Flags().IntVar(&t.count, "count", 0, "end after so many events; 0 goes on")
	cmd.Flags().BoolVar(&t.asJSON, "json", false, "print an object a line, with headers and value")
	return cmd
}

func (t *tail) run(ctx context.Context, notes io.Writer) error {
	topics := map[string]string{"msg": t.c.Kafka.MsgTopic, "schd": t.c.Kafka.SchdTopic}
	topic, known := topics[t.target]
	if !known {
		return usagef("--target %s: expected msg or schd", t.target)
	}
	if t.count < 0 {
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
	start := consume.From(nil)
	switch t.from {
	case "beginning":
	case "now":
		start = reader.End
	default:
		at, err := parseMoment("--from", t.from, "now, beginning, or a time", t.c.Airport.Location, clock.System{}.Now())
		if err != nil {
			return err
		}
		start = func(ctx context.Context) (evidence.Position, error) { return reader.At(ctx, at) }
	}
	f := consume.Follow(reader)
	f.Away = func(err error) { fmt.Fprintf(notes, "%s; waiting for them\n", printable(plain(err))) }
	f.Back = func() { fmt.Fprintln(notes, "the brokers are back") }
	return f.Run(ctx, start, t.show)
}

// parseMoment reads a time that a flag gives; without an offset it is the airport's, without a day today's.
func parseMoment(flag, text, expected string, zone *time.Location, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			year, month, day := now.In(zone).Date()
			return time.Date(year, month, day, at.Hour(), at.Minute(), at.Second(), 0, zone), nil
		}
	}
	return time.Time{}, usagef("%s %s: expected %s such as 06:30, 2026-03-01 or 2026-03-01T06:30", flag, text, expected)
}

// show prints one record.
func (t *tail) show(r evidence.Record) error {
	e, alien := consume.Understand(r)
	if t.only != nil && (alien == nil && e.FLID != *t.only || alien != nil && !t.may(r)) {
		return nil
	}
	var arrival consume.Arrival
	var missing int64
	if t.target == "msg" && alien == nil {
		arrival, missing = t.feed.Take(e.FLID, e.Version)
	}
	var line string
	switch {
	case t.asJSON:
		line = asJSON(r, arrival, missing, alien)
	case alien != nil:
		line = t.paint(yellow, fmt.Sprintf("%s/%d@%d  key %s  not an event of this version of msgx: %v", r.Landing.Topic, r.Landing.Partition, r.Landing.Offset, r.Key, alien))
	default:
		line = t.line(e, arrival, missing)
	}
	if _, err := fmt.Fprintln(t.out, line); err != nil {
		return err
	}
	if t.seen++; t.seen == t.count {
		return errEnough
	}
	return nil
}

// may tells whether a record that is not understood could be of the flight that is looked for.
func (t *tail) may(r evidence.Record) bool {
	return r.Headers["flid"] == t.only.String() || r.Key == t.only.String()
}

// asJSON is a record as one line. A value that is no JSON is text.
func asJSON(r evidence.Record, arrival consume.Arrival, missing int64, alien error) string {
	out := struct {
		event.Landing
		Key     string            `json:"key"`
		Headers map[string]string `json:"headers"`
		Arrival consume.Arrival   `json:"arrival,omitempty"`
		Missing int64             `json:"missing,omitempty"`
		Fault   string            `json:"fault,omitempty"`
		Value   any               `json:"value"`
	}{Landing: r.Landing, Key: r.Key, Headers: r.Headers, Arrival: arrival, Missing: missing}
	if alien != nil {
		out.Fault = alien.Error()
	}
	switch {
	case r.Value == nil:
	case json.Valid(r.Value):
		out.Value = json.RawMessage(r.Value)
	default:
		out.Value = string(r.Value)
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(out); err != nil {
		return fmt.Sprintf("%q", err.Error()) // a value that was looked at is encoded
	}
	return printable(strings.TrimSuffix(b.String(), "\n"))
}

// line is an event for people.
func (t *tail) line(e consume.Event, arrival consume.Arrival, missing int64) string {
	at := "-"
	if !e.UpdatedAt.IsZero() {
		at = airportTime(t.c, e.UpdatedAt)
	}
	head := fmt.Sprintf("%-19s  flight %s", at, e.FLID)
	if number := t.number(e); number != "" {
		head += " " + number
	}
	head += fmt.Sprintf(" v%d", e.Version)
	if e.OperationDay != "" {
		head += " of " + e.OperationDay
	}
	line := t.paint("", fmt.Sprintf("%s  message %d %s", head, e.MsgID, e.Kind))
	switch {
	case e.Whole == nil:
		line += t.paint(red, "  deleted")
	case e.Op == "delete":
		line += t.paint(red, "  delete")
	case e.Op != "":
		line += t.paint("", "  "+e.Op)
	}
	switch {
	case arrival == consume.Repeat:
		line += t.paint(yellow, "  (a repeat)")
	case arrival == consume.Late:
		line += t.paint(yellow, "  (late: it was missing)")
	case missing > 0:
		line += t.paint(yellow, fmt.Sprintf("  (%s missing before it)", several(int(missing), "version")))
	}
	if e.Resent {
		line += "  (sent again by an operator)"
	}
	for _, c := range e.Changes {
		line += t.paint("", fmt.Sprintf("  %s %s -> %s", c.Path, value(c.Before), value(c.After)))
	}
	return line
}

// number is the flight's number, of this event or of an earlier one.
func (t *tail) number(e consume.Event) string {
	if e.FlightNumber == "" {
		return t.numbers[e.FLID]
	}
	if len(t.numbers) >= consume.DefaultFlights {
		clear(t.numbers) // they are told again
	}
	t.numbers[e.FLID] = e.FlightNumber
	return e.FlightNumber
}

// colour is what makes a terminal write in one.
type colour string

const (
	red        colour = "\x1b[31m"
	yellow     colour = "\x1b[33m"
	uncoloured        = "\x1b[0m"
)

// paint makes a text safe for a terminal and one line, and gives it a colour where that is wanted.
func (t *tail) paint(c colour, text string) string {
	text = printable(strings.NewReplacer("\n", " ", "\t", " ").Replace(text))
	if c == "" || !t.colour {
		return text
	}
	return string(c) + text + uncoloured
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
