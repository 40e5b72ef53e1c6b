package main

import (
	"github.com/spf13/cobra"

	"msgx/cmd/msgx/daemon"
)

func serveCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon: read the mailbox, decide, deliver, mark. One instance is active at a time;
a second one stands by and takes over when the first falls silent.

It needs msgx.postgres.url, msgx.mailbox.dsn, msgx.kafka.brokers and
msgx.pipeline.max-commit-delay, a migrated database (msgx migrate), and, the first time,
msgx.pipeline.cutover-watermark. Servers that are away are waited for.

SIGTERM and SIGINT let the work in hand finish and give the lease back.`,
		Example: `  msgx serve --config msgx.yaml
  MSGX_POSTGRES_URL=postgres://msgx@localhost/msgx msgx serve --set pipeline.max-commit-delay=30s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.config()
			if err != nil {
				return err
			}
			if faults := c.CheckServe(); len(faults) > 0 {
				return usageFaults(faults)
			}
			d, err := daemon.New(cmd.Context(), c, build(), logger(c, cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			return d.Run(cmd.Context())
		},
	}
}
