package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/backfill"
	"msgx/engine/inbox"
	"msgx/engine/mailbox"
	"msgx/engine/pump"
)

func mailboxCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mailbox",
		Short: "Look at the mailbox, leave it alone for a while, and plan its purge",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(mailboxSurveyCommand(g), mailboxPurgePlanCommand(g), mailboxPauseCommand(g, true), mailboxPauseCommand(g, false))
	return cmd
}

// desk is our own database and the mailbox beside it, both to be read.
type desk struct {
	*opened
	config *config.Config
	box    *mailbox.Mailbox
}

func (g *globals) desk(cmd *cobra.Command) (*desk, error) {
	c, err := g.config()
	if err != nil {
		return nil, err
	}
	if c.Mailbox.DSN == "" {
		return nil, usagef("msgx.mailbox.dsn is not set: the mailbox to read")
	}
	db, err := g.open(cmd)
	if err != nil {
		return nil, err
	}
	box, err := mailbox.Open(cmd.Context(), daemon.MailboxConfig(c))
	if err != nil {
		db.Close()
		return nil, err
	}
	return &desk{opened: db, config: c, box: box}, nil
}

func (d *desk) Close() {
	_ = d.box.Close()
	d.opened.Close()
}

// touching are the stages that use the mailbox.
var touching = []string{inbox.Stage, pump.Stage, backfill.Stage}

func mailboxPauseCommand(g *globals, pause bool) *cobra.Command {
	var o order
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Have inbox, pump and back-fill leave the mailbox alone, as while it is rotated",
		Long: `Have inbox, pump and back-fill leave the mailbox alone, for instance while its owner rotates the table: messages
wait, delivery goes on. It holds over restarts, until mailbox resume. What is in hand is finished first: the pause is in
force when the metrics msgx_inbox_paused, msgx_pump_paused and msgx_backfill_paused are 1.`,
		Example: `  msgx mailbox pause --reason "rotation of the mailbox"`,
		Args:    cobra.NoArgs,
	}
	verb, done := "paused", "pause"
	if !pause {
		cmd.Use, cmd.Short = "resume", "Have inbox, pump and back-fill use the mailbox again"
		cmd.Long = "Have inbox, pump and back-fill use the mailbox again after mailbox pause.\nThe inbox looks at everything anew."
		cmd.Example = `  msgx mailbox resume --reason "rotation done"`
		verb, done = "resumed", "resume"
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.check(); err != nil {
			return err
		}
		db, err := g.open(cmd)
		if err != nil {
			return err
		}
		defer db.Close()
		for _, stage := range touching {
			if o.dryRun {
				fmt.Fprintf(cmd.OutOrStdout(), "would %s %s\n", done, stage)
				continue
			}
			if err := db.SetPaused(cmd.Context(), stage, pause, o.by, o.reason, time.Now()); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", stage, verb)
		}
		return nil
	}
	o.flags(cmd, verb)
	return cmd
}
