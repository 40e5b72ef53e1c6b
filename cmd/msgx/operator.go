package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/fault"
	"msgx/engine/mailbox"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/replay"
)

// order is what a command that changes something is told of whoever gives it.
type order struct {
	by, reason, approver, ticket string
	dryRun                       bool
}

func (o *order) flags(cmd *cobra.Command, changes string) {
	cmd.Flags().StringVar(&o.by, "by", login(), "who does this, for the record")
	cmd.Flags().StringVar(&o.reason, "reason", "", "why, for the record; needed unless --dry-run")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would be "+changes+", and change nothing")
}

// login is whoever is at the terminal, also behind sudo.
func login() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// check says what is missing of an order that is to be carried out.
func (o *order) check() error {
	switch {
	case o.dryRun:
		return nil
	case o.reason == "":
		return usagef("--reason is missing: what is done by hand is put on record with its reason (or --dry-run to look only)")
	case o.by == "":
		return usagef("--by is missing: what is done by hand is put on record with a name")
	}
	return nil
}

func (o *order) message() message.Order {
	return message.Order{Who: o.by, Reason: o.reason, Approver: o.approver, Ticket: o.ticket, At: time.Now()}
}

// picked are the messages that a command is about: some ids, or a range of them.
type picked struct {
	ids      []int64
	from, to int64
	limit    int
}

// mostAtOnce bounds what one command reads and changes.
const mostAtOnce = 10000

func (p *picked) flags(cmd *cobra.Command) {
	cmd.Flags().Int64SliceVar(&p.ids, "id", nil, "message id; may be repeated or a list with commas")
	cmd.Flags().Int64Var(&p.from, "from", 0, "first message id of a range")
	cmd.Flags().Int64Var(&p.to, "to", 0, "last message id of a range")
	cmd.Flags().IntVar(&p.limit, "limit", 1000, fmt.Sprintf("take at most this many messages, up to %d", mostAtOnce))
}

func (p *picked) isRange() bool { return p.from != 0 || p.to != 0 }

// check holds the selection to exactly one way of selecting; others counts those of the command itself.
func (p *picked) check(others int, expected string) error {
	ways := others
	if len(p.ids) > 0 {
		ways++
	}
	if p.isRange() {
		ways++
	}
	switch {
	case ways != 1:
		return usagef("%d selections given, expected exactly one of %s", ways, expected)
	case p.isRange() && (p.from < 1 || p.to < p.from):
		return usagef("--from %d --to %d: expected a range of ids from 1, the first not above the last", p.from, p.to)
	case p.limit < 1 || p.limit > mostAtOnce:
		return usagef("--limit %d: expected 1 to %d", p.limit, mostAtOnce)
	case len(p.ids) > p.limit:
		return usagef("%d ids given, expected at most --limit %d", len(p.ids), p.limit)
	}
	for _, id := range p.ids {
		if id < 1 {
			return usagef("--id %d: expected a whole number from 1", id)
		}
	}
	return nil
}

// find reads the messages of the selection that are in one of the states, or all of those named by id; left
// are the ids that have no record. more tells that a range holds more than the limit.
func (p *picked) find(cmd *cobra.Command, db *opened, states ...message.State) (found []message.Standing, left []message.Left, more bool, err error) {
	left = []message.Left{}
	if p.isRange() {
		found, err = db.Within(cmd.Context(), p.from, p.to, states, p.limit+1)
		if more = len(found) > p.limit; more {
			found = found[:p.limit]
		}
		return found, left, more, err
	}
	found, err = db.Standings(cmd.Context(), p.ids)
	for _, id := range p.ids {
		if !slices.ContainsFunc(found, func(m message.Standing) bool { return m.MsgID == id }) {
			left = append(left, message.Left{MsgID: id, Reason: "it was never enqueued"})
		}
	}
	return found, left, false, err
}

// workbench is our own database with what plans and surveys need beside it.
type workbench struct {
	*opened
	config *config.Config
	replay *replay.Replay
	box    *mailbox.Mailbox // nil when none is configured
}

func (g *globals) workbench(cmd *cobra.Command) (*workbench, error) {
	c, err := g.config()
	if err != nil {
		return nil, err
	}
	db, err := g.open(cmd)
	if err != nil {
		return nil, err
	}
	judge, err := db.liveJudge(cmd.Context(), c)
	if err != nil {
		db.Close()
		return nil, err
	}
	w := &workbench{opened: db, config: c}
	parts := replay.Parts{Store: db, Decoder: db.mind.Codec, Judge: judge, IdentityMemory: c.Identity.Memory}
	for _, class := range c.Replay.Classes {
		parts.Classes = append(parts.Classes, message.ErrorClass(class))
	}
	if c.Mailbox.DSN != "" {
		if w.box, err = mailbox.Open(cmd.Context(), daemon.MailboxConfig(c)); err != nil {
			db.Close()
			return nil, err
		}
		parts.Mailbox = w.box
	}
	w.replay = replay.New(parts)
	return w, nil
}

// liveJudge judges by the rule set that is live, whatever the configuration names now. Before the first one was,
// and when its files make another under the catalogue of today, it is that of the configuration.
func (o *opened) liveJudge(ctx context.Context, c *config.Config) (rehearse.Judge, error) {
	live, found, err := o.Live(ctx)
	if err != nil {
		return nil, err
	}
	if found {
		set, err := o.Ruleset(ctx, live.Hash)
		if err != nil {
			return nil, err
		}
		_, judge, err := core.NewWorkshop(c, o.mind.Catalogue, "plan").Recall(set)
		if !errors.Is(err, fault.ErrNotFound) {
			return judge, err
		}
	}
	mind, err := core.New(c)
	if err != nil {
		return nil, err
	}
	return mind.Judge, nil
}

func (w *workbench) Close() {
	if w.box != nil {
		_ = w.box.Close()
	}
	w.opened.Close()
}

// clock writes instants as the airport's people read them.
func (w *workbench) clock(t time.Time) string { return airportTime(w.config, t) }

func airportTime(c *config.Config, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(c.Airport.Location).Format("2006-01-02 15:04:05")
}
