package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/audit"
	"msgx/engine/clock"
	"msgx/engine/mailbox"
)

// auditFlags are what `msgx audit` is asked for.
type auditFlags struct {
	from, to           int64
	findings           int
	noKafka, noMailbox bool
	rebuild, asJSON    bool
}

func auditCommand(g *globals) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Compare mailbox, database and topics, and say which promises the data keep",
		Long: `Compare the mailbox, our own PostgreSQL and both topics end to end. Each promise of the system has
a line: held, broken with each difference (where, what was found, what was expected), or
not comparable and why.

It only reads, and may run beside the daemon: the database is read in one snapshot, and what was not yet
so then is looked at again. It holds one session of PostgreSQL as long as it takes, and keeps in memory
one hash for each flight; --rebuild keeps every flight.

--from and --to bound the messages, and the flights to those that one of them touched; topics are always read
whole. --rebuild makes all decisions again, in their order, from our copies of the bodies or
the mailbox, under the rule sets on record, and compares what they come to with the state. With --from it
begins with the state before that message, as history gives it. A rule set other than the configured one is not at
hand today; then, and where bodies are gone, it says so.

History older than 90 days and events older than 7 are not missed.

Exits with 1 when anything is broken.`,
		Example: "  msgx audit\n  msgx audit --from 120000 --to 130000 --no-kafka\n  msgx audit --rebuild --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.from < 0 || f.to < 0 || f.to > 0 && f.from > f.to {
				return usagef("--from %d --to %d: expected ids of the mailbox, the first not above the last", f.from, f.to)
			}
			if f.rebuild && f.to > 0 {
				return usagef("--rebuild --to %d: the state is that after the last message, expected no --to", f.to)
			}
			report, err := g.audit(cmd, f)
			if err != nil {
				return err
			}
			if f.asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = printAudit(cmd.OutOrStdout(), report)
			}
			if err == nil && !report.Well() {
				err = errNotWell
			}
			return err
		},
	}
	cmd.Flags().Int64Var(&f.from, "from", 0, "first message, by its id in the mailbox")
	cmd.Flags().Int64Var(&f.to, "to", 0, "last message")
	cmd.Flags().IntVar(&f.findings, "findings", audit.DefaultFindings, "differences told for each promise, -1 for all")
	cmd.Flags().BoolVar(&f.noKafka, "no-kafka", false, "leave the topics alone")
	cmd.Flags().BoolVar(&f.noMailbox, "no-mailbox", false, "leave the mailbox alone")
	cmd.Flags().BoolVar(&f.rebuild, "rebuild", false, "make all decisions again and compare the state")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	return cmd
}

// audit opens what is to be compared and compares it.
func (g *globals) audit(cmd *cobra.Command, f auditFlags) (*audit.Report, error) {
	c, err := g.config()
	if err != nil {
		return nil, err
	}
	if err := auditable(c, f); err != nil {
		return nil, err
	}
	db, err := g.open(cmd)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	needs := daemon.AuditNeeds(c, db.Store, db.mind, clock.System{})
	if !f.noMailbox {
		m, err := mailbox.Open(cmd.Context(), daemon.MailboxConfig(c))
		if err != nil {
			return nil, err
		}
		defer func() { _ = m.Close() }()
		needs.Mailbox = m
	}
	if !f.noKafka {
		if err := daemon.AuditTopics(&needs, c); err != nil {
			return nil, err
		}
	}
	o := daemon.AuditOptions(c)
	o.From, o.To, o.Rebuild, o.Findings = f.from, f.to, f.rebuild, f.findings
	return audit.New(needs, o).Run(cmd.Context())
}

// auditable tells what is not configured and was not left out.
func auditable(c *config.Config, f auditFlags) error {
	switch {
	case !f.noMailbox && c.Mailbox.DSN == "":
		return usagef("msgx.mailbox.dsn is not set: the mailbox to compare, or --no-mailbox")
	case !f.noKafka && len(c.Kafka.Brokers) == 0:
		return usagef("msgx.kafka.brokers is not set: the brokers to compare, or --no-kafka")
	}
	return nil
}

// printAudit prints a line for each promise, and below it what was found.
func printAudit(out io.Writer, r *audit.Report) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	for _, l := range r.Lines {
		verdict := string(l.Verdict)
		if l.Broken > 0 {
			verdict = fmt.Sprintf("broken %d", l.Broken)
		}
		fmt.Fprintf(w, "%2d  %s\t%s\t%d compared\n", l.Invariant, verdict, l.Name, l.Compared)
	}
	_ = w.Flush()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	b.Reset()
	for i, l := range r.Lines {
		b.WriteString(lines[i] + "\n")
		for _, text := range l.Limits {
			fmt.Fprintf(&b, "      not compared: %s\n", text)
		}
		for _, f := range l.Findings {
			fmt.Fprintf(&b, "      %s\n          found     %s\n          expected  %s\n", f.Place, f.Found, f.Expected)
		}
		if more := l.Broken - int64(len(l.Findings)); more > 0 {
			fmt.Fprintf(&b, "      and %d more: --findings -1\n", more)
		}
	}
	b.WriteString("\n")
	for _, what := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&b, "%8d  %s\n", r.Counts[what], what)
	}
	if r.Well() {
		b.WriteString("\nNothing is broken.\n")
	} else {
		fmt.Fprintf(&b, "\n%s.\n", times(int(r.Broken()), "difference"))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
