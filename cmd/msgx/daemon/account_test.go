package daemon_test

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/flight"
	"msgx/engine/message"
	"msgx/engine/rehearse"
	"msgx/engine/store"
)

// account compares everything that is there after the messages were sent with
// a rehearsal of them in memory, and with itself: outcomes, flights, history,
// events, marks, and both topics. It returns every difference.
func (p *place) account() []string {
	p.t.Helper()
	p.faults = nil
	outcomes, world := p.rehearse()
	p.accountOutcomes(outcomes)
	p.accountFlights(world)
	for _, q := range promises {
		for i, fault := range p.list(q.breaks) {
			if i < 5 { // the first ones tell enough
				p.fault("broken: %s: %s", q.what, fault)
			}
		}
	}
	p.accountMailbox()
	p.accountTopics()
	return p.faults
}

func (p *place) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// settlement is how a message ends, and after how many failures.
type settlement struct {
	message.Outcome
	Attempts int
}

// rehearse runs in memory what was sent.
func (p *place) rehearse() (map[int64]settlement, rehearse.World) {
	p.t.Helper()
	attempts := p.config().Pipeline.MaxAttempts
	decoder, judge := p.judge()
	r := rehearse.New(decoder, judge, time.Now, rehearse.World{})
	ends := map[int64]settlement{}
	for _, m := range p.sent {
		if m.gone {
			ends[m.id] = settlement{message.Outcome{State: message.Dead, Class: message.Malformed, Reason: "raw-missing"}, 1}
			continue
		}
		raw := message.Raw{MsgID: m.id, Characters: !p.bytes}
		if m.body != nil {
			raw.Body = []byte(*m.body)
		}
		o := r.Run(raw).Settlement.Outcome
		switch o.State {
		case message.Failed: // and would fail alike each time
			ends[m.id] = settlement{message.Outcome{State: message.Dead, Class: message.Exhausted, Reason: fmt.Sprintf("%s: %s", o.Class, o.Reason)}, attempts}
		case message.Dead:
			ends[m.id] = settlement{o, 1}
		default:
			ends[m.id] = settlement{o, p.failures[m.id]}
		}
	}
	return ends, r.World()
}

func (p *place) accountOutcomes(want map[int64]settlement) {
	p.t.Helper()
	got := map[int64]settlement{}
	var id int64
	var s settlement
	p.each(`SELECT msg_id, state, coalesce(error_class, ''), coalesce(last_error, skip_reason, ''), attempts FROM proc_state`, func() { got[id] = s },
		&id, &s.State, &s.Class, &s.Reason, &s.Attempts)
	if d := cmp.Diff(want, got); d != "" {
		p.fault("messages did not end as rehearsed (-want +got):\n%s", d)
	}
}

func (p *place) accountFlights(want rehearse.World) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	c := p.config()
	mind, err := core.Prepare(c)
	if err != nil {
		p.t.Fatal(err)
	}
	db, err := daemon.OpenStore(ctx, c, mind)
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	got := rehearse.World{Flights: map[flight.ID]*flight.State{}, Refs: map[string]map[string]json.RawMessage{}}
	for _, text := range p.list(`SELECT flid::text FROM flight_schd`) {
		id, err := flight.ParseID(text)
		if err != nil {
			p.t.Fatal(err)
		}
		if got.Flights[id], err = db.Flight(ctx, id); err != nil {
			p.t.Fatal(err)
		}
		p.accountHistory(ctx, db, id)
	}
	var typ, key, value string
	p.each(`SELECT rtype, rkey, value::text FROM ref_master`, func() {
		if got.Refs[typ] == nil {
			got.Refs[typ] = map[string]json.RawMessage{}
		}
		got.Refs[typ][key] = json.RawMessage(value)
	}, &typ, &key, &value)
	// What is empty is written out by neither.
	format := func(world rehearse.World) string {
		return string(rehearse.FormatState(mind.Catalogue, c.Airport.Location, world))
	}
	if d := cmp.Diff(format(want), format(got)); d != "" {
		p.fault("flights are not as rehearsed (-want +got):\n%s", d)
	}
}

