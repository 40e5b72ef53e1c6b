package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/outbox/kafka"
)

// creationBound is how long brokers may take to make topics and to know them.
const creationBound = 30 * time.Second

func topicsCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topics",
		Short: "Check the topics that events go to, and create them",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(topicsCheckCommand(g), topicsCreateCommand(g))
	return cmd
}

func topicsCheckCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Say how the topics differ from what delivery needs",
		Long: `Compare both topics with what delivery needs: that they are there, partitions, leaders, replicas,
cleanup policy, retention, replicas in sync and message size, each difference with the command that
mends it. Nothing is changed.

Exits with 1 when data would be lost, or cannot be delivered.`,
		Example: "  msgx topics check -c msgx.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, admin, err := g.cluster()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), checkBound)
			defer cancel()
			return tellTopics(ctx, cmd.OutOrStdout(), c, admin)
		},
	}
}

func topicsCreateCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "create",
		Short: "Create the topics that are missing",
		Long: `Create the topics that are missing, with msgx.kafka.partitions and msgx.kafka.replication: the one of
every change is kept for msgx.kafka.retention, the one of latest states is compacted. Wait until the
brokers know them, and check both. A topic that is there is not changed.

Exits with 1 when data would be lost, or cannot be delivered.`,
		Example: "  msgx topics create -c msgx.yaml\n  msgx topics create -c msgx.yaml --set kafka.partitions=24 --set kafka.replication=3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, admin, err := g.cluster()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), creationBound)
			defer cancel()
			created, err := admin.Create(ctx, daemon.Topics(c))
			for _, name := range created {
				fmt.Fprintf(cmd.OutOrStdout(), "created topic %s\n", name)
			}
			if err != nil {
				return err
			}
			return tellTopics(ctx, cmd.OutOrStdout(), c, admin)
		},
	}
}

// cluster is the configuration and the way to its brokers.
func (g *globals) cluster() (*config.Config, *kafka.Admin, error) {
	c, err := g.config()
	if err != nil {
		return nil, nil, err
	}
	if len(c.Kafka.Brokers) == 0 {
		return nil, nil, usagef("msgx.kafka.brokers is not set: the brokers to ask, such as localhost:9092")
	}
	admin, err := kafka.NewAdmin(daemon.KafkaConfig(c))
	return c, admin, err
}

// tellTopics prints a line for each difference.
func tellTopics(ctx context.Context, out io.Writer, c *config.Config, admin *kafka.Admin) error {
	problems, err := admin.Check(ctx, daemon.Topics(c))
	if err != nil {
		return err
	}
	fatal := false
	for _, p := range problems {
		word := "note"
		if p.Fatal {
			word, fatal = "FAIL", true
		}
		fmt.Fprintf(out, "%s  %s\n", word, p)
	}
	if fatal {
		return errNotWell
	}
	fmt.Fprintf(out, "ok    topics %s and %s\n", c.Kafka.MsgTopic, c.Kafka.SchdTopic)
	return nil
}
