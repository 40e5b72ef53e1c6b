package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/engine/event"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/store"
)

func outboxCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "Look at the events that go to Kafka, send some again, give some up",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(outboxListCommand(g), outboxRetryCommand(g), outboxDropCommand(g))
	return cmd
}

// eventPick is the events that a command is about.
type eventPick struct {
	ids     []int64
	state   string
	target  string
	flid    string
	waiting bool
	limit   int
}

func (p *eventPick) flags(cmd *cobra.Command) {
	cmd.Flags().Int64SliceVar(&p.ids, "id", nil, "event id; may be repeated or a list with commas")
	cmd.Flags().StringVar(&p.target, "target", "", "msg or schd")
	cmd.Flags().StringVar(&p.flid, "flid", "", "events of this flight")
	cmd.Flags().IntVar(&p.limit, "limit", 100, fmt.Sprintf("at most this many, up to %d", mostAtOnce))
}

func (p *eventPick) filter() (f store.EventFilter, err error) {
	targets := map[string]event.Target{"": "", "msg": event.Msg, "schd": event.Schd}
	target, ok := targets[p.target]
	switch {
	case !ok:
		return f, usagef("--target %s: expected msg or schd", p.target)
	case p.limit < 1 || p.limit > mostAtOnce:
		return f, usagef("--limit %d: expected 1 to %d", p.limit, mostAtOnce)
	case !slices.Contains([]string{"", string(event.Pending), string(event.Sent), string(event.Dead)}, p.state):
		return f, usagef("--state %s: expected PENDING, SENT or DEAD", p.state)
	}
	f = store.EventFilter{State: event.State(p.state), Target: target, IDs: p.ids, Waiting: p.waiting}
	if p.flid != "" {
		if f.FLID, err = flight.ParseID(p.flid); err != nil {
			return f, usagef("--flid %s: expected 1 to 18 digits", p.flid)
		}
		f.HasFLID = true
	}
	return f, nil
}

func outboxListCommand(g *globals) *cobra.Command {
	var (
		p      eventPick
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List events",
		Long: `List events, the newest first: of which flight and version, by which message, whether they are sent,
and where they landed or why not. --waiting shows those that back off after a refusal or trouble of the
broker: each holds up what comes behind it of the same flight.

Exits with 1 when there is none.`,
		Example: "  msgx outbox list --state DEAD\n  msgx outbox list --waiting\n  msgx outbox list --flid 1000345 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := p.filter()
			if err != nil {
				return err
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
			found, err := db.Events(cmd.Context(), f, p.limit)
			if err != nil {
				return err
			}
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), map[string]any{"events": append([]event.Standing{}, found...)}); err != nil {
					return err
				}
			} else if err := printEvents(cmd.OutOrStdout(), c, found); err != nil {
				return err
			}
			if len(found) == 0 {
				return errNotWell
			}
			return nil
		},
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&p.state, "state", "", "PENDING, SENT or DEAD")
	cmd.Flags().BoolVar(&p.waiting, "waiting", false, "only those that back off")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printEvents(out io.Writer, c *config.Config, found []event.Standing) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(out, "no such event")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tTARGET\tFLIGHT\tVERSION\tTYPE\tMESSAGE\tKIND\tSTATE\tATTEMPTS\tCREATED\tLANDED, OR WHY NOT")
	for _, e := range found {
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%d\t%s\t%s\t%d\t%s\t%s\n", e.EventID, e.Target, e.FLID, e.Version, e.Type, e.MsgID, e.Kind, e.State, e.Attempts,
			airportTime(c, e.CreatedAt), fate(c, e))
	}
	return w.Flush()
}

// fate is where an event landed, or why it did not.
func fate(c *config.Config, e event.Standing) string {
	switch {
	case e.State == event.Sent:
		return fmt.Sprintf("%s/%d@%d at %s", e.Landing.Topic, e.Landing.Partition, e.Landing.Offset, airportTime(c, e.SentAt))
	case !e.NextAttemptAt.IsZero():
		return fmt.Sprintf("next try %s: %s", airportTime(c, e.NextAttemptAt), message.SafeText(e.LastError, 200))
	}
	return orDash(message.SafeText(e.LastError, 200))
}

