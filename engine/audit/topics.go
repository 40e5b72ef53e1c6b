package audit

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/flight"
)

// lookup is how many events are looked up at once.
const lookup = 500

// expectation is what the last record of a flight's key has to be.
type expectation struct {
	version int64
	sum     uint64
	deleted bool
	unsent  bool // pending, or given up: the topic tells an older one
	lost    bool // the flight has no row, and that is told elsewhere
}

// expect keeps what the broker has to hold of a flight.
func (a *Audit) expect(d *dossier) {
	e := expectation{unsent: d.schd != nil && d.schd.State != event.Sent}
	switch {
	case d.State == nil && d.RemovedVersion == 0:
		e.lost = true
	case d.schd != nil: // which is held to the state itself
		e.version, e.deleted = d.schd.Version, d.schd.Type == event.Tombstone
		parts, _ := payloadParts(a.n.Catalogue, d.schd.Payload) // a payload that is no state is told with the flight
		e.sum = sumOf(parts)
	case d.State != nil:
		e.version, e.deleted, e.sum = d.State.Version, d.State.Status == flight.Deleted, sumOf(d.parts)
	default:
		e.version, e.deleted = d.RemovedVersion, true
	}
	if d.schd != nil && d.schd.State == event.Dead {
		a.report.count("latest states given up by the outbox", 1)
	}
	a.states[d.ID] = e
}

