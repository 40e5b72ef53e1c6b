package main

import (
	"context"
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
	"msgx/engine/rulebook"
	"msgx/golden"
	"msgx/tools/feed"
)

// shipped names the rule set in the binary on the command line.
const shipped = "shipped"

// rulesDiff is what `rules diff` was asked.
type rulesDiff struct {
	over       []string
	pattern    string
	dir        string
	seed       uint64
	operations int
	files      []string
	recorded   string
	mailbox    bool
	asJSON     bool
}

func rulesDiffCommand(g *globals) *cobra.Command {
	d := &rulesDiff{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW [FILE...]",
		Short: "Show which messages two rule sets decide differently",
		Long: `Show which messages two rule sets decide differently, grouped by kind, script, the place that
differs and the branch at which the two part, with the shortest example of each, and which
flights end differently. OLD and NEW are directories with handlers.lua and rules/;
"` + shipped + `" is the rule set in the binary.

Both decide each message over the same flights (those that OLD has made), so a difference shows
where it arises and not again in all that follows. Compared are the golden corpus (that of --dir, else of
msgx.rules.golden, else the one in the binary), a generated airport day, and the message files that are named,
in their order.

--recorded FROM..TO compares over the messages of the mailbox with these ids that were decided, each
on what it was decided on, instead of corpus and day (unless --over asks for those too). What the
database cannot tell any more is counted and not compared.

Exits with 0 when nothing differs, with 1 when something does or some could not be compared, and with 2 when
a rule set does not load or nothing is there to compare over.`,
		Example: "  msgx rules diff " + shipped + " ./candidate\n  msgx rules diff " + shipped + " ./candidate --over corpus --dir ./candidate/golden -r schd\n  msgx rules diff ./live ./candidate --over files *.xml\n" +
			"  msgx rules diff " + shipped + " ./candidate --recorded 4000..4999",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.config()
			if err != nil {
				return err
			}
			d.files = args[2:]
			if err := d.check(cmd.Flags().Changed); err != nil {
				return err
			}
			report, err := d.compare(cmd, g, c, args[0], args[1])
			if err != nil {
				return err
			}
			if d.asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = printReport(cmd.OutOrStdout(), report)
			}
			if err == nil && (!report.Same() || report.Untold > 0) {
				return errNotWell
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&d.over, "over", []string{"corpus", "day"}, "what to compare over: corpus, day, files")
	f.StringVarP(&d.pattern, "run", "r", "", "regular expression on the names of golden cases")
	f.StringVar(&d.dir, "dir", "", "golden directory of the corpus to compare over; msgx.rules.golden when left out, or the corpus in the binary")
	f.Uint64Var(&d.seed, "seed", 1, "seed of the generated day")
	f.IntVar(&d.operations, "operations", 3000, "operations of the generated day")
	f.StringVar(&d.recorded, "recorded", "", "ids of recorded messages to compare over, FROM..TO")
	f.BoolVar(&d.mailbox, "from-mailbox", false, "read recorded bodies from the mailbox instead of our own copies")
	f.BoolVar(&d.asJSON, "json", false, "print JSON")
	return cmd
}

// maxOperations bounds the generated day, which is made in memory.
const maxOperations = 100_000

