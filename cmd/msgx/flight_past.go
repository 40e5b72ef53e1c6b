package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/engine/decision"
	"msgx/engine/fault"
	"msgx/engine/flight"
	"msgx/engine/rehearse"
	"msgx/engine/store"
)

func flightHistoryCommand(g *globals) *cobra.Command {
	var (
		limit  int
		before int64
		field  string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "history FLID",
		Short: "List the versions of a flight, and through what each came about",
		Long: `List the versions of a flight, the newest first: when, through which message of which kind, by which script, and what
changed from what to what. A page ends with the --before of the next. --field shows only versions in which a field or list changed.

Exits with 1 when there is none.`,
		Example: "  msgx flight history 1000345\n  msgx flight history 1000345 --field STND\n  msgx flight history 1000345 --before 40 --limit 20 --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := flight.ParseID(args[0])
			switch {
			case err != nil:
				return usagef("FLID %q: %w", args[0], err)
			case limit < 1 || limit > mostAtOnce:
				return usagef("--limit %d: expected 1 to %d", limit, mostAtOnce)
			case before < 0:
				return usagef("--before %d: expected a version, from 1", before)
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
			changes, next, err := db.page(cmd, id, before, limit, field)
			if err != nil {
				return err
			}
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), map[string]any{"flid": id, "versions": changes, "before": next}); err != nil {
					return err
				}
			} else {
				var b strings.Builder
				for _, h := range changes {
					appendChange(&b, c, h, field)
				}
				switch {
				case len(changes) == 0:
					fmt.Fprintf(&b, "flight %s: no such version is on record\n", id)
				case next > 0:
					fmt.Fprintf(&b, "and earlier ones: --before %d\n", next)
				}
				if _, err := fmt.Fprint(cmd.OutOrStdout(), printable(b.String())); err != nil {
					return err
				}
			}
			if len(changes) == 0 {
				return errNotWell
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "versions to show at most")
	cmd.Flags().Int64Var(&before, "before", 0, "show versions before this one")
	cmd.Flags().StringVar(&field, "field", "", "show only versions that changed this field or list, such as STND, GTDT, STATE")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// page is versions of a flight that changed a field, or all, and where the next page begins, 0 when there is none.
func (o *opened) page(cmd *cobra.Command, id flight.ID, before int64, limit int, field string) (page []store.FlightChange, next int64, err error) {
	for {
		found, err := o.FlightHistory(cmd.Context(), id, before, limit)
		if err != nil {
			return nil, 0, err
		}
		for _, h := range found {
			if field == "" || slices.ContainsFunc(h.Changed, func(f decision.FieldChange) bool { return f.Path == field }) {
				page = append(page, h)
			}
			if before = h.Version; len(page) == limit {
				break
			}
		}
		switch {
		case before == 1 || len(found) == 0:
			return page, 0, nil
		case len(page) == limit:
			return page, before, nil
		}
	}
}

func flightAtCommand(g *globals) *cobra.Command {
	var (
		version int64
		moment  string
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "at FLID",
		Short: "Show a flight as it was at a version or a time, and where each value came from",
		Long: `Show a flight as it was: its whole state at a version or at a time, and for each value the version, message, kind, script and
time that it came from. The state is rebuilt from the current one by taking later versions back, each of which has to fit: it is
exact, or it is said what is lost.

A time without an offset is the airport's, one without a day today's. Code-share members are told of the latest version only.
Exits with 1 when there was no such flight then, or when it cannot be told any more.`,
		Example: "  msgx flight at 1000345 --version 7\n  msgx flight at 1000345 --time 06:30\n  msgx flight at 1000345 --time 2026-03-01T06:30 --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := flight.ParseID(args[0])
			switch {
			case err != nil:
				return usagef("FLID %q: %w", args[0], err)
			case cmd.Flags().Changed("version") == (moment != ""):
				return usagef("expected exactly one of --version and --time")
			case cmd.Flags().Changed("version") && version < 1:
				return usagef("--version %d: expected a version, from 1", version)
			}
			c, err := g.config()
			if err != nil {
				return err
			}
			which := store.Moment{Version: version}
			if moment != "" {
				if which.Time, err = parseMoment("--time", moment, "a time", c.Airport.Location, time.Now()); err != nil {
					return err
				}
			}
			db, err := g.open(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			at, err := db.FlightAt(cmd.Context(), id, which)
			if errors.Is(err, fault.ErrNotFound) {
				return fmt.Errorf("flight %s: it was not known %s", id, momentText(c, which))
			}
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), pastJSON(db, at))
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), printable(pastText(c, db, at)))
			return err
		},
	}
	cmd.Flags().Int64Var(&version, "version", 0, "the version")
	cmd.Flags().StringVar(&moment, "time", "", "the time, such as 06:30 or 2026-03-01T06:30")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func momentText(c *config.Config, m store.Moment) string {
	if m.Version > 0 {
		return fmt.Sprintf("at version %d", m.Version)
	}
	return "at " + airportTime(c, m.Time)
}

func pastText(c *config.Config, db *opened, at store.FlightAt) string {
	var b strings.Builder
	s := at.State
	b.Write(rehearse.FormatState(db.mind.Catalogue, c.Airport.Location, rehearse.World{Flights: map[flight.ID]*flight.State{s.ID: s}}))
	fmt.Fprintf(&b, "\nfrom (times of %s)\n\n", c.Airport.Zone)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, path := range valuePaths(db, s) {
		by, known := at.Sources[path]
		if !known {
			fmt.Fprintf(w, "%s\tbefore what is kept\n", path)
			continue
		}
		fmt.Fprintf(w, "%s\tversion %d\t%s\tmessage %d %s\tby %s of %.12s\n", path, by.Version, airportTime(c, by.At), by.MsgID, by.Kind, by.Script, by.Ruleset)
	}
	_ = w.Flush() // a Builder takes everything
	return b.String()
}

// valuePaths are the fields, objects' parts and lists that have a value, in the catalogue's order.
func valuePaths(db *opened, s *flight.State) []string {
	paths := append(slices.Collect(maps.Keys(s.Fields)), slices.Collect(maps.Keys(s.Lists))...)
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == "FLID" })
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(db.mind.Catalogue.Order(a), db.mind.Catalogue.Order(b)), strings.Compare(a, b))
	})
	return append([]string{decision.PathState}, paths...)
}

// source is where a value came from.
type source struct {
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
	MsgID   int64     `json:"msg_id"`
	Kind    string    `json:"kind"`
	Script  string    `json:"script"`
	Ruleset string    `json:"ruleset"`
}

func pastJSON(db *opened, at store.FlightAt) map[string]any {
	sources := map[string]*source{}
	for _, path := range valuePaths(db, at.State) {
		sources[path] = nil
		if by, known := at.Sources[path]; known {
			sources[path] = &source{by.Version, by.At, by.MsgID, by.Kind, by.Script, by.Ruleset}
		}
	}
	return map[string]any{"flight": stateJSON(db.mind.Catalogue, at.State), "at": at.By.At, "sources": sources}
}