// sumOf is a hash of the values of a state.
func sumOf(parts map[string][]byte) uint64 {
	h := fnv.New64a()
	for _, path := range slices.Sorted(maps.Keys(parts)) {
		if path == decision.PathState || path == decision.PathOperationDay {
			continue
		}
		_, _ = h.Write([]byte(path))
		_, _ = h.Write(parts[path])
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// sentEvents notes what the broker has acknowledged.
func (a *Audit) sentEvents(ctx context.Context, s Snapshot) error {
	if a.n.Msg == nil {
		return nil
	}
	for after := int64(0); ; {
		ids, err := s.SentEvents(ctx, after, page)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			a.sent.add(id)
		}
		after = ids[len(ids)-1]
		a.report.count("events sent", len(ids))
	}
}

// topics compares both topics with what the database says was sent.
func (a *Audit) topics(ctx context.Context) error {
	if a.n.Msg == nil || a.n.Schd == nil {
		a.report.limit(Delivery, "the broker was not read")
		return nil
	}
	m := &msgTopic{Audit: a, seen: bits{}, last: map[lane]int64{}, firsts: map[int]int64{}}
	if err := a.n.Msg.Read(ctx, m.begin, func(r evidence.Record) error { return m.tell(ctx, r) }); err != nil {
		return err
	}
	if err := m.end(ctx); err != nil {
		return err
	}
	return a.schdTopic(ctx)
}

// lane is a flight in a partition: what a reader can see the order of.
type lane struct {
	flid      flight.ID
	partition int
}

// msgTopic is the topic of every change being read.
type msgTopic struct {
	*Audit
	seen   bits           // events that were delivered
	last   map[lane]int64 // version
	firsts map[int]int64  // first offset that a partition still holds
	batch  []evidence.Record
}

func where(l event.Landing) string { return fmt.Sprintf("%s[%d]@%d", l.Topic, l.Partition, l.Offset) }

func (m *msgTopic) begin(extents []evidence.Extent) {
	for _, e := range extents {
		m.firsts[e.Partition] = e.First
		if e.First > 0 {
			m.report.limit(Delivery, "partition %d of the topic of changes begins at offset %d: earlier records have been removed", e.Partition, e.First)
		}
	}
}

func (m *msgTopic) tell(ctx context.Context, r evidence.Record) error {
	m.batch = append(m.batch, r)
	if len(m.batch) < lookup {
		return nil
	}
	return m.flush(ctx)
}

// flush compares the records at hand with their events.
func (m *msgTopic) flush(ctx context.Context) error {
	ids := make([]int64, 0, len(m.batch))
	for _, r := range m.batch {
		if id, err := strconv.ParseInt(r.Headers["event_id"], 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	found, err := m.n.Outbox.EventsByID(ctx, ids)
	if err != nil {
		return err
	}
	events := make(map[int64]*evidence.Event, len(found))
	for i := range found {
		events[found[i].ID] = &found[i]
	}
	for i := range m.batch {
		m.record(&m.batch[i], events)
	}
	m.batch = m.batch[:0]
	return nil
}

// record compares one record with its event.
func (m *msgTopic) record(r *evidence.Record, events map[int64]*evidence.Event) {
	report, at := m.report, where(r.Landing)
	report.count("records of changes", 1)
	id, err := strconv.ParseInt(r.Headers["event_id"], 10, 64)
	if err != nil {
		report.broken(Delivery, at, fmt.Sprintf("a record with key %q and no event id", r.Key), "records of this outbox only")
		return
	}
	report.compared(Delivery, 1)
	e := events[id]
	created, err := time.Parse(time.RFC3339Nano, r.Headers["created_at"])
	switch {
	case e == nil && err == nil && m.now.Sub(created) >= m.o.EventsKept:
		report.count("records of events that were cleaned up since", 1)
	case e == nil:
		report.broken(Delivery, at, fmt.Sprintf("event %d, key %q, flight %s version %s", id, r.Key, r.Headers["flid"], r.Headers["state_version"]), "an event of the outbox")
		return
	default:
		if text := unlike(r, e); text != "" {
			report.broken(Delivery, at, fmt.Sprintf("event %d with %s", id, text), fmt.Sprintf("flight %s version %d under key %s, as the outbox has it", e.FLID, e.Version, e.Key))
		}
	}
	if m.seen.has(id) {
		report.count("changes delivered more than once", 1)
		return
	}
	m.seen.add(id)
	m.inOrder(r)
}

// unlike says in what a record is not its event.
func unlike(r *evidence.Record, e *evidence.Event) string {
	switch {
	case e.Target != event.Msg:
		return "target " + string(e.Target)
	case r.Key != e.Key:
		return "key " + r.Key
	case r.Headers["flid"] != e.FLID.String():
		return "flight " + r.Headers["flid"]
	case r.Headers["state_version"] != strconv.FormatInt(e.Version, 10):
		return "version " + r.Headers["state_version"]
	case !bytes.Equal(r.Value, e.Value()):
		return "another payload"
	}
	return ""
}

// inOrder holds first deliveries to the order of versions.
func (m *msgTopic) inOrder(r *evidence.Record) {
	id, err := flight.ParseID(r.Headers["flid"])
	version, wrong := strconv.ParseInt(r.Headers["state_version"], 10, 64)
	if err != nil || wrong != nil {
		return // told as unlike its event
	}
	l := lane{id, r.Landing.Partition}
	if before := m.last[l]; version <= before {
		m.report.broken(Delivery, where(r.Landing), fmt.Sprintf("flight %s version %d for the first time, after version %d", id, version, before), "versions in order")
		return
	}
	m.last[l] = version
}

// end looks for sent events that the topic does not hold.
func (m *msgTopic) end(ctx context.Context) error {
	if err := m.flush(ctx); err != nil {
		return err
	}
	var missing []int64
	var failure error
	flush := func() {
		found, err := m.n.Outbox.EventsByID(ctx, missing)
		if err != nil && failure == nil {
			failure = err
		}
		for i := range found {
			m.missing(&found[i])
		}
		missing = missing[:0]
	}
	m.sent.without(m.seen, func(id int64) {
		if missing = append(missing, id); len(missing) == lookup {
			flush()
		}
	})
	flush()
	return failure
}

func (m *msgTopic) missing(e *evidence.Event) {
	switch first, known := m.firsts[e.Landing.Partition]; {
	case e.State != event.Sent: // an operator sends it again
	case known && e.Landing.Offset < first:
		m.report.count("events whose record the topic has removed", 1)
	default:
		m.report.broken(Delivery, fmt.Sprintf("flight %s version %d", e.FLID, e.Version),
			fmt.Sprintf("event %d is not in the topic", e.ID), "its record, acknowledged at "+where(e.Landing))
	}
}
