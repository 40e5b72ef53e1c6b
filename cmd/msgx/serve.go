package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

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

A rule set that changes in msgx.rules.dir goes live between two messages once it has passed its
proof; one that is refused leaves the live one alone. SIGHUP, msgx rules activate and msgx rules
rollback ask for one, and msgx rules history tells what became of each. An instance that begins to
lead goes on with the rule set that is on record as live, unless its own directory has changed since.

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
			defer reloadOnSignal(d)()
			return d.Run(cmd.Context())
		},
	}
}

// reloadOnSignal has SIGHUP try the rule set directory, until the function that it returns is called.
func reloadOnSignal(d *daemon.Daemon) (stop func()) {
	hangups, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			select {
			case <-hangups:
				d.Reload()
			case <-ended:
				return
			}
		}
	})
	return func() {
		signal.Stop(hangups)
		close(ended)
		listening.Wait()
	}
}
