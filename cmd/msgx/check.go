package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/mailbox"
	"msgx/engine/outbox/kafka"
	"msgx/engine/store"
)

const checkBound = 10 * time.Second

func checkCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check configuration, rules, databases and topics before serving",
		Long: `Check everything that serving needs, with a line each: configuration, catalogue and rule set,
our own PostgreSQL and its tables, the mailbox and its columns, the broker and its topics.
Where another rule set than the configured one is on record as live, a note says so. Nothing is
changed; msgx topics create makes missing topics.

Exits with 1 when a line is not ok.`,
		Example: "  msgx check -c msgx.yaml\n  msgx check -c msgx.yaml --set rules.dir=./candidate",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.config()
			if err != nil {
				return err
			}
			p := &preflight{out: cmd.OutOrStdout()}
			p.run(cmd.Context(), c)
			if p.failed {
				return errNotWell
			}
			return nil
		},
	}
}

// preflight prints a line for each check.
type preflight struct {
	out    io.Writer
	failed bool
}

func (p *preflight) line(what string, err error, detail string) {
	if err != nil {
		p.failed = true
		fmt.Fprintf(p.out, "FAIL  %-13s  %s\n", what, plain(err))
		return
	}
	fmt.Fprintf(p.out, "ok    %-13s  %s\n", what, detail)
}

func (p *preflight) run(ctx context.Context, c *config.Config) {
	if faults := c.CheckServe(); len(faults) > 0 {
		for _, f := range faults {
			p.line("configuration", f, "")
		}
	} else {
		p.line("configuration", nil, fmt.Sprintf("airport zone %s, R %s, R_keep %s", c.Airport.Zone, c.Pipeline.R, c.Pipeline.RKeep))
	}
	mind, err := core.New(c)
	if err != nil {
		p.line("rules", err, "")
		return
	}
	p.line("rules", nil, fmt.Sprintf("%d kinds, rule set %.12s %s", len(mind.Rules.Scripts()), mind.Rules.Hash(), core.RulesFrom(c)))
	var hold time.Duration
	for _, tier := range c.Pipeline.Backoff {
		hold += tier
	}
	fmt.Fprintf(p.out, "note  %-13s  a message of a kind that nothing handles holds the line for %s before it is dead; ignored are %s\n",
		"rules", hold, strings.Join(c.Pipeline.Ignore, " "))
	if c.Postgres.URL != "" {
		p.postgres(ctx, c, mind)
	}
	if c.Mailbox.DSN != "" {
		p.mailbox(ctx, c)
	}
	if len(c.Kafka.Brokers) > 0 {
		p.kafka(ctx, c)
	}
}

func (p *preflight) postgres(ctx context.Context, c *config.Config, mind *core.Core) {
	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	s, err := daemon.OpenStore(ctx, c, mind)
	if err != nil {
		p.line("postgres", err, "")
		return
	}
	defer s.Close()
	if err := s.Check(ctx); err != nil {
		p.line("postgres", err, "")
		return
	}
	if err := s.CheckBounds(ctx, mind.Catalogue); err != nil {
		p.line("postgres", err, "")
		return
	}
	if err := daemon.CheckFacts(ctx, s, c); err != nil {
		p.line("postgres", err, "")
		return
	}
	p.line("postgres", nil, "answers, tables are of this version")
	p.live(ctx, s, mind)
	cursor, found, err := s.Cursor(ctx)
	switch {
	case err != nil:
		p.line("watermark", err, "")
	case found:
		p.line("watermark", nil, fmt.Sprintf("%d", cursor.Watermark))
	case c.Pipeline.CutoverWatermark == "":
		p.line("watermark", errors.New("the database has never read the mailbox and msgx.pipeline.cutover-watermark is not set: expected min, zero, max or an id"), "")
	default:
		p.line("watermark", nil, "will begin at "+c.Pipeline.CutoverWatermark)
	}
}

// live notes when another rule set than that of the configuration is on record as live.
func (p *preflight) live(ctx context.Context, s *store.Store, mind *core.Core) {
	l, found, err := s.Live(ctx)
	switch {
	case err != nil:
		p.line("live rules", err, "")
	case found && l.Hash != mind.Rules.Hash():
		pinned := ""
		if l.Pinned {
			pinned = ", pinned by a rollback"
		}
		fmt.Fprintf(p.out, "note  %-13s  live on record is rule set %.12s (%s by %s%s)\n", "rules", l.Hash, l.How, l.Who, pinned)
	}
}

func (p *preflight) mailbox(ctx context.Context, c *config.Config) {
	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	m, err := mailbox.Open(ctx, daemon.MailboxConfig(c))
	if err != nil {
		p.line("mailbox", err, "")
		return
	}
	defer func() { _ = m.Close() }()
	version, readOnly, err := m.Server(ctx)
	if err == nil && readOnly {
		err = fmt.Errorf("server %s is read-only: marks cannot be written; expected the writer", version)
	}
	p.line("mailbox", err, fmt.Sprintf("server %s, table %s", version, c.Mailbox.Inbound.Table))
}

func (p *preflight) kafka(ctx context.Context, c *config.Config) {
	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	admin, err := kafka.NewAdmin(daemon.KafkaConfig(c))
	if err != nil {
		p.line("kafka", err, "")
		return
	}
	problems, err := admin.Check(ctx, daemon.Topics(c))
	if err != nil {
		p.line("kafka", err, "")
		return
	}
	for _, problem := range problems {
		if problem.Fatal {
			p.line("kafka", errors.New(problem.String()), "")
		} else {
			fmt.Fprintf(p.out, "note  %-13s  %s\n", "kafka", problem)
		}
	}
	if len(problems) == 0 {
		p.line("kafka", nil, fmt.Sprintf("topics %s and %s", c.Kafka.MsgTopic, c.Kafka.SchdTopic))
	}
}
