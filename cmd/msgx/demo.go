package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"msgx/tools/demo"
)

func demoCommand(g *globals) *cobra.Command {
	o := demo.Options{}
	var kafka string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a whole airport day on this machine, before your eyes",
		Long: `Run a whole airport day on this machine: make databases and topics of its own, start the daemon,
feed the mailbox a generated day (a morning schedule, then operations, a few of them bad),
show what happens, and check at the end that every message is accounted for.

` + "`make demo`" + ` starts the servers it needs and calls it. Called by hand it needs a PostgreSQL and a
MariaDB that it may create databases in; without a broker it brings one in this process.

--set gives the daemon of the demo a parameter, such as --set rules.dir=./live to try a rule set on it. What
the demo needs to be so stays so: databases, topics, and where it begins.`,
		Example: "  make demo\n  make demo ARGS=--once\n  make demo ARGS='--once --operations 3000 --seed 7'\n  make demo ARGS='--set rules.dir=./live'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Postgres == "" || o.MariaDB == "" {
				return usagef("no servers: run `make demo`, or give --postgres and --mariadb")
			}
			if kafka != "" {
				o.Kafka = strings.Split(kafka, ",")
			}
			o.Set = g.set
			o.Out, o.Build = cmd.OutOrStdout(), build()
			report, err := demo.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if !report.OK() {
				return errNotWell
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Postgres, "postgres", os.Getenv("MSGX_STACK_POSTGRES"), "URL of a PostgreSQL in which to create a database (or MSGX_STACK_POSTGRES)")
	f.StringVar(&o.MariaDB, "mariadb", os.Getenv("MSGX_STACK_MARIADB"), "data source of a MariaDB in which to create a database (or MSGX_STACK_MARIADB)")
	f.StringVar(&kafka, "kafka", os.Getenv("MSGX_STACK_KAFKA"), "brokers, host:port; empty brings one in this process (or MSGX_STACK_KAFKA)")
	f.BoolVar(&o.Once, "once", false, "end after the day; exit with 1 when anything is missing")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the day: the same seed, the same bytes")
	f.IntVar(&o.Flights, "flights", 1000, "flights of the morning schedule")
	f.IntVar(&o.Operations, "operations", 12000, "operations over the day")
	f.IntVar(&o.PerSecond, "rate", 0, "messages per second; 0 as fast as they can be written")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:0", "address of metrics and health")
	return cmd
}
