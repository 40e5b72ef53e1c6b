package main

import (
	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/mailbox"
)

func mailboxCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mailbox",
		Short: "Look at the mailbox, and plan its purge",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(mailboxSurveyCommand(g), mailboxPurgePlanCommand(g))
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
