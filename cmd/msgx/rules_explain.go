package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/codec"
	"msgx/engine/decision"
	"msgx/engine/explain"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/rulebook"
	"msgx/engine/verdict"
	"msgx/golden"
)

// rulesExplain is what `rules explain` was asked.
type rulesExplain struct {
	telling
	stateFile, caseName, dir, with string
	in                             io.Reader
}

func rulesExplainCommand(g *globals) *cobra.Command {
	r := &rulesExplain{}
	cmd := &cobra.Command{
		Use:   "explain FILE... | --case NAME",
		Short: "Explain how the rule set decides a message, in memory and without any server",
		Long: `Explain how the rule set decides messages: what each says, which script at which version runs, which
lines and branches, on which values, what it looks at and what it leaves alone, and what comes
of it. No server is needed and nothing is kept.

The messages are files, with --state for what is there before, as ` + "`msgx try`" + ` takes them; or
those of a golden case, with its own settings. They come one after the other: each is decided on
what those before it have left.

The rule set is the one in the binary, or that of msgx.rules.dir. --with DIR says of each message
what another rule set would make of it on the same state.`,
		Example: "  msgx rules explain gate.xml --state before.yaml\n  msgx rules explain --case flop-gtdt\n" +
			"  msgx rules explain --case code-share --with ./candidate --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 0) == (r.caseName == "") {
				return usageError{errNothingAsked}
			}
			if r.caseName != "" && r.stateFile != "" {
				return usagef("--state goes with message files; the case %s has a state of its own", r.caseName)
			}
			if r.caseName == "" && r.dir != "" {
				return usagef("--dir goes with --case: it is where the case is read from")
			}
			c, err := g.config()
			if err != nil {
				return err
			}
			r.in = cmd.InOrStdin()
			explained, err := r.run(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			if r.asJSON {
				return printJSON(cmd.OutOrStdout(), explained)
			}
			for i, x := range explained {
				if i > 0 {
					if _, err := io.WriteString(cmd.OutOrStdout(), "\n\n"); err != nil {
						return err
					}
				}
				if err := r.text(cmd.OutOrStdout(), x); err != nil {
					return err
				}
			}
			return nil
		},
	}
	r.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&r.stateFile, "state", "", "YAML file with the flights that are there before")
	f.StringVar(&r.caseName, "case", "", "golden case to explain, by its whole name")
	f.StringVar(&r.dir, "dir", "", "golden directory to read the case from; msgx.rules.golden when left out, or the corpus in the binary")
	f.StringVar(&r.with, "with", "", `directory of another rule set to compare with; "`+shipped+`" is the one in the binary`)
	return cmd
}

// scene is messages to be explained, with what is around them.
type scene struct {
	before   rehearse.World
	messages []golden.NamedRaw
	codec    *codec.Codec
	settings rulebook.Settings
	options  verdict.Options
	now      func() time.Time
}

func (r *rulesExplain) run(ctx context.Context, c *config.Config, files []string) ([]*explain.Explanation, error) {
	mind, err := core.New(c)
	if err != nil {
		return nil, err
	}
	s, err := r.scene(ctx, c, mind, files)
	if err != nil {
		return nil, err
	}
	book, err := core.Traced(c, mind.Catalogue, core.RulesFS(c), core.RulesFrom(c), s.settings)
	if err != nil {
		return nil, err
	}
	e := explain.New(mind.Catalogue, book, s.options)
	var other *explain.Explainer
	var beside rehearse.Judge
	if r.with != "" {
		book, err := core.Traced(c, mind.Catalogue, rulesOf(r.with), r.with, s.settings)
		if err != nil {
			return nil, usageError{err}
		}
		other = explain.New(mind.Catalogue, book, s.options)
		beside = other
	}
	rehearsal := rehearse.New(s.codec, e, s.now, s.before)
	out := []*explain.Explanation{}
	for _, m := range s.messages {
		rehearsal.RunBeside(m.Raw, beside)
		x := e.Explain(m.Name)
		if other != nil {
			x.With = e.With(r.with, other)
		}
		out = append(out, x)
	}
	return out, nil
}

func (r *rulesExplain) scene(ctx context.Context, c *config.Config, mind *core.Core, files []string) (*scene, error) {
	if r.caseName != "" {
		return r.caseScene(c, mind)
	}
	s := &scene{codec: mind.Codec, settings: rulebook.Settings{AbsentOptional: c.Schd.AbsentOptional}, options: core.VerdictOptions(c), now: time.Now}
	if r.stateFile != "" {
		data, err := readInput(ctx, nil, r.stateFile)
		if err != nil {
			return nil, usagef("--state: %w", err)
		}
		if s.before, err = rehearse.ParseState(mind.Catalogue, c.Airport.Location, data); err != nil {
			return nil, usagef("--state %s: %w", r.stateFile, err)
		}
	}
	for i, name := range files {
		body, err := readInput(ctx, r.in, name)
		if err != nil {
			return nil, usageError{err}
		}
		s.messages = append(s.messages, golden.NamedRaw{Name: name, Raw: message.Raw{MsgID: int64(i + 1), Body: body}})
	}
	return s, nil
}

func (r *rulesExplain) caseScene(c *config.Config, mind *core.Core) (*scene, error) {
	dir, err := casesIn(r.dir, c)
	if err != nil {
		return nil, err
	}
	cases, err := golden.Load(golden.Options{Catalogue: mind.Catalogue, Rules: core.RulesFS(c), Dir: dir, Names: []string{r.caseName}})
	if err != nil {
		return nil, usageError{err}
	}
	found := cases[0]
	s := &scene{before: found.Before(), messages: found.Messages(), settings: found.RuleSettings(), now: time.Now}
	s.options = verdict.Options{
		Options:         decision.Options{Zone: found.Settings.Zone, DayCutover: found.Settings.DayCutover, CodeShareKey: found.Settings.CodeShare},
		IdentityWithDay: found.Settings.IdentityWithDay,
	}
	s.codec, err = codec.New(mind.Catalogue, codec.Options{Zone: found.Settings.Zone, Ignore: found.Settings.Ignore})
	return s, err
}

// errNothingAsked ends a command that was given nothing to do.
var errNothingAsked = errors.New("expected a message file, or --case with the name of a golden case")
