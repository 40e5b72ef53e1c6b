package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/message"
	"msgx/engine/ruleset"
	"msgx/engine/store"
)

// onRecord is our own database for commands that work on rule sets of the record: they need no
// directory, which may be gone or broken.
type onRecord struct {
	*store.Store
	config *config.Config
	mind   *core.Core
}

func (g *globals) onRecord(cmd *cobra.Command) (*onRecord, error) {
	c, err := g.config()
	if err != nil {
		return nil, err
	}
	if c.Postgres.URL == "" {
		return nil, usagef("msgx.postgres.url is not set: the database to read")
	}
	mind, err := core.Prepare(c)
	if err != nil {
		return nil, err
	}
	s, err := daemon.OpenStore(cmd.Context(), c, mind)
	if err != nil {
		return nil, err
	}
	if err := s.Check(cmd.Context()); err != nil {
		s.Close()
		return nil, err
	}
	return &onRecord{s, c, mind}, nil
}

// asking is what the commands that ask something of the leader have in common.
type asking struct {
	reason string
	who    string
	wait   time.Duration
	asJSON bool
}

func (a *asking) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.reason, "reason", "", "why, for the record (needed)")
	f.StringVar(&a.who, "who", operator(), "who asks, for the record")
	f.DurationVar(&a.wait, "wait", 2*time.Minute, "how long to wait for the leader's answer; 0 only leaves the request")
	f.BoolVar(&a.asJSON, "json", false, "print JSON")
}

// operator names who runs the command.
func operator() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// check refuses a command without a reason.
func (a *asking) check() error {
	if strings.TrimSpace(a.reason) == "" {
		return usagef("--reason is missing: why, for the record")
	}
	if a.wait < 0 {
		return usagef("--wait is %s, expected 0s or more", a.wait)
	}
	return nil
}

// answerEvery is how often the leader's answer is looked for.
const answerEvery = 200 * time.Millisecond

// ask leaves a request for the leader, waits for its answer and prints it.
func (a *asking) ask(ctx context.Context, out io.Writer, db *onRecord, action ruleset.How, hash string) error {
	q := ruleset.Request{Action: action, Hash: hash, Who: a.who, Why: a.reason, At: time.Now()}
	id, err := db.AskRuleset(ctx, q)
	if err != nil {
		return err
	}
	q.ID = id
	bounded, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	tick := time.NewTicker(answerEvery)
	defer tick.Stop()
	for {
		now, err := db.RulesetRequest(ctx, id)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil:
			q = now
		}
		if q.Answer != nil {
			return a.print(out, q)
		}
		select {
		case <-bounded.Done():
			return a.unanswered(ctx, out, db, q)
		case <-tick.C:
		}
	}
}

func (a *asking) print(out io.Writer, q ruleset.Request) error {
	var err error
	switch {
	case a.asJSON:
		err = printJSON(out, q)
	case q.Answer.Live:
		_, err = fmt.Fprintf(out, "rule set %s is live\n", q.Answer.Hash)
	default:
		_, err = fmt.Fprintf(out, "refused, the live one stays\n%s", listed(q.Answer.Reasons))
	}
	if err == nil && !q.Answer.Live {
		return errNotWell
	}
	return err
}

// unanswered tells why nobody may have answered.
func (a *asking) unanswered(ctx context.Context, out io.Writer, db *onRecord, q ruleset.Request) error {
	if a.asJSON {
		if err := printJSON(out, q); err != nil {
			return err
		}
	}
	if a.wait == 0 {
		if !a.asJSON {
			fmt.Fprintf(out, "request %d is left for the leader; msgx rules history shows what became of it\n", q.ID)
		}
		return nil
	}
	l, err := db.Lease(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	who := fmt.Sprintf("%s leads and is still at it", l.Holder)
	if l.Released || l.BeatAge > db.config.Lease.Duration {
		who = "no instance leads now; the next one that does will carry it out"
	}
	after := a.wait
	if ctx.Err() != nil { // a signal, before the time was over
		after = time.Since(q.At).Round(time.Second)
	}
	fmt.Fprintf(out, "request %d has no answer after %s: %s\nit stays, and may be carried out yet; msgx rules history shows what became of it\n", q.ID, after, who)
	return errNotWell
}

// listed indents reasons, a bullet each.
func listed(reasons []string) string {
	var b strings.Builder
	for _, r := range reasons {
		for i, line := range strings.Split(strings.TrimRight(r, "\n"), "\n") {
			mark := "  - "
			if i > 0 {
				mark = "    "
			}
			b.WriteString(mark + message.SafeText(line, 1000) + "\n")
		}
	}
	return b.String()
}
