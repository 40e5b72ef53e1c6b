package crash

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// prepare makes schema and topics. It is killed at its own fail points first.
func (p *place) prepare() {
	p.t.Helper()
	for _, point := range []string{"migrate/before", "migrate/after", "align-bounds/before", "align-bounds/after"} {
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
		cmd := p.command(ctx, []string{"migrate"}, p.through(false)...)
		cmd.Env = append(cmd.Environ(), "FAILPOINT="+point+":1")
		out, err := cmd.CombinedOutput()
		cancel()
		if !killed(err) {
			p.t.Fatalf("migrate at %s: got %v, expected to be killed\n%s", point, err, out)
		}
	}
	p.mustRun("migrate")
	p.mustRun("topics", "create")
}

// audit is what msgx audit finds broken, "" for nothing.
func (r *run) audit() string {
	r.t.Helper()
	out, err := r.run("audit", "--rebuild", "--findings", "5")
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return fmt.Sprintf("audit: %v\n%s", err, out)
	case err != nil:
		r.t.Fatalf("audit: %v\n%s", err, out)
	}
	r.t.Logf("audit after %d kills:\n%s", r.total, out)
	return ""
}

// differences are where this run came to something else than one to which nothing happened.
func (r *run) differences() []string {
	r.t.Helper()
	var faults []string
	alone := r.undisturbed()
	alone.mustRun("migrate")
	alone.mustRun("topics", "create")
	quiet := newRun(alone, options{seed: r.o.seed})
	alone.settled(quiet, "quiet")
	for _, of := range compared {
		want, got := alone.read(of.sql), r.read(of.sql)
		if len(want) == 0 && !of.mayBeEmpty {
			faults = append(faults, of.name+": nothing there, even undisturbed")
		}
		if diff := firstDifference(want, got); diff != "" {
			faults = append(faults, of.name+" (-undisturbed +this run): "+diff)
		}
	}
	return faults
}

// compared is what has to be as if nothing had happened: all but the times of writing, the ids of events (a transaction that
// does not commit uses some up), and the text of the rule set, which is changed on the way.
var compared = []struct {
	name, sql  string
	mayBeEmpty bool
}{
	{name: "outcomes", sql: `SELECT p.msg_id::text, to_jsonb(p) - ARRAY['enqueued_at', 'processing_started_at', 'updated_at', 'backfill_at', 'backfill_attempts',
		'backfill_first_failed_at', 'backfill_last_error', 'backfill_next_at', 'ruleset', 'decision_no', 'first_failed_at', 'next_attempt_at'] FROM proc_state p ORDER BY msg_id`},
	{name: "order of decisions", sql: `SELECT row_number() OVER (ORDER BY decision_no)::text, to_jsonb(msg_id) FROM proc_state WHERE decision_no IS NOT NULL ORDER BY decision_no`},
	{name: "flights", sql: `SELECT f.flid::text, to_jsonb(f) - ARRAY['created_at', 'updated_at'] FROM flight_schd f ORDER BY flid`},
	{name: "lists of flights", sql: `SELECT flid::text, to_jsonb(f) FROM (` + lists() + `) f ORDER BY f::text`},
	{name: "changes", sql: `SELECT flid || '/' || state_version, to_jsonb(h) - ARRAY['changed_at', 'ruleset', 'decision_no'] FROM flight_change h ORDER BY flid, state_version`},
	{name: "events", sql: `SELECT target || '/' || flid || '/' || state_version, to_jsonb(e) - ARRAY['event_id', 'created_at', 'sent_at', 'topic', 'topic_partition', 'topic_offset', 'attempts', 'next_attempt_at',
		'last_error', 'ruleset', 'payload'] || jsonb_build_object('payload', e.payload::jsonb - ARRAY['updated_at', 'ruleset', 'event_id']) FROM msg_event e ORDER BY target, flid, state_version`},
	{name: "reference data", sql: `SELECT rtype || '/' || rkey, to_jsonb(f) - 'updated_at' FROM ref_master f ORDER BY rtype, rkey`},
	{name: "late rows", sql: `SELECT first_id::text, to_jsonb(outcome) FROM inbox_hole WHERE outcome = 'late' ORDER BY first_id`, mayBeEmpty: true},
}

// lists is all entries of all lists of flights.
func lists() string {
	var all []string
	for _, name := range []string{"route_point", "gtdt", "ckdt", "cldt", "psdt", "chdt", "dely", "abtm", "chot", "port", "psht", "tipt", "srvt", "vipf", "vipt"} {
		all = append(all, fmt.Sprintf("SELECT flid, '%[1]s' AS list, to_jsonb(d) AS entry FROM flight_%[1]s d", name))
	}
	return strings.Join(all, " UNION ALL ")
}

type row struct{ key, value string }

func (p *place) read(sql string) []row {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	rows, err := p.pg.Query(ctx, sql)
	if err != nil {
		p.t.Fatalf("%s: %v", short(sql), err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (out row, err error) {
		var value json.RawMessage
		err = r.Scan(&out.key, &value)
		out.value = string(value)
		return out, err
	})
	if err != nil {
		p.t.Fatalf("%s: %v", short(sql), err)
	}
	return all
}

// firstDifference says where two lists part, and how many entries there are.
func firstDifference(want, got []row) string {
	if digest(want) == digest(got) {
		return ""
	}
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return fmt.Sprintf("%d and %d entries; too much: %s %s", len(want), len(got), got[i].key, got[i].value)
		case i >= len(got):
			return fmt.Sprintf("%d and %d entries; missing: %s %s", len(want), len(got), want[i].key, want[i].value)
		case want[i] != got[i]:
			return fmt.Sprintf("%d and %d entries; at %s and %s:\n%s", len(want), len(got), want[i].key, got[i].key,
				cmp.Diff(strings.Split(want[i].value, ", "), strings.Split(got[i].value, ", ")))
		}
	}
	return ""
}

func digest(rows []row) [sha256.Size]byte {
	h := sha256.New()
	for _, r := range rows {
		fmt.Fprintf(h, "%q %q\n", r.key, r.value)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// TestDifferencesAreFound: the comparison itself has to see what it is for.
func TestDifferencesAreFound(t *testing.T) {
	a, b := row{"1", `{"state": "SUCCEEDED"}`}, row{"2", `{"state": "DEAD"}`}
	for _, tt := range []struct {
		want, got []row
		found     string
	}{
		{[]row{a, b}, []row{a, b}, ""},
		{[]row{a, b}, []row{a}, "missing: 2"},
		{[]row{a}, []row{a, b}, "too much: 2"},
		{[]row{a, b}, []row{a, {"2", `{"state": "SKIPPED"}`}}, "at 2 and 2"},
	} {
		if diff := firstDifference(tt.want, tt.got); (diff == "") != (tt.found == "") || !strings.Contains(diff, tt.found) {
			t.Errorf("%v, %v: got %q, want %q", tt.want, tt.got, diff, tt.found)
		}
	}
}
