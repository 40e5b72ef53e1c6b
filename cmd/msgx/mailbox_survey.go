package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/daemon"
	"msgx/engine/backlog"
	"msgx/engine/clock"
	"msgx/engine/evidence"
	"msgx/engine/message"
)

func mailboxSurveyCommand(g *globals) *cobra.Command {
	var (
		from, to int64
		sample   int
		measure  time.Duration
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "survey",
		Short: "Show what the mailbox holds, what of it can be read, and what is left to do",
		Long: `Show what the mailbox holds, by reading only: rows and ids, the time they span, how many are marked, where they stand
with us; which kinds there are and whether they can be decoded, by a sample that is spread evenly; and what is left to do: how many
messages, the oldest, and how long they will take at the rate that is measured meanwhile.

What is agreed not to be processed is given up with skip, message by message or by range, once it is enqueued.
Exits with 1 when the sample holds messages that cannot be decoded or are of a kind that is not known: each would hold the line
while its attempts last.`,
		Example: `  msgx mailbox survey
  msgx mailbox survey --from 4700 --to 9000 --sample 1000 --measure 30s --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case from < 0 || to < 0 || to != 0 && to < from:
				return usagef("--from %d --to %d: expected a range of ids, the first not above the last", from, to)
			case sample < 0 || sample > mostAtOnce:
				return usagef("--sample %d: expected 0 to %d", sample, mostAtOnce)
			case measure < 0 || measure > time.Hour:
				return usagef("--measure %s: expected 0s to 1h", measure)
			}
			d, err := g.desk(cmd)
			if err != nil {
				return err
			}
			defer d.Close()
			s, err := d.survey(cmd.Context(), max(from, 1), to, sample, measure)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), s)
			} else {
				s.print(cmd.OutOrStdout(), d)
			}
			if err == nil && s.unreadable() {
				return errNotWell
			}
			return err
		},
	}
	cmd.Flags().Int64Var(&from, "from", 0, "first id; the first of the mailbox when 0")
	cmd.Flags().Int64Var(&to, "to", 0, "last id; the last of the mailbox when 0")
	cmd.Flags().IntVar(&sample, "sample", 200, fmt.Sprintf("decode this many messages, up to %d; 0 for none", mostAtOnce))
	cmd.Flags().DurationVar(&measure, "measure", 3*time.Second, "measure the rate for at least this long; 0s for not at all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// mailboxSurvey is what was found.
type mailboxSurvey struct {
	Rows      int64                   `json:"rows"`
	First     int64                   `json:"first_id"`
	Last      int64                   `json:"last_id"`
	Missing   int64                   `json:"missing_ids"` // between the first and the last
	Oldest    time.Time               `json:"oldest_received_at,omitzero"`
	Newest    time.Time               `json:"newest_received_at,omitzero"`
	Timeless  int64                   `json:"without_time"`
	Marked    int64                   `json:"marked"`
	Watermark int64                   `json:"watermark"`
	Unread    int64                   `json:"unread"` // rows above the watermark
	States    map[message.State]int64 `json:"states"` // of what is enqueued in the range
	Sampled   int64                   `json:"sampled"`
	Kinds     []surveyedKind          `json:"kinds"`
	Left      int64                   `json:"left"`
	OldestAge float64                 `json:"oldest_seconds"`
	Rate      *float64                `json:"drained_per_second,omitempty"` // absent when it was not measured
	Remaining *float64                `json:"drain_seconds,omitempty"`      // absent when it does not come to an end
}

// surveyedKind is what a sample holds of one kind.
type surveyedKind struct {
	Kind     string             `json:"kind"` // "" when the envelope cannot be read
	Messages int64              `json:"messages"`
	Ignored  int64              `json:"ignored"`
	Faulty   int64              `json:"faulty"`
	Class    message.ErrorClass `json:"class,omitempty"` // of the first faulty one,
	Example  int64              `json:"example,omitempty"`
	Fault    string             `json:"fault,omitempty"`
}

func (s *mailboxSurvey) unreadable() bool {
	return slices.ContainsFunc(s.Kinds, func(k surveyedKind) bool { return k.Faulty > 0 })
}

func (d *desk) survey(ctx context.Context, from, to int64, sample int, measure time.Duration) (*mailboxSurvey, error) {
	began, err := daemon.Backlog(ctx, d.Store, d.box, clock.System{})
	if err != nil {
		return nil, err
	}
	s := &mailboxSurvey{Kinds: []surveyedKind{}}
	cursor, _, err := d.Cursor(ctx)
	if err != nil {
		return nil, err
	}
	s.Watermark = cursor.Watermark
	picked, err := d.count(ctx, s, from, to, sample)
	if err != nil {
		return nil, err
	}
	if s.States, err = d.StatesWithin(ctx, s.First, s.Last); err != nil {
		return nil, err
	}
	if err := d.decode(ctx, s, picked); err != nil {
		return nil, err
	}
	return s, d.measure(ctx, s, began, measure)
}

// count reads every row of the range without its body, and picks some of them, spread evenly.
func (d *desk) count(ctx context.Context, s *mailboxSurvey, from, to int64, sample int) (picked []int64, err error) {
	stride := int64(1)
	for after := from - 1; ; after = s.Last {
		page, err := d.box.Headers(ctx, nil, after, headerPage)
		if err != nil {
			return nil, err
		}
		for _, h := range page {
			if to != 0 && h.ID > to {
				return thin(picked, sample), nil
			}
			s.add(h)
			if sample > 0 && (s.Rows-1)%stride == 0 {
				picked = append(picked, h.ID)
			}
			if sample > 0 && len(picked) == 2*sample { // every other one is enough from here on
				picked, stride = everyOther(picked), 2*stride
			}
		}
		if len(page) == 0 {
			return thin(picked, sample), nil
		}
	}
}

func everyOther(ids []int64) []int64 {
	kept := ids[:0]
	for i := 0; i < len(ids); i += 2 {
		kept = append(kept, ids[i])
	}
	return kept
}

// thin leaves at most n, the last among them.
func thin(ids []int64, n int) []int64 {
	if len(ids) <= n {
		return ids
	}
	kept := make([]int64, 0, n)
	for i := 1; i <= n; i++ {
		kept = append(kept, ids[i*len(ids)/n-1])
	}
	return kept
}

func (s *mailboxSurvey) add(h evidence.Header) {
	if s.Rows == 0 {
		s.First = h.ID
	} else {
		s.Missing += h.ID - s.Last - 1
	}
	s.Rows, s.Last = s.Rows+1, h.ID
	if h.Marked {
		s.Marked++
	}
	if h.ID > s.Watermark {
		s.Unread++
	}
	switch {
	case h.ReceivedAt.IsZero():
		s.Timeless++
		return
	case s.Oldest.IsZero() || h.ReceivedAt.Before(s.Oldest):
		s.Oldest = h.ReceivedAt
	}
	if h.ReceivedAt.After(s.Newest) {
		s.Newest = h.ReceivedAt
	}
}

// decode reads the sample.
func (d *desk) decode(ctx context.Context, s *mailboxSurvey, picked []int64) error {
	kinds := map[string]*surveyedKind{}
	for len(picked) > 0 {
		page := picked[:min(100, len(picked))]
		raws, last, err := d.box.Bodies(ctx, page, 16<<20)
		if err != nil {
			return err
		}
		for _, raw := range raws {
			s.Sampled++
			d.look(kinds, raw)
		}
		at, found := slices.BinarySearch(picked, last)
		if found {
			at++
		}
		picked = picked[at:]
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		s.Kinds = append(s.Kinds, *kinds[kind])
	}
	return nil
}

func (d *desk) look(kinds map[string]*surveyedKind, raw message.Raw) {
	m, err := d.mind.Codec.Decode(raw)
	kind, class, fault := "", message.ErrorClass(""), ""
	switch {
	case err != nil:
		var told interface {
			ErrorClass() message.ErrorClass
			MessageKind() string
		}
		if errors.As(err, &told) {
			kind, class = told.MessageKind(), told.ErrorClass()
		}
		fault = err.Error()
	default:
		if kind = m.Kind; m.Family == message.Unsupported && m.IgnoredBy == "" {
			class, fault = message.UnsupportedErr, "the kind is not known"
		}
	}
	kind = message.SafeText(kind, 40)
	k := kinds[kind]
	if k == nil {
		k = &surveyedKind{Kind: kind}
		kinds[kind] = k
	}
	k.Messages++
	if err == nil && m.IgnoredBy != "" {
		k.Ignored++
	}
	if fault == "" {
		return
	}
	if k.Faulty++; k.Faulty == 1 {
		k.Class, k.Example, k.Fault = class, raw.MsgID, fault
	}
}

// measure looks at what is left a second time.
func (d *desk) measure(ctx context.Context, s *mailboxSurvey, began backlog.Reading, atLeast time.Duration) error {
	now := began
	if atLeast > 0 {
		if err := clock.Sleep(ctx, clock.System{}, atLeast-time.Since(began.At)); err != nil {
			return err
		}
		var err error
		if now, err = daemon.Backlog(ctx, d.Store, d.box, clock.System{}); err != nil {
			return err
		}
	}
	s.Left, s.OldestAge = now.Left(), now.Age().Seconds()
	rate, remaining, ends := backlog.Drain(began, now)
	if atLeast > 0 {
		s.Rate = &rate
	}
	if seconds := remaining.Seconds(); ends {
		s.Remaining = &seconds
	}
	return nil
}

func (s *mailboxSurvey) print(out io.Writer, d *desk) {
	at := func(t time.Time) string { return airportTime(d.config, t) }
	fmt.Fprintf(out, "rows      %d, ids %d to %d, %d ids between them are missing\n", s.Rows, s.First, s.Last, s.Missing)
	fmt.Fprintf(out, "received  %s to %s, %d without a time\n", at(s.Oldest), at(s.Newest), s.Timeless)
	fmt.Fprintf(out, "marked    %d, not marked %d\n", s.Marked, s.Rows-s.Marked)
	fmt.Fprintf(out, "enqueued  up to %d, %s above it", s.Watermark, times(int(s.Unread), "row"))
	for _, state := range slices.Sorted(maps.Keys(s.States)) {
		fmt.Fprintf(out, ", %d %s", s.States[state], state)
	}
	fmt.Fprintf(out, "\nsample    %s\n", times(int(s.Sampled), "message"))
	for _, k := range s.Kinds {
		fmt.Fprintf(out, "  %6d  %s", k.Messages, map[bool]string{true: "cannot be read", false: k.Kind}[k.Kind == ""])
		if k.Ignored > 0 {
			fmt.Fprintf(out, ", %d ignored", k.Ignored)
		}
		if k.Faulty > 0 {
			fmt.Fprintf(out, ", %d %s, such as %d: %s", k.Faulty, k.Class, k.Example, k.Fault)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "left      %s, the oldest %s old", times(int(s.Left), "message"), time.Duration(s.OldestAge*float64(time.Second)).Round(time.Second))
	switch {
	case s.Left == 0:
		fmt.Fprintln(out)
	case s.Rate == nil:
		fmt.Fprintln(out, "; the rate was not measured")
	case s.Remaining == nil:
		fmt.Fprintf(out, "; they do not become fewer (%.1f a second)\n", *s.Rate)
	default:
		fmt.Fprintf(out, "; %.1f fewer a second, %s to go\n", *s.Rate, time.Duration(*s.Remaining*float64(time.Second)).Round(time.Second))
	}
}
