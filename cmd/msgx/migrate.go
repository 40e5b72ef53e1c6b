package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"msgx/engine/store"
)

func migrateCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring our own PostgreSQL to this version's tables",
		Long: `Bring our own PostgreSQL to the tables of this version. Migrations only go forward, and
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
			from, to, err := store.Migrate(cmd.Context(), c.Postgres.URL)
			if err != nil {
				return err
			}
			if from == to {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "the database is at version %d already\n", to)
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "migrated from version %d to %d\n", from, to)
			return err
		},
	}
}
