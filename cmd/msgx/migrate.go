package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/engine/store"
)

func migrateCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring our own PostgreSQL to this version's tables",
		Long: `Bring our own PostgreSQL to the tables of this version, with the lengths and flags of the
catalogue and the site's overrides (msgx.codec.site-file). Migrations only go forward, and
running it again changes nothing. The mailbox is somebody else's and is never altered.`,
		Example: `  msgx migrate --set postgres.url=postgres://msgx@localhost/msgx`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.config()
			if err != nil {
				return err
			}
			if c.Postgres.URL == "" {
				return usagef("msgx.postgres.url is not set: the database to migrate")
			}
			cat, err := core.LoadCatalogue(c)
			if err != nil {
				return err
			}
			from, to, err := store.Migrate(cmd.Context(), c.Postgres.URL)
			if err != nil {
				return err
			}
			bounds, err := store.AlignBounds(cmd.Context(), c.Postgres.URL, cat)
			if err != nil {
				return err
			}
			text := fmt.Sprintf("migrated from version %d to %d\n", from, to)
			if from == to {
				text = fmt.Sprintf("the database is at version %d already\n", to)
			}
			if bounds > 0 {
				text += fmt.Sprintf("%d lengths and flags follow the site's catalogue now\n", bounds)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
}
