package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/cmd/msgx/config"
	"msgx/engine/message"
	"msgx/tools/feed"
)

// Report is the account of the day: what came out, and every promise that was
// checked against the databases and the topics.
type Report struct {
	Took     time.Duration
	messages []feed.Message
	inserted feed.Inserted
	outcomes map[int64]message.Outcome
	checks   []check
	busiest  int64 // the flight with the most versions
}

// check is one promise, with what breaks it.
type check struct {
	what   string
	faults []string
	detail string
}

// OK tells whether every check holds.
func (r *Report) OK() bool {
	for _, c := range r.checks {
		if len(c.faults) > 0 {
			return false
		}
	}
	return true
}

func (r *Report) add(what, detail string, faults []string) {
	r.checks = append(r.checks, check{what, faults, detail})
}

// account checks every promise that the data can show.
func (p *place) account(ctx context.Context, c *config.Config, r *Report) error {
	conn, err := pgx.Connect(ctx, c.Postgres.URL)
	if err != nil {
		return fmt.Errorf("demo: account: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	a := &accountant{conn: conn, place: p, report: r}
	for _, step := range []func(context.Context) error{a.outcomes, a.ids, a.marks, a.versions, a.delivery(c)} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("demo: account: %w", err)
		}
	}
	return nil
}

type accountant struct {
	conn   *pgx.Conn
	place  *place
	report *Report
}

// outcomes compares what became of each message with what had to.
func (a *accountant) outcomes(ctx context.Context) error {
	rows, err := a.conn.Query(ctx, `SELECT msg_id, state, coalesce(error_class, ''), coalesce(last_error, skip_reason, '') FROM proc_state`)
	if err != nil {
		return err
	}
	found := map[int64]message.Outcome{}
	var id int64
	var o message.Outcome
	if _, err := pgx.ForEachRow(rows, []any{&id, &o.State, &o.Class, &o.Reason}, func() error { found[id] = o; return nil }); err != nil {
		return err
	}
	a.report.compare(found)
	return nil
}

// compare holds what was found against what had to be.
func (r *Report) compare(found map[int64]message.Outcome) {
	r.outcomes = maps.Clone(found)
	var faults []string
	for _, m := range r.messages {
		msgID := r.inserted.IDs[m.Seq]
		got, there := found[msgID]
		if !there {
			faults = append(faults, fmt.Sprintf("message %d (%s) was never enqueued", msgID, m.Kind))
		} else if difference := m.Expect.Final().Check(got); difference != "" {
			faults = append(faults, fmt.Sprintf("message %d (%s): %s", msgID, m.Kind, difference))
		}
		delete(found, msgID)
	}
	for _, msgID := range slices.Sorted(maps.Keys(found)) {
		faults = append(faults, fmt.Sprintf("message %d was never sent", msgID))
	}
	r.add("every message has the outcome it had to have", fmt.Sprintf("%d messages", len(r.messages)), faults)
}

// ids checks that every id up to the watermark is enqueued or in the ledger of holes.
func (a *accountant) ids(ctx context.Context) error {
	rows, err := a.conn.Query(ctx, `
SELECT id FROM generate_series(1, (SELECT watermark FROM inbox_cursor)) AS id
WHERE NOT EXISTS (SELECT FROM proc_state p WHERE p.msg_id = id)
  AND NOT EXISTS (SELECT FROM inbox_hole h WHERE h.outcome = 'aged' AND id BETWEEN h.first_id AND h.last_id)`)
	if err != nil {
		return err
	}
	missing, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	var faults []string
	for _, id := range missing {
		faults = append(faults, fmt.Sprintf("id %d is neither enqueued nor a hole", id))
	}
	a.report.add("every id is enqueued or a released hole", fmt.Sprintf("%d holes released", len(a.report.inserted.RolledBack)), faults)
	return nil
}

// marks checks the mailbox itself.
func (a *accountant) marks(ctx context.Context) error {
	var unmarked, marked int
	err := a.place.Mailbox.QueryRowContext(ctx, `SELECT count(*) - count(CMINMSGS_DATE_PROCESSED), count(CMINMSGS_DATE_PROCESSED) FROM CMINMSGS`).Scan(&unmarked, &marked)
	if err != nil {
		return err
	}
	var faults []string
	if sent := len(a.report.messages); unmarked+marked != sent {
		faults = append(faults, fmt.Sprintf("the mailbox has %d rows, %d were sent", unmarked+marked, sent))
	}
	if unmarked > 0 {
		faults = append(faults, fmt.Sprintf("%d rows of the mailbox have no processed mark", unmarked))
	}
	a.report.add("every row of the mailbox is marked", fmt.Sprintf("%d marks", marked), faults)
	return nil
}

// versions checks that history and events have no gaps.
func (a *accountant) versions(ctx context.Context) error {
	var flights, versions int64
	if err := a.conn.QueryRow(ctx, `
SELECT count(*), coalesce(sum(state_version), 0)::bigint, coalesce((array_agg(flid ORDER BY state_version DESC))[1], 0)
FROM flight_schd`).Scan(&flights, &versions, &a.report.busiest); err != nil {
		return err
	}
	rows, err := a.conn.Query(ctx, `
SELECT format('flight %s at version %s has %s history rows and %s events', f.flid, f.state_version,
              (SELECT count(*) FROM flight_change c WHERE c.flid = f.flid), (SELECT count(*) FROM msg_event e WHERE e.flid = f.flid AND e.target = 'KAFKA:msg'))
FROM flight_schd f
WHERE f.state_version <> (SELECT count(*) FROM flight_change c WHERE c.flid = f.flid)
   OR f.state_version <> (SELECT count(*) FROM msg_event e WHERE e.flid = f.flid AND e.target = 'KAFKA:msg')`)
	if err != nil {
		return err
	}
	faults, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	a.report.add("every version has one history row and one event", fmt.Sprintf("%d flights, %d versions", flights, versions), faults)
	return nil
}

// String is the summary for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d messages in %.1fs, %.0f a second\n\n", len(r.messages), r.Took.Seconds(), float64(len(r.messages))/r.Took.Seconds())
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	counts := map[string]int{}
	for _, o := range r.outcomes {
		key := string(o.State) + "\t" + string(o.Class)
		counts[key]++
	}
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "  %s\t%d\n", key, counts[key])
	}
	_ = w.Flush()
	b.WriteString("\n")
	for _, c := range r.checks {
		mark := "ok  "
		if len(c.faults) > 0 {
			mark = "FAIL"
		}
		fmt.Fprintf(&b, "%s  %s (%s)\n", mark, c.what, c.detail)
		for i, f := range c.faults {
			if i == 10 {
				fmt.Fprintf(&b, "        and %d more\n", len(c.faults)-i)
				break
			}
			fmt.Fprintf(&b, "        %s\n", f)
		}
	}
	if r.OK() {
		b.WriteString("\nEvery message is accounted for.\n")
	} else {
		b.WriteString("\nNot everything is accounted for.\n")
	}
	return b.String()
}
