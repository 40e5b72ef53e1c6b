package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/store"
)

func messageCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "message",
		Short: "Look at a message",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(messageShowCommand(g))
	return cmd
}

func messageShowCommand(g *globals) *cobra.Command {
	var asJSON, raw bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show what is known of a message: enqueued, decided, marked, delivered",
		Long: `Show what is known of a message of the mailbox by its id: when it was enqueued, what was decided
by which rule and what that changed, whether its processed mark is written, and which events
it led to and where they landed. --raw prints our own copy of its body instead.`,
		Example: "  msgx message show 4711\n  msgx message show 4711 --json\n  msgx message show 4711 --raw > 4711.xml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return usagef("message id %q: expected a whole number from 1", args[0])
			}
			db, err := g.open(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			if raw {
				return printRaw(cmd, db, id)
			}
			record, err := db.Message(cmd.Context(), id)
			if errors.Is(err, fault.ErrNotFound) {
				return fmt.Errorf("message %d: not enqueued", id)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), record)
			}
			c, err := g.config()
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), recordText(record, c.Airport.Location))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&raw, "raw", false, "print our own copy of the body, byte for byte")
	return cmd
}

func printRaw(cmd *cobra.Command, db *opened, id int64) error {
	copied, found, err := db.RawCopy(cmd.Context(), id)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("message %d: we keep no copy of its body (msgx.replay.keep-raw, or not decided yet)", id)
	}
	_, err = cmd.OutOrStdout().Write(copied.Body)
	return err
}

// recordText tells the facts of a message in the order in which they happen.
func recordText(r store.Record, zone *time.Location) string {
	var b strings.Builder
	at := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.In(zone).Format("2006-01-02 15:04:05")
	}
	fmt.Fprintf(&b, "message %d  %s  %s\n\n", r.MsgID, orDash(r.Kind), r.State)
	fmt.Fprintf(&b, "arrived    %s (%s)\n", at(r.Times.Received), zone)
	fmt.Fprintf(&b, "enqueued   %s\n", at(r.Times.Enqueued))
	fmt.Fprintf(&b, "decided    %s\n", decidedText(r, at))
	if r.Identity != "" {
		fmt.Fprintf(&b, "           identity %s\n", r.Identity)
	}
	for _, n := range r.Decided.Notes {
		fmt.Fprintf(&b, "           left out: %s (%s)\n", n.Reason, n.FLID)
	}
	fmt.Fprintf(&b, "marked     %s\n", markText(r, at))
	sent := 0
	for _, e := range r.Events {
		if !e.SentAt.IsZero() {
			sent++
		}
	}
	fmt.Fprintf(&b, "delivered  %d of %d events\n", sent, len(r.Events))
	for _, e := range r.Events {
		fmt.Fprintf(&b, "           %d %s key %s %s version %d %s", e.EventID, e.Target, e.Key, e.Type, e.Version, e.State)
		if e.Topic != "" {
			fmt.Fprintf(&b, " at %s[%d]@%d", e.Topic, e.Partition, e.Offset)
		}
		if e.LastError != "" {
			fmt.Fprintf(&b, " after %d attempts: %s", e.Attempts, e.LastError)
		}
		b.WriteByte('\n')
	}
	for _, h := range r.Changes {
		fmt.Fprintf(&b, "\n%s  %s to version %d\n", h.FLID, h.Op, h.Version)
		for _, f := range h.Changed {
			fmt.Fprintf(&b, "    %-13s %s -> %s\n", f.Path, orNone(f.Before), orNone(f.After))
		}
	}
	return b.String()
}

func decidedText(r store.Record, at func(time.Time) string) string {
	if !r.State.Terminal() && r.State != message.Archived {
		text := "not yet"
		if r.Failure.Attempts > 0 {
			text = fmt.Sprintf("not yet: %d failures, %s %s, next try %s", r.Failure.Attempts, r.Failure.Class, r.Failure.LastError, at(r.Failure.NextAt))
		}
		return text
	}
	text := at(r.Times.Started) + "  " + string(r.State)
	if r.Failure.Class != "" {
		text += fmt.Sprintf("(%s) %s", r.Failure.Class, r.Failure.LastError)
	}
	if r.Failure.SkipReason != "" {
		text += " " + r.Failure.SkipReason
	}
	if r.Decided.Script != "" {
		text += fmt.Sprintf(" by %s of rule set %.12s", r.Decided.Script, r.Decided.Ruleset)
	}
	return text
}

func markText(r store.Record, at func(time.Time) string) string {
	m := r.Mark
	switch {
	case !r.State.Terminal() && r.State != message.Archived:
		return "not yet"
	case !m.ConfirmedAt.IsZero():
		return at(m.ConfirmedAt)
	case !m.AbandonedAt.IsZero():
		return fmt.Sprintf("given up %s: %s", at(m.AbandonedAt), m.AbandonedReason)
	case m.Owed && m.Attempts > 0:
		return fmt.Sprintf("owed: %d failures, %s, next try %s", m.Attempts, m.LastError, at(m.NextAt))
	case m.Owed:
		return "owed"
	default:
		return "not owed"
	}
}
