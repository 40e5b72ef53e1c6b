package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/core"
	"msgx/engine/decision"
	"msgx/engine/message"
	"msgx/engine/rehearse"
)

func tryCommand(g *globals) *cobra.Command {
	var (
		stateFile string
		asJSON    bool
		strict    bool
	)
	cmd := &cobra.Command{
		Use:   "try FILE...",
		Short: "Show what messages would do, in memory and without any server",
		Long: `Decode and decide message files in the given order, in memory, exactly as the daemon would,
and print what becomes of each and the flights as they are afterwards. No server is needed and
nothing is kept. A file holds one message; - reads one from standard input.

--state FILE says what was there before, in YAML (see the README of golden for the form).
Which rules and limits apply is the configuration's business, as for serving.

Exits with 0 when every file was read, whatever became of its message; with --strict, with 1
when any of them ended DEAD or FAILED.`,
		Example: `  msgx try schedule.xml gate.xml
  msgx try --state before.yaml --json gate.xml
  msgx try --set rules.dir=./candidate gate.xml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.config()
			if err != nil {
				return err
			}
			mind, err := core.New(c)
			if err != nil {
				return err
			}
			t := &trial{mind: mind, zone: c.Airport.Location, in: cmd.InOrStdin()}
			if err := t.run(cmd.Context(), stateFile, args); err != nil {
				return err
			}
			if asJSON {
				err = t.printJSON(cmd.OutOrStdout())
			} else {
				err = t.printText(cmd.OutOrStdout())
			}
			if err == nil && strict && t.broken() {
				return errNotWell
			}
			return err
		},
	}
	cmd.Flags().StringVar(&stateFile, "state", "", "YAML file with the flights that are there before")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 when a message ends DEAD or FAILED")
	return cmd
}

// trial is a run of message files.
type trial struct {
	mind    *core.Core
	zone    *time.Location
	in      io.Reader
	files   []string
	results []rehearse.Result
	after   rehearse.World
}

func (t *trial) run(ctx context.Context, stateFile string, files []string) error {
	var before rehearse.World
	if stateFile != "" {
		data, err := readInput(ctx, nil, stateFile)
		if err != nil {
			return usagef("--state: %w", err)
		}
		if before, err = rehearse.ParseState(t.mind.Catalogue, t.zone, data); err != nil {
			return usagef("--state %s: %w", stateFile, err)
		}
	}
	bodies := make([][]byte, len(files))
	for i, name := range files {
		body, err := readInput(ctx, t.in, name)
		if err != nil {
			return usageError{err}
		}
		bodies[i] = body
	}
	r := rehearse.New(t.mind.Codec, t.mind.Judge, time.Now, before)
	for i, body := range bodies {
		t.results = append(t.results, r.Run(message.Raw{MsgID: int64(i + 1), Body: body}))
	}
	t.files, t.after = files, r.World()
	return nil
}

// readInput reads a file, or in where the name is "-" and there is one. What is read may be a pipe into which nobody
// writes, and no signal ends a read: when ctx ends it is left alone, with its goroutine.
func readInput(ctx context.Context, in io.Reader, name string) ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	done := make(chan input, 1)
	go func() {
		var got input
		if name == "-" && in != nil {
			got.data, got.err = io.ReadAll(in)
		} else {
			got.data, got.err = os.ReadFile(name)
		}
		done <- got
	}()
	select {
	case got := <-done:
		return got.data, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *trial) broken() bool {
	for _, r := range t.results {
		if s := r.Settlement.Outcome.State; s == message.Dead || s == message.Failed {
			return true
		}
	}
	return false
}

// triedMessage is one message in the output of `try --json`.
type triedMessage struct {
	File     string              `json:"file"`
	MsgID    int64               `json:"msg_id"`
	Kind     string              `json:"kind,omitempty"`
	State    string              `json:"state"`
	Class    string              `json:"error_class,omitempty"`
	Reason   string              `json:"reason,omitempty"`
	Script   string              `json:"script,omitempty"`
	Changes  []triedChange       `json:"changes"`
	Refs     []triedReference    `json:"references,omitempty"`
	Requests []decision.Outbound `json:"requests,omitempty"`
	Notes    []decision.Note     `json:"notes,omitempty"`
	Warnings []string            `json:"warnings,omitempty"`
	Unknown  []message.Unknown   `json:"unknown,omitempty"`
	Dropped  []message.Unknown   `json:"dropped,omitempty"`
}

type triedChange struct {
	FLID    string                 `json:"flid"`
	Op      decision.Op            `json:"op"`
	Version int64                  `json:"state_version"`
	Changed []decision.FieldChange `json:"changed"`
}

type triedReference struct {
	Type  string          `json:"type"`
	Key   string          `json:"key"`
	Op    decision.RefOp  `json:"op"`
	Value json.RawMessage `json:"value,omitempty"`
}

func (t *trial) messages() []triedMessage {
	tried := make([]triedMessage, 0, len(t.results))
	for i, r := range t.results {
		s := r.Settlement
		m := triedMessage{
			File: t.files[i], MsgID: r.MsgID, Kind: s.Kind, State: string(s.Outcome.State), Class: string(s.Outcome.Class),
			Reason: s.Outcome.Reason, Script: s.Script, Changes: []triedChange{}, Requests: s.Effects.Outbound, Notes: s.Effects.Notes, Warnings: s.Warnings,
		}
		if r.Message != nil {
			m.Unknown, m.Dropped = r.Message.Unknowns, r.Message.Dropped
		}
		for _, a := range s.Effects.Advances {
			m.Changes = append(m.Changes, triedChange{a.After.ID.String(), a.Op, a.After.Version, a.Changed})
		}
		for _, ref := range s.Effects.Refs {
			m.Refs = append(m.Refs, triedReference{ref.Type, ref.Key, ref.Op, ref.Value})
		}
		tried = append(tried, m)
	}
	return tried
}

func (t *trial) printJSON(w io.Writer) error {
	flights := []json.RawMessage{}
	for _, s := range t.after.List() {
		flights = append(flights, stateJSON(t.mind.Catalogue, s))
	}
	return printJSON(w, map[string]any{"ruleset": t.mind.Rules.Hash(), "messages": t.messages(), "flights": flights})
}

func (t *trial) printText(w io.Writer) error {
	var b strings.Builder
	for _, m := range t.messages() {
		m.appendText(&b)
	}
	b.WriteString("\nafterwards\n\n")
	if len(t.after.List()) == 0 && len(t.after.Refs) == 0 {
		b.WriteString("no flights\n")
	} else {
		b.Write(rehearse.FormatState(t.mind.Catalogue, t.zone, t.after))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (m *triedMessage) appendText(b *strings.Builder) {
	fmt.Fprintf(b, "%d  %s  %s  %s", m.MsgID, m.File, orDash(m.Kind), m.State)
	if m.Class != "" {
		fmt.Fprintf(b, "(%s)", m.Class)
	}
	if m.Reason != "" {
		fmt.Fprintf(b, "  %s", m.Reason)
	}
	b.WriteByte('\n')
	for _, c := range m.Changes {
		fmt.Fprintf(b, "     %s  %s to version %d\n", c.FLID, c.Op, c.Version)
		for _, f := range c.Changed {
			fmt.Fprintf(b, "         %-13s %s -> %s\n", f.Path, orNone(f.Before), orNone(f.After))
		}
	}
	for _, r := range m.Refs {
		fmt.Fprintf(b, "     %s %s  %s  %s\n", r.Type, r.Key, r.Op, r.Value)
	}
	for _, r := range m.Requests {
		fmt.Fprintf(b, "     request %s\n", r)
	}
	if m.State == string(message.Succeeded) && len(m.Changes) == 0 && len(m.Refs) == 0 && len(m.Requests) == 0 {
		b.WriteString("     changes nothing\n")
	}
	for _, n := range m.Notes {
		fmt.Fprintf(b, "     left out: %s", n.Reason)
		if n.FLID != 0 {
			fmt.Fprintf(b, " (%s)", n.FLID)
		}
		b.WriteByte('\n')
	}
	for _, warning := range m.Warnings {
		fmt.Fprintf(b, "     warning: %s\n", warning)
	}
	for _, u := range m.Unknown {
		fmt.Fprintf(b, "     unknown: %s (%d)\n", u.Path, u.Count)
	}
	for _, u := range m.Dropped {
		fmt.Fprintf(b, "     dropped: %s (%d)\n", u.Path, u.Count)
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func orNone(value json.RawMessage) string {
	if value == nil || string(value) == "null" {
		return "none"
	}
	return string(value)
}