func outboxRetryCommand(g *globals) *cobra.Command {
	return outboxChange(g, change{
		use: "retry", short: "Send dead events again, and waiting ones at once", state: string(event.Dead), all: "all-dead",
		long: `Send dead events again: each keeps its id, gets fresh attempts and the header "resent". It goes behind what
is unsent of its flight, and after versions that were delivered since: consumers tell it by its version. An
event that backs off is tried at once.

Each is put on record in operator_log. --dry-run shows the events and changes nothing.`,
		example: "  msgx outbox retry --id 81277 --reason 'broker takes 4 MB now, ticket 4711'\n  msgx outbox retry --all-dead --target msg --dry-run",
		changes: "sent again", do: (*store.Store).RetryEvents, leave: func(e event.Standing) string {
			if e.State == event.Dead || !e.NextAttemptAt.IsZero() {
				return ""
			}
			return "it is neither dead nor backing off"
		},
	})
}

func outboxDropCommand(g *globals) *cobra.Command {
	return outboxChange(g, change{
		use: "drop", short: "Give unsent events up", state: string(event.Pending),
		long: `Give unsent events up: they become dead letters, with the reason, and free what waits behind them. Of the topic
of every change a consumer then misses that version; in the topic of latest states the flight stays as it
was until it changes again, or until msgx resync. outbox retry takes a dead event up again.

Each is put on record in operator_log. --dry-run shows the events and changes nothing.`,
		example: "  msgx outbox drop --id 81277 --reason 'never to be taken: 3 MB, ticket 4711'\n  msgx outbox drop --id 81277,81280 --dry-run",
		changes: "given up", do: (*store.Store).DropEvents, leave: func(e event.Standing) string {
			if e.State == event.Pending {
				return ""
			}
			return "it is " + string(e.State)
		},
	})
}

// change is one way of changing events by hand.
type change struct {
	use, short, long, example, changes string
	state                              string // which events --all takes
	all                                string // the flag that takes them all, "" for none
	do                                 func(*store.Store, context.Context, []int64, message.Order) ([]int64, error)
	leave                              func(event.Standing) string // why an event is left as it is, "" when it is not
}

func outboxChange(g *globals, ch change) *cobra.Command {
	var (
		p   eventPick
		o   order
		all bool
	)
	cmd := &cobra.Command{
		Use: ch.use, Short: ch.short, Long: ch.long, Example: ch.example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if (len(p.ids) > 0) == all {
				return usagef("expected --id%s, to say which events", map[bool]string{true: " or --" + ch.all}[ch.all != ""])
			}
			if all {
				p.state = ch.state
			}
			f, err := p.filter()
			if err != nil {
				return err
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
			found, err := db.Events(cmd.Context(), f, max(p.limit, len(p.ids)))
			if err != nil {
				return err
			}
			return ch.run(cmd, c, db, found, p.ids, o)
		},
	}
	p.flags(cmd)
	o.flags(cmd, ch.changes)
	if ch.all != "" {
		cmd.Flags().BoolVar(&all, ch.all, false, "all events that are "+ch.state+", up to --limit")
	}
	return cmd
}

