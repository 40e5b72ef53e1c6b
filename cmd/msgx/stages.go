package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"msgx/engine/store"
)

func stagesCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stages",
		Short: "Look at the stages of the daemon, pause and resume them",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(stagesListCommand(g), stagesSetCommand(g, true), stagesSetCommand(g, false))
	return cmd
}

func stagesListCommand(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stages, and who paused which, when and why",
		Long: `List the stages: inbox reads the mailbox, pump decides, backfill writes processed marks, KAFKA:msg and KAFKA:schd
deliver. What is paused stays so over a restart and a takeover, until it is resumed.

Exits with 1 when a stage is paused.`,
		Example: "  msgx stages list\n  msgx stages list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.config()
			if err != nil {
				return err
			}
			db, err := g.open(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			all, err := db.Controls(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), all); err != nil {
					return err
				}
			} else {
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "STAGE\tSTATE\tSINCE\tBY\tREASON")
				for _, s := range all {
					state := map[bool]string{true: "paused", false: "running"}[s.Paused]
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.Stage, state, airportTime(c, s.At), orDash(s.By), orDash(s.Reason))
				}
				if err := w.Flush(); err != nil {
					return err
				}
			}
			if slices.ContainsFunc(all, func(s store.Control) bool { return s.Paused }) {
				return errNotWell
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func stagesSetCommand(g *globals, paused bool) *cobra.Command {
	var (
		o   order
		all bool
	)
	verb, done := "resume", "resumed"
	long := `Let stages go on that are paused; they go on within a second.

Exits with 1 when none of them was paused.`
	if paused {
		verb, done = "pause", "paused"
		long = `Pause stages of every instance, within a second, until they are resumed, over restarts and takeovers. The work in hand is
finished. Nothing is lost meanwhile: rows wait in the mailbox, messages for their decision, marks and events for their turn. Mind
how long the owner keeps rows in the mailbox.

Exits with 1 when all of them were paused.`
	}
	cmd := &cobra.Command{
		Use:     verb + " STAGE...",
		Short:   strings.ToUpper(verb[:1]) + verb[1:] + " stages, or all of them",
		Long:    long,
		Example: fmt.Sprintf("  msgx stages %s inbox --reason \"rotation of the mailbox\"\n  msgx stages %s --all --dry-run", verb, verb),
		Args: func(_ *cobra.Command, args []string) error {
			if all != (len(args) == 0) {
				return usagef("expected stages or --all, of %s", strings.Join(store.Stages, ", "))
			}
			for _, stage := range args {
				if !slices.Contains(store.Stages, stage) {
					return usagef("no stage %q, expected some of %s", stage, strings.Join(store.Stages, ", "))
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			db, err := g.open(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			controls, err := db.Controls(cmd.Context())
			if err != nil {
				return err
			}
			changed := false
			for _, s := range controls {
				if !all && !slices.Contains(args, s.Stage) {
					continue
				}
				text := fmt.Sprintf("%s is %s", s.Stage, done)
				switch {
				case s.Paused == paused:
					text = fmt.Sprintf("%s: nothing to do, it is %s", s.Stage, map[bool]string{true: "paused already", false: "not paused"}[paused])
				case o.dryRun:
					changed, text = true, fmt.Sprintf("%s would be %s", s.Stage, done)
				default:
					order := o.message()
					if err := db.SetPaused(cmd.Context(), s.Stage, paused, order.Who, order.Reason, order.At); err != nil {
						return err
					}
					changed = true
				}
				fmt.Fprintln(cmd.OutOrStdout(), text)
			}
			if !changed {
				return errNotWell
			}
			return nil
		},
	}
	o.flags(cmd, done)
	cmd.Flags().BoolVar(&all, "all", false, "every stage")
	return cmd
}