// check holds the flags to each other; changed tells which were given.
func (d *rulesDiff) check(changed func(flag string) bool) error {
	if d.recorded != "" {
		if _, _, err := idRange(d.recorded); err != nil { // before a server is asked
			return err
		}
		if !changed("over") {
			d.over = nil
		}
	}
	for _, what := range d.over {
		if !slices.Contains([]string{"corpus", "day", "files"}, what) {
			return usagef("--over %s: expected corpus, day or files", what)
		}
	}
	if !slices.Contains(d.over, "corpus") && (changed("dir") || changed("run")) {
		return usagef("--dir and --run select golden cases, and over those nothing is compared: expected corpus in --over")
	}
	if d.operations < 1 || d.operations > maxOperations {
		return usagef("--operations %d: expected 1 to %d", d.operations, maxOperations)
	}
	return nil
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

func (d *rulesDiff) compare(cmd *cobra.Command, g *globals, c *config.Config, oldName, newName string) (comparison.Report, error) {
	none := comparison.Report{}
	older, err := side(c, oldName)
	if err != nil {
		return none, usageError{err}
	}
	newer, err := side(c, newName)
	if err != nil {
		return none, usageError{err}
	}
	traced := bothTraced(c, older, oldName, newName)
	comparer := comparison.New(func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) })
	if err := d.overSequences(cmd.Context(), c, comparer, older, newer, oldName, newName, traced); err != nil {
		return none, err
	}
	if d.recorded != "" {
		db, err := g.open(cmd)
		if err != nil {
			return none, err
		}
		defer db.Close()
		past, err := openRecall(cmd.Context(), db, c, d.mailbox)
		if err != nil {
			return none, err
		}
		defer past.Close()
		if err := d.overRecorded(cmd.Context(), comparer, past, older, newer, traced); err != nil {
			return none, err
		}
	}
	report := comparer.Report()
	if report.Messages+report.Untold == 0 {
		return report, usageError{errors.New("nothing was compared: no case, day, file or recorded message was selected")}
	}
	return report, nil
}

// bothTraced loads both rule sets to be traced.
func bothTraced(c *config.Config, mind *core.Core, oldName, newName string) comparison.Traced {
	settings := rulebook.Settings{AbsentOptional: c.Schd.AbsentOptional}
	return func() (old, newer *rulebook.Rulebook, err error) {
		if old, err = core.Traced(c, mind.Catalogue, rulesOf(oldName), oldName, settings); err == nil {
			newer, err = core.Traced(c, mind.Catalogue, rulesOf(newName), newName, settings)
		}
		return old, newer, err
	}
}

// overSequences compares over corpus, generated day and files.
func (d *rulesDiff) overSequences(ctx context.Context, c *config.Config, comparer *comparison.Comparer, older, newer *core.Core, oldName, newName string, traced comparison.Traced) error {
	var sequences []comparison.Sequence
	var err error
	if slices.Contains(d.over, "corpus") {
		dir, err := casesIn(d.dir, c)
		if err != nil {
			return err
		}
		o := golden.Options{Catalogue: older.Catalogue, Rules: rulesOf(oldName), Limits: core.Limits(c), Pattern: d.pattern, Dir: dir}
		if sequences, err = golden.Sequences(o, rulesOf(newName)); err != nil {
			return usageError{err}
		}
	}
	own := comparison.Sequence{Decoder: older.Codec, Old: older.Judge, New: newer.Judge, Traced: traced}
	if slices.Contains(d.over, "day") {
		own.Name = fmt.Sprintf("day of seed %d", d.seed)
		if own.Messages, err = d.day(c); err != nil {
			return err
		}
		sequences = append(sequences, own)
	}
	if len(d.files) > 0 {
		own.Name = "files"
		if own.Messages, err = readMessages(d.files); err != nil {
			return err
		}
		sequences = append(sequences, own)
	}
	for _, s := range sequences {
		if err := comparer.Add(ctx, s); err != nil {
			return err
		}
	}
	return nil
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
		if g.Branch != nil {
			fmt.Fprintf(&b, "    %s\n", branchText(g.Branch, g.Example.Operands))
		}
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
	if r.Untold > 0 {
		fmt.Fprintf(&b, "%d messages could not be compared\n", r.Untold)
		for _, u := range r.Such {
			fmt.Fprintf(&b, "    %s\n", u.Why)
		}
		if n := r.Untold - len(r.Such); n > 0 {
			fmt.Fprintf(&b, "    and %d more\n", n)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// branchText says which branch tells two rule sets apart.
func branchText(b *comparison.Branch, operands []string) string {
	way := "does not hold"
	if b.Taken {
		way = "holds"
	}
	text := fmt.Sprintf("because in the %s rule set, %s:%d, `%s` %s", b.Side, b.File, b.Line, b.Text, way)
	if len(operands) > 0 {
		text += " (" + strings.Join(operands, "; ") + ")"
	}
	return text
}