// accountHistory checks that each version begins where the one before it ended.
func (p *place) accountHistory(ctx context.Context, db *store.Store, id flight.ID) {
	p.t.Helper()
	changes, err := db.FlightHistory(ctx, id, 0, 1_000_000)
	if err != nil {
		p.t.Fatal(err)
	}
	values := map[string]any{}
	for i := len(changes) - 1; i >= 0; i-- { // the newest comes first
		for _, f := range changes[i].Changed {
			before, after := plain(f.Before), plain(f.After)
			if !reflect.DeepEqual(values[f.Path], before) {
				p.fault("flight %s version %d: %s was %v before, want %v as the versions before left it", id, changes[i].Version, f.Path, before, values[f.Path])
			}
			values[f.Path] = after
		}
	}
}

func plain(raw json.RawMessage) (v any) {
	_ = json.Unmarshal(raw, &v) // nothing at all is nil
	return v
}

// promise is something that the data can show, with the query that finds what breaks it.
type promise struct{ what, breaks string }

var promises = []promise{
	{"every message is finished", `SELECT format('message %s is %s', msg_id, state) FROM proc_state WHERE state NOT IN ('SUCCEEDED', 'SKIPPED', 'DEAD')`},
	{"every mark is confirmed, or given up with its row", `SELECT format('message %s, marked %s, given up: %s', msg_id, backfill_at, backfill_abandoned_reason)
		FROM proc_state WHERE (backfill_at IS NULL) <> (last_error IS NOT DISTINCT FROM 'raw-missing') OR (backfill_at IS NULL) = (backfill_abandoned_at IS NULL)`},
	{"decisions are numbered without a gap, in the order of the mailbox", `
		SELECT format('message %s has number %s, want %s', msg_id, decision_no, n)
		FROM (SELECT msg_id, decision_no, row_number() OVER (ORDER BY msg_id) AS n FROM proc_state WHERE decision_no IS NOT NULL) d WHERE decision_no <> n`},
	{"what succeeded, and nothing else, has a number", `SELECT format('message %s is %s with number %s', msg_id, state, decision_no) FROM proc_state
		WHERE (state = 'SUCCEEDED') <> (decision_no IS NOT NULL)`},
	{"the watermark is at the last id", `SELECT format('watermark %s, last id %s', watermark, (SELECT max(msg_id) FROM proc_state)) FROM inbox_cursor
		WHERE watermark < (SELECT max(msg_id) FROM proc_state)`},
	{"every id is enqueued or a released hole", `SELECT format('id %s', id) FROM generate_series(1, (SELECT watermark FROM inbox_cursor)) AS id
		WHERE NOT EXISTS (SELECT FROM proc_state p WHERE p.msg_id = id)
		AND NOT EXISTS (SELECT FROM inbox_hole h WHERE h.outcome = 'aged' AND id BETWEEN h.first_id AND h.last_id)`},
	{"each identity is bound once", `SELECT identity_key FROM proc_state WHERE identity_key IS NOT NULL GROUP BY 1 HAVING count(*) > 1`},
	{"every version has one row of history, in order", `
		SELECT format('flight %s at version %s: history has %s rows up to %s', f.flid, f.state_version, count(c.flid), max(c.state_version))
		FROM flight_schd f LEFT JOIN flight_change c USING (flid) GROUP BY f.flid, f.state_version
		HAVING count(c.flid) <> f.state_version OR max(c.state_version) <> f.state_version`},
	{"history follows the mailbox", `
		SELECT format('flight %s version %s is of message %s, the one before of %s', flid, state_version, msg_id, before)
		FROM (SELECT *, lag(msg_id) OVER (PARTITION BY flid ORDER BY state_version) AS before FROM flight_change) c WHERE msg_id <= before`},
	{"every version comes from a message that succeeded", `SELECT format('flight %s version %s', flid, c.state_version)
		FROM flight_change c LEFT JOIN proc_state p USING (msg_id) WHERE p.state IS DISTINCT FROM 'SUCCEEDED'`},
	{"every version has one event", `
		SELECT format('flight %s version %s has %s events', flid, state_version, count(e.event_id))
		FROM flight_change c LEFT JOIN (SELECT * FROM msg_event WHERE target = 'KAFKA:msg') e USING (flid, state_version)
		GROUP BY flid, state_version HAVING count(e.event_id) <> 1`},
	{"every event has its version", `SELECT format('event %s', event_id) FROM msg_event e
		WHERE NOT EXISTS (SELECT FROM flight_change c WHERE c.flid = e.flid AND c.state_version = e.state_version)`},
	{"events are in the order of the mailbox", `
		SELECT format('event %s is of message %s, the one before of %s', event_id, msg_id, before)
		FROM (SELECT *, lag(msg_id) OVER (ORDER BY event_id) AS before FROM msg_event WHERE target = 'KAFKA:msg') e WHERE msg_id < before`},
	{"every event is delivered", `SELECT format('event %s is %s after %s attempts: %s', event_id, state, attempts, last_error) FROM msg_event
		WHERE state <> 'SENT' OR topic_offset IS NULL OR attempts > 0`},
	{"events of a flight are sent in the order of its versions", `
		SELECT format('flight %s version %s was sent at %s, the one before at %s', flid, state_version, sent_at, before)
		FROM (SELECT *, lag(sent_at) OVER (PARTITION BY flid ORDER BY state_version) AS before FROM msg_event WHERE target = 'KAFKA:msg') e WHERE sent_at < before`},
	{"the latest state of every flight is announced", `
		SELECT format('flight %s at version %s, announced %s', f.flid, f.state_version, e.state_version)
		FROM flight_schd f LEFT JOIN (SELECT * FROM msg_event WHERE target = 'KAFKA:schd') e USING (flid) WHERE e.state_version IS DISTINCT FROM f.state_version`},
	{"a child that is listed as a member is one", `
		SELECT format('master %s', m.flid) FROM flight_schd m JOIN flight_schd c ON c.maid = m.flid
		WHERE c.state = 'ACTIVE' AND m.state = 'DELETED'`},
	{"what is stored of an error can be printed", `SELECT format('message %s: %s', msg_id, last_error) FROM proc_state
		WHERE last_error ~ '[\u0001-\u001f\u007f-\u009f\ufffe\uffff]' OR char_length(last_error) > 5000`},
	{"our copy of a body is that body", `SELECT format('message %s', msg_id) FROM raw_message r JOIN proc_state p USING (msg_id) WHERE encode(sha256(r.body), 'hex') <> r.sha256
		OR p.body_sha256 IS DISTINCT FROM r.sha256`},
}

