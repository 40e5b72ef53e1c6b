package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/rehearse"
	"msgx/engine/store"
)

// opened is our own database for a command that reads.
type opened struct {
	*store.Store
	mind *core.Core
}

func (g *globals) open(cmd *cobra.Command) (*opened, error) {
	c, err := g.config()
	if err != nil {
		return nil, err
	}
	if c.Postgres.URL == "" {
		return nil, usagef("msgx.postgres.url is not set: the database to read")
	}
	mind, err := core.Prepare(c)
	if err != nil {
		return nil, err
	}
	s, err := daemon.OpenStore(cmd.Context(), c, mind)
	if err != nil {
		return nil, err
	}
	if err := s.Check(cmd.Context()); err != nil {
		s.Close()
		return nil, err
	}
	return &opened{s, mind}, nil
}

func flightCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "flight",
		Short: "Look at a flight",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(flightShowCommand(g), flightHistoryCommand(g), flightAtCommand(g))
	return cmd
}

func flightShowCommand(g *globals) *cobra.Command {
	var (
		asJSON  bool
		history int
	)
	cmd := &cobra.Command{
		Use:   "show FLID",
		Short: "Show the current state of a flight and its last versions",
		Long: `Show the current state of a flight: every field, list and code-share member, and through
which message and rule its last versions came about.`,
		Example: "  msgx flight show 1000345\n  msgx flight show 1000345 --history 50 --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := flight.ParseID(args[0])
			if err != nil {
				return usagef("FLID %q: %w", args[0], err)
			}
			db, err := g.open(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			state, err := db.Flight(cmd.Context(), id)
			if errors.Is(err, fault.ErrNotFound) {
				return fmt.Errorf("flight %s: not known", id)
			}
			if err != nil {
				return err
			}
			changes, err := db.FlightHistory(cmd.Context(), id, 0, history)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"flight": stateJSON(db.mind.Catalogue, state), "history": changes})
			}
			return printFlight(cmd, g, db, state, changes)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&history, "history", 10, "versions to show")
	return cmd
}

func printFlight(cmd *cobra.Command, g *globals, db *opened, s *flight.State, changes []store.FlightChange) error {
	c, err := g.config()
	if err != nil {
		return err
	}
	var b strings.Builder
	b.Write(rehearse.FormatState(db.mind.Catalogue, c.Airport.Location, rehearse.World{Flights: map[flight.ID]*flight.State{s.ID: s}}))
	for _, m := range s.Members {
		fmt.Fprintf(&b, "  # code share: %s %s\n", m.FLID, m.FLNO)
	}
	fmt.Fprintf(&b, "\nhistory (times of %s)\n\n", c.Airport.Zone)
	for _, h := range changes {
		appendChange(&b, c, h, "")
	}
	if n := len(changes); n > 0 && changes[n-1].Version > 1 {
		fmt.Fprintf(&b, "and %s before that: --history %d\n", times(int(changes[n-1].Version-1), "version"), s.Version)
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), printable(b.String()))
	return err
}

// appendChange tells a version, and what changed with it: everything, or one path only.
func appendChange(b *strings.Builder, c *config.Config, h store.FlightChange, only string) {
	fmt.Fprintf(b, "version %-4d %s  %s  message %d %s by %s\n", h.Version, airportTime(c, h.At), h.Op, h.MsgID, h.Kind, h.Script)
	for _, f := range h.Changed {
		if only == "" || only == f.Path {
			fmt.Fprintf(b, "    %-13s %s -> %s\n", f.Path, orNone(f.Before), orNone(f.After))
		}
	}
}
