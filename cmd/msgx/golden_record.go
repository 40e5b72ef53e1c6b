package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/codec"
	"msgx/engine/message"
	"msgx/engine/redact"
	"msgx/engine/rulebook"
	"msgx/golden"
)

// recording is what `golden record` was asked.
type recording struct {
	msgID        int64
	dir          string
	fromMailbox  bool
	keepPersonal bool
	remark       string // what has to be said beside the case, "" for nothing
}

func goldenRecordCommand(g *globals) *cobra.Command {
	r := &recording{}
	cmd := &cobra.Command{
		Use:   "record --msg-id ID [NAME]",
		Short: "Turn a message that was decided into a golden case",
		Long: `Turn a message of the mailbox that has been decided into a golden case: its body, the flights and
reference data that it was decided on, and what came of it. A duplicate brings the message with it
that it is a duplicate of.

The case is refused when the message, decided again by the rule set that decided it, does not come
out as it is on record: same outcome, script, versions, notes and events, and every change byte
for byte. Then personal data are replaced by the rules of msgx.golden.redact, in the body and in the
flights alike, and the message is decided once more: what comes out has to be of the same shape,
values aside.

A rule is PATH=REPLACEMENT. PATH names an element from its end: VPCD, VIPF/VPCD, */TEXT for the own
text of any element. {n} in REPLACEMENT counts the values, so that what was equal stays equal and what
was not does not. Look through the case before it leaves the place: rules only find what they name.

The case is printed, or written to cases/NAME.txtar of --dir. NAME is that of the kind with the id
of the message when it is left out.`,
		Example: "  msgx golden record --msg-id 4711\n  msgx golden record --msg-id 4711 gate-twice --dir ./golden\n" +
			`  msgx golden record --msg-id 4711 --set "golden.redact=VIPF/VPCD=VIP{n},REMC=remark {n}"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.msgID < 1 {
				return usageError{errors.New("--msg-id is not given: the id of a message that was decided, from 1")}
			}
			if len(args) == 1 && !caseName.MatchString(args[0]) {
				return usagef("name %q: expected words of small letters and digits with - between them", args[0])
			}
			return r.run(cmd, g, strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	f.Int64Var(&r.msgID, "msg-id", 0, "id of the message in the mailbox")
	f.StringVar(&r.dir, "dir", "", "golden directory to write the case into; printed when left out")
	f.BoolVar(&r.fromMailbox, "from-mailbox", false, "read the body from the mailbox instead of our own copy")
	f.BoolVar(&r.keepPersonal, "keep-personal-data", false, "replace nothing")
	return cmd
}

func (r *recording) run(cmd *cobra.Command, g *globals, name string) error {
	db, err := g.open(cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := g.config()
	if err != nil {
		return err
	}
	past, err := openRecall(cmd.Context(), db, c, r.fromMailbox)
	if err != nil {
		return err
	}
	defer past.Close()
	text, name, err := r.compose(cmd.Context(), past, name)
	if err != nil {
		return err
	}
	if r.remark != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), r.remark)
	}
	if r.dir == "" {
		_, err := cmd.OutOrStdout().Write(text)
		return err
	}
	file := filepath.Join(r.dir, "cases", name+".txtar")
	if err := writeNew(file, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n\nnext: say in its comment what it shows, look for personal data that no rule names, then\n  msgx golden run %s --dir %s\n",
		file, name, golden.ShellWord(r.dir))
	return err
}

// compose makes the text of the case, and its name.
func (r *recording) compose(ctx context.Context, past *recall, name string) ([]byte, string, error) {
	t, err := r.take(ctx, past)
	if err != nil {
		return nil, "", err
	}
	m := &t.messages[len(t.messages)-1]
	if name == "" {
		name = fmt.Sprintf("%s-%d", m.fileName(), m.MsgID)
	}
	raws := make([]message.Raw, len(t.messages))
	for i := range t.messages {
		raws[i] = t.messages[i].raw
		raws[i].MsgID = int64(i + 1)
	}
	was, err := t.shapes(past, raws, t.before)
	if err != nil {
		return nil, "", err
	}
	if !r.keepPersonal {
		if raws, err = r.redacted(past, t, raws); err != nil {
			return nil, "", err
		}
		is, err := t.shapes(past, raws, t.before)
		if err != nil {
			return nil, "", fmt.Errorf("without its personal data: %w; change msgx.golden.redact, or record it as it is with --keep-personal-data", err)
		}
		if was != is {
			return nil, "", fmt.Errorf("message %d: without its personal data it is decided differently; was\n%sis\n%sexpected the same; change msgx.golden.redact", r.msgID, was, is)
		}
	}
	draft := golden.Draft{Name: name, Comment: t.comment(), Settings: caseSettings(past.config, t.settings), Before: t.before}
	for i, raw := range raws {
		draft.Messages = append(draft.Messages, golden.NamedRaw{Name: fmt.Sprintf("%02d-%s.xml", i+1, t.messages[i].fileName()), Raw: raw})
	}
	text, err := golden.Compose(t.files, draft)
	if err != nil {
		return nil, "", err
	}
	// The corpus is run with the rule set of today, which need not be the one that decided.
	now := t.files
	now.Rules = core.RulesFS(past.config)
	if today, err := golden.Compose(now, draft); err != nil || !bytes.Equal(today, text) {
		r.remark = fmt.Sprintf("note: rule set %s decides it differently from the one on record; `msgx golden run` will say how", core.RulesFrom(past.config))
	}
	return text, name, nil
}

// redacted replaces personal data in the messages and in what was there before.
func (r *recording) redacted(past *recall, t *take, raws []message.Raw) ([]message.Raw, error) {
	by, err := redact.New(past.db.mind.Catalogue, past.config.Golden.Redact)
	if err != nil {
		return nil, usagef("msgx.golden.redact: %w", err)
	}
	out := make([]message.Raw, len(raws))
	for i, raw := range raws {
		if out[i], err = by.Body(raw); err != nil {
			return nil, fmt.Errorf("%w; --keep-personal-data records it as it is", err)
		}
	}
	t.before, err = by.World(t.before)
	return out, err
}

// caseSettings are those of the configuration that a case has.
func caseSettings(c *config.Config, s rulebook.Settings) golden.Settings {
	out := golden.Settings{
		Zone: c.Airport.Location, DayCutover: c.Airport.DayCutover, CodeShare: c.Outbox.CodeShare, AbsentOptional: s.AbsentOptional,
		IdentityWithDay: c.Identity.IncludeDayBoundary,
	}
	if !slices.Equal(c.Pipeline.Ignore, codec.DefaultIgnore) {
		out.Ignore = c.Pipeline.Ignore
	}
	return out
}

// fileName is the kind of a message as part of a file name. What the message called itself may be any text.
func (m *recalled) fileName() string {
	if name := strings.ToLower(m.Kind); caseName.MatchString(name) {
		return name
	}
	return "message"
}