// run changes the events that were found and may be changed, and says of the others why not.
func (ch change) run(cmd *cobra.Command, c *config.Config, db *opened, found []event.Standing, asked []int64, o order) error {
	out := cmd.OutOrStdout()
	var chosen []int64
	var shown []event.Standing
	for _, e := range found {
		if why := ch.leave(e); why != "" {
			fmt.Fprintf(out, "event %d is left: %s\n", e.EventID, why)
			continue
		}
		chosen, shown = append(chosen, e.EventID), append(shown, e)
	}
	for _, id := range asked {
		if !slices.ContainsFunc(found, func(e event.Standing) bool { return e.EventID == id }) {
			fmt.Fprintf(out, "event %d is left: there is none; an event of KAFKA:schd has another id once its flight changes\n", id)
		}
	}
	if err := printEvents(out, c, shown); err != nil {
		return err
	}
	if len(chosen) == 0 {
		return errNotWell
	}
	if o.dryRun {
		fmt.Fprintf(out, "\n%s would be %s; nothing was changed\n", several(len(chosen), "event"), ch.changes)
		return nil
	}
	done, err := ch.do(db.Store, cmd.Context(), chosen, o.message())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s %s\n", several(len(done), "event"), ch.changes)
	if len(done) < len(chosen) {
		fmt.Fprintf(out, "%s changed meanwhile and were left\n", several(len(chosen)-len(done), "event"))
		return errNotWell
	}
	return nil
}

func resyncCommand(g *globals) *cobra.Command {
	var (
		flights []int64
		day     string
		all     bool
		step    int
		o       order
	)
	cmd := &cobra.Command{
		Use:   "resync",
		Short: "Put the latest states of flights out once more",
		Long: `Put the latest state of flights out to the topic of latest states once more, for a consumer that has lost
its store: events with new ids, and the versions and states that they had; deleted flights as null
values. Nothing about flights changes. What is unsent goes out anyway and is left.

It goes by steps of --step flights, each of which holds the line for a moment, and may be given again after
an interruption. Each step is put on record in operator_log. --dry-run counts, and changes nothing.`,
		Example: "  msgx resync --flid 1000345,1000346 --reason 'board lost its store'\n  msgx resync --day 2021-01-23 --reason 'ticket 4711'\n  msgx resync --all --dry-run",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			ways := 0
			for _, given := range []bool{len(flights) > 0, day != "", all} {
				if given {
					ways++
				}
			}
			if ways != 1 {
				return usagef("expected one of --flid, --day and --all")
			}
			if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
				return usagef("--day %s: expected an operation day such as 2021-01-23", day)
			}
			if step < 1 || step > 5000 {
				return usagef("--step %d: expected 1 to 5000", step)
			}
			db, err := g.open(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			return resync(cmd, db, store.ResyncScope{Flights: flights, Day: day}, step, o)
		},
	}
	cmd.Flags().Int64SliceVar(&flights, "flid", nil, "these flights; may be repeated or a list with commas")
	cmd.Flags().StringVar(&day, "day", "", "the flights of this operation day")
	cmd.Flags().BoolVar(&all, "all", false, "all flights")
	cmd.Flags().IntVar(&step, "step", 500, "flights at once")
	o.flags(cmd, "put out")
	return cmd
}

func resync(cmd *cobra.Command, db *opened, scope store.ResyncScope, step int, o order) error {
	out := cmd.OutOrStdout()
	total, err := db.CountResync(cmd.Context(), scope)
	if err != nil {
		return err
	}
	if total.Flights == 0 {
		fmt.Fprintln(out, "no such flight was ever put out")
		return errNotWell
	}
	if o.dryRun {
		fmt.Fprintf(out, "%s of %s would be put out once more; nothing was changed\n", several(total.Events, "state"), several(total.Flights, "flight"))
		return nil
	}
	var done store.Resynced
	for after := int64(-1); ; after = done.Last {
		r, err := db.Resync(cmd.Context(), scope, after, step, o.message())
		if err != nil {
			return fmt.Errorf("after %s of %d: %w", several(done.Flights, "flight"), total.Flights, err)
		}
		done = store.Resynced{Flights: done.Flights + r.Flights, Events: done.Events + r.Events, Last: r.Last}
		if r.Flights < step {
			break
		}
		fmt.Fprintf(out, "%d of %s\n", done.Flights, several(total.Flights, "flight"))
	}
	fmt.Fprintf(out, "%s of %s put out once more\n", several(done.Events, "state"), several(done.Flights, "flight"))
	return nil
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