// accountMailbox checks that every row is marked, and otherwise as it was.
func (p *place) accountMailbox() {
	p.t.Helper()
	rows, err := p.mailbox.QueryContext(p.t.Context(), `SELECT CMINMSGS_ID, coalesce(MD5(CMINMSGS_CLOB_MSG), ''), CMINMSGS_DATE_PROCESSED IS NOT NULL, CMINMSGS_STATUS,
		CMINMSGS_DATE_RECEIVED = '`+receivedAt+`' FROM CMINMSGS`)
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	type mail struct {
		Sum, Status      string
		Marked, Received bool
	}
	got, want := map[int64]mail{}, map[int64]mail{}
	for rows.Next() {
		var id int64
		var m mail
		if err := rows.Scan(&id, &m.Sum, &m.Marked, &m.Status, &m.Received); err != nil {
			p.t.Fatal(err)
		}
		got[id] = m
	}
	if err := rows.Err(); err != nil {
		p.t.Fatal(err)
	}
	for _, s := range p.sent {
		if s.gone {
			continue
		}
		m := mail{Status: "PROCESSED", Marked: true, Received: !s.posted}
		if s.body != nil {
			m.Sum = fmt.Sprintf("%x", md5.Sum([]byte(*s.body)))
		}
		want[s.id] = m
	}
	if d := cmp.Diff(want, got); d != "" {
		p.fault("the mailbox is not as it was with a mark on every row (-want +got):\n%s", d)
	}
}
