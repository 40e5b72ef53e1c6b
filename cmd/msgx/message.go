package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"msgx/engine/fault"
)

func messageCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "message",
		Short: "Look at a message",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(messageShowCommand(g), messageExplainCommand(g))
	return cmd
}

func messageShowCommand(g *globals) *cobra.Command {
	var asJSON, raw bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show what is known of a message: enqueued, decided, marked, delivered",
		Long: `Show what is known of a message of the mailbox by its id: when it was enqueued, what was decided
by which rule and what that changed, whether its processed mark is written, which events it led to
and where they landed, and what was done to it by hand. --raw prints our own copy of its body instead.`,
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
				return notEnqueued(cmd.Context(), db, id)
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
			told := &story{Record: record, zone: c.Airport.Location}
			if err := told.around(cmd.Context(), db, c.Lease.Duration); err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), printable(told.String()))
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
