package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/decision"
	"msgx/engine/explain"
	"msgx/engine/message"
	"msgx/engine/rulebook"
)

// telling is how an explanation is printed.
type telling struct {
	asJSON bool
	all    bool
}

func (t *telling) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&t.all, "all", false, "shorten nothing: every record, branch, read and line")
}

func (t *telling) text(w io.Writer, x *explain.Explanation) error {
	_, err := io.WriteString(w, x.Text(explain.TextOptions{Colour: onTerminal(w), All: t.all}))
	return err
}

// messageID reads an id as the command line has it.
func messageID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usagef("message id %q: expected a whole number from 1", text)
	}
	return id, nil
}

func messageExplainCommand(g *globals) *cobra.Command {
	var (
		how         telling
		fromMailbox bool
		with        string
	)
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Explain why a message was decided as it was",
		Long: `Explain a message that has been decided: what it said, which script at which version ran, which
lines and branches, on which values, what it looked at and what it left alone, and what came
of it. The state that it was decided on is rebuilt from the current state and the history of the
flights, and the rule set that decided it is the one on record, so the decision is made again as it
was; the first lines say whether it comes out as it is on record.

--with DIR says what another rule set would have made of it.

Exits with 1 when what comes out is not what is on record, and when the database cannot tell (any
more) what the message was decided on: history that is not kept, reference data that has been
overwritten since.`,
		Example: "  msgx message explain 4711\n  msgx message explain 4711 --with ./candidate\n  msgx message explain 4711 --json --from-mailbox",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := messageID(args[0])
			if err != nil {
				return err
			}
			db, err := g.open(cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			c, err := g.config()
			if err != nil {
				return err
			}
			r, err := openRecall(cmd.Context(), db, c, fromMailbox)
			if err != nil {
				return err
			}
			defer r.Close()
			x, err := r.explain(cmd.Context(), id, with)
			if err != nil {
				return err
			}
			if how.asJSON {
				err = printJSON(cmd.OutOrStdout(), x)
			} else {
				err = how.text(cmd.OutOrStdout(), x)
			}
			if err == nil && !x.Recorded.Same {
				return errNotWell
			}
			return err
		},
	}
	how.flags(cmd)
	cmd.Flags().BoolVar(&fromMailbox, "from-mailbox", false, "read the body from the mailbox instead of our own copy")
	cmd.Flags().StringVar(&with, "with", "", `directory of another rule set to compare with; "`+shipped+`" is the one in the binary`)
	return cmd
}

// explain decides a recorded message again and tells how.
func (r *recall) explain(ctx context.Context, id int64, with string) (*explain.Explanation, error) {
	m, err := r.message(ctx, id)
	if err != nil {
		return nil, err
	}
	e, remarks, err := r.explainer(ctx, m.Decided.Ruleset)
	if err != nil {
		return nil, err
	}
	var other *explain.Explainer
	if with != "" {
		if other, err = withOther(r.config, r.db.mind, with); err != nil {
			return nil, usageError{err}
		}
	}
	if err := r.judge(ctx, &m, e, other); err != nil {
		return nil, err
	}
	x := e.Explain("")
	s := e.Settlement()
	x.Recorded = &explain.Recorded{Ruleset: m.Decided.Ruleset, Script: m.Decided.Script, Differs: m.deviations(&s), Remarks: remarks}
	x.Recorded.Same = len(x.Recorded.Differs) == 0
	if m.Failure.Class == message.Infra || strings.HasPrefix(m.Failure.LastError, string(message.Infra)+": ") {
		x.Recorded.Remarks = append(x.Recorded.Remarks, "the infrastructure failed then; this is what would have been decided")
	}
	if other != nil {
		x.With = e.With(with, other)
	}
	return x, nil
}

// explainer makes one on the rule set that a message was decided with.
func (r *recall) explainer(ctx context.Context, hash string) (*explain.Explainer, []string, error) {
	files, from, settings, remarks, err := r.rules(ctx, hash)
	if err != nil {
		return nil, nil, err
	}
	book, err := core.Traced(r.config, r.db.mind.Catalogue, files, from, settings)
	if err != nil {
		return nil, nil, err
	}
	if hash != "" && book.Hash() != hash && len(remarks) == 0 {
		remarks = append(remarks, fmt.Sprintf("the catalogue has changed since: the files of rule set %.12s are now rule set %.12s", hash, book.Hash()))
	}
	return explain.New(r.db.mind.Catalogue, book, core.VerdictOptions(r.config)), remarks, nil
}

// withOther makes an explainer on a rule set that the command line names.
func withOther(c *config.Config, mind *core.Core, name string) (*explain.Explainer, error) {
	book, err := core.Traced(c, mind.Catalogue, rulesOf(name), name, rulebook.Settings{AbsentOptional: c.Schd.AbsentOptional})
	if err != nil {
		return nil, err
	}
	return explain.New(mind.Catalogue, book, core.VerdictOptions(c)), nil
}

// judge has explainers judge a message on what it was judged on; the second may be nil.
func (r *recall) judge(ctx context.Context, m *recalled, first, second *explain.Explainer) error {
	judges := []*explain.Explainer{first}
	if second != nil {
		judges = append(judges, second)
	}
	msg, broken := r.db.mind.Codec.Decode(m.raw)
	var claimed decision.Claimed
	if broken == nil {
		var err error
		if claimed, err = r.before(ctx)(joined(msg, judges)); err != nil {
			return err
		}
	}
	for _, e := range judges {
		if broken != nil {
			e.Broken(m.raw, broken, m.at())
		} else {
			e.Judge(msg, claimed, m.at())
		}
	}
	return nil
}

// joined is a claim of what any of the judges reads.
func joined(msg *message.Message, judges []*explain.Explainer) decision.Claim {
	claim := judges[0].Claim(msg)
	for _, e := range judges[1:] {
		for _, typ := range e.Claim(msg).RefTypes {
			if !slices.Contains(claim.RefTypes, typ) {
				claim.RefTypes = append(slices.Clone(claim.RefTypes), typ)
			}
		}
	}
	return claim
}
