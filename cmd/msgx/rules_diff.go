package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgx"
	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/comparison"
	"msgx/engine/message"
	"msgx/golden"
	"msgx/tools/feed"
)

// shipped names the rule set in the binary on the command line.
const shipped = "shipped"

// rulesDiff is what `rules diff` was asked.
type rulesDiff struct {
	over       []string
	pattern    string
	seed       uint64
	operations int
	files      []string
	asJSON     bool
}

func rulesDiffCommand(g *globals) *cobra.Command {
	d := &rulesDiff{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW [FILE...]",
		Short: "Show which messages two rule sets decide differently",
		Long: `Show which messages two rule sets decide differently, grouped by kind, script and the place
that differs, with the shortest example of each, and which flights end differently. OLD and NEW
are directories with handlers.lua and rules/; "` + shipped + `" is the rule set in the binary.

Both decide each message over the same flights (those that OLD has made), so a difference shows
where it arises and not again in all that follows. Compared are the golden corpus, a generated
airport day, and the message files that are named, in their order.

Exits with 0 when nothing differs and with 1 when something does.`,
		Example: "  msgx rules diff " + shipped + " ./candidate\n  msgx rules diff " + shipped + " ./candidate --over corpus -r schd\n  msgx rules diff ./live ./candidate --over files *.xml",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.config()
			if err != nil {
				return err
			}
			d.files = args[2:]
			report, err := d.compare(c, args[0], args[1])
			if err != nil {
				return err
			}
			if d.asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = printReport(cmd.OutOrStdout(), report)
			}
			if err == nil && !report.Same() {
				return errNotWell
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&d.over, "over", []string{"corpus", "day"}, "what to compare over: corpus, day, files")
	f.StringVarP(&d.pattern, "run", "r", "", "regular expression on the names of golden cases")
	f.Uint64Var(&d.seed, "seed", 1, "seed of the generated day")
	f.IntVar(&d.operations, "operations", 3000, "operations of the generated day")
	f.BoolVar(&d.asJSON, "json", false, "print JSON")
	return cmd
}

// side is one rule set, put together as the configuration wants it.
func side(c *config.Config, name string) (*core.Core, error) {
	with := *c
	with.Rules.Dir = name
	if name == shipped {
		with.Rules.Dir = ""
	}
	return core.New(&with)
}

func (d *rulesDiff) compare(c *config.Config, oldName, newName string) (comparison.Report, error) {
	for _, what := range d.over {
		if !slices.Contains([]string{"corpus", "day", "files"}, what) {
			return comparison.Report{}, usagef("--over %s: expected corpus, day or files", what)
		}
	}
	older, err := side(c, oldName)
	if err != nil {
		return comparison.Report{}, err
	}
	newer, err := side(c, newName)
	if err != nil {
		return comparison.Report{}, err
	}
	comparer := comparison.New(func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) })
	if slices.Contains(d.over, "corpus") {
		cases, err := golden.Sequences(golden.Options{Catalogue: older.Catalogue, Rules: rulesOf(oldName), Pattern: d.pattern}, rulesOf(newName))
		if err != nil {
			return comparison.Report{}, err
		}
		for _, s := range cases {
			if err := comparer.Add(s); err != nil {
				return comparison.Report{}, err
			}
		}
	}
	sequence := comparison.Sequence{Decoder: older.Codec, Old: older.Judge, New: newer.Judge}
	if slices.Contains(d.over, "day") {
		sequence.Name = fmt.Sprintf("day of seed %d", d.seed)
		if sequence.Messages, err = d.day(c); err != nil {
			return comparison.Report{}, err
		}
		if err := comparer.Add(sequence); err != nil {
			return comparison.Report{}, err
		}
	}
	if len(d.files) > 0 {
		sequence.Name = "files"
		if sequence.Messages, err = readMessages(d.files); err != nil {
			return comparison.Report{}, err
		}
		if err := comparer.Add(sequence); err != nil {
			return comparison.Report{}, err
		}
	}
	report := comparer.Report()
	if report.Messages == 0 {
		return report, usageError{errors.New("nothing was compared: no case, day or file was selected")}
	}
	return report, nil
}

// rulesOf is where a rule set of the command line is.
func rulesOf(name string) fs.FS {
	if name == shipped {
		return msgx.Files
	}
	return os.DirFS(name)
}

func (d *rulesDiff) day(c *config.Config) ([]message.Raw, error) {
	date := time.Date(2026, 3, 1, 0, 0, 0, 0, c.Airport.Location)
	messages, err := feed.Generate(feed.Options{Seed: d.seed, Date: date, Zone: c.Airport.Location, Operations: d.operations})
	if err != nil {
		return nil, err
	}
	raws := make([]message.Raw, len(messages))
	for i, m := range messages {
		raws[i] = message.Raw{MsgID: int64(i + 1), Body: m.Body, Characters: true}
	}
	return raws, nil
}

func readMessages(files []string) ([]message.Raw, error) {
	raws := make([]message.Raw, len(files))
	for i, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			return nil, usageError{err}
		}
		raws[i] = message.Raw{MsgID: int64(i + 1), Body: body}
	}
	return raws, nil
}

// exampleLimit is how much of an example's body is shown.
const exampleLimit = 600

func printReport(w io.Writer, r comparison.Report) error {
	var b strings.Builder
	for _, g := range r.Groups {
		scripts := g.NewScript
		if g.OldScript != g.NewScript {
			scripts = orDash(g.OldScript) + " -> " + orDash(g.NewScript)
		}
		fmt.Fprintf(&b, "%s  %s  %s: %d messages\n", orDash(g.Kind), scripts, g.Where, g.Count)
		fmt.Fprintf(&b, "    such as message %d of %s", g.Example.MsgID, g.Example.Sequence)
		if g.Example.FLID != "" {
			fmt.Fprintf(&b, ", flight %s", g.Example.FLID)
		}
		fmt.Fprintf(&b, "\n      old  %s\n      new  %s\n", g.Example.Old, g.Example.New)
		body := message.SafeText(string(g.Example.Body), exampleLimit)
		fmt.Fprintf(&b, "      message  %s\n\n", body)
	}
	fmt.Fprintf(&b, "%d of %d messages are decided differently, %d flights end differently\n", r.Differing, r.Messages, len(r.Finals))
	for i, f := range r.Finals {
		if i == 10 {
			fmt.Fprintf(&b, "    and %d more\n", len(r.Finals)-i)
			break
		}
		fmt.Fprintf(&b, "    flight %s (%s): %s\n", f.FLID, f.Sequence, strings.Join(f.Paths, " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
