package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/flight"
)

// latest is the last record of a key.
type latest struct {
	version int64
	sum     uint64
	deleted bool
	bad     string // why its value is no state
	at      event.Landing
}

// schdTopic compares the last record of each key with the state.
func (a *Audit) schdTopic(ctx context.Context) error {
	last := map[flight.ID]latest{}
	err := a.n.Schd.Read(ctx, func([]evidence.Extent) {}, func(r evidence.Record) error {
		a.report.count("records of latest states", 1)
		id, l, ok := a.latestOf(&r)
		if ok {
			last[id] = l
		} else {
			a.report.broken(Delivery, where(r.Landing), fmt.Sprintf("a record with key %q and version %q", r.Key, r.Headers["state_version"]), "a flight at a version")
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(a.states)) {
		want := a.states[id]
		got, told := last[id]
		delete(last, id)
		a.report.compared(Delivery, 1)
		a.state(id, want, got, told)
	}
	if a.o.From != 0 || a.o.To != 0 {
		a.report.limit(Delivery, "keys of flights that no message of the range touched")
		return nil
	}
	return a.strangers(ctx, last)
}

// latestOf reads a record; false when it is of no flight.
func (a *Audit) latestOf(r *evidence.Record) (id flight.ID, l latest, ok bool) {
	id, err := flight.ParseID(r.Key)
	if err != nil {
		return 0, l, false
	}
	version, err := strconv.ParseInt(r.Headers["state_version"], 10, 64)
	if err != nil {
		return 0, l, false
	}
	l = latest{version: version, deleted: r.Value == nil, at: r.Landing}
	if !l.deleted {
		parts, err := payloadParts(a.n.Catalogue, r.Value)
		if err != nil {
			l.bad = err.Error()
		}
		l.sum = sumOf(parts)
	}
	return id, l, true
}

// state compares the last record of one flight with its state.
func (a *Audit) state(id flight.ID, want expectation, got latest, told bool) {
	place := "flight " + id.String()
	if told {
		place += " at " + where(got.at)
	}
	broken := func(found, expected string) { a.report.broken(Delivery, place, found, expected) }
	switch {
	case want.lost:
	case want.unsent:
		a.report.count("latest states not delivered yet", 1)
	case !told && want.deleted:
		a.report.count("tombstones that compaction has removed", 1)
	case !told:
		broken("no record in the topic of latest states", fmt.Sprintf("version %d", want.version))
	case got.version > want.version: // of a change after the snapshot
		a.report.count("latest states newer than the snapshot", 1)
	case got.version < want.version:
		broken(fmt.Sprintf("the last record is of version %d", got.version), fmt.Sprintf("version %d", want.version))
	case got.deleted != want.deleted:
		broken(fmt.Sprintf("the last record of version %d has a null value: %t", got.version, got.deleted), fmt.Sprintf("a null value: %t", want.deleted))
	case got.bad != "":
		broken("the last record is no state: "+got.bad, "the state of version "+strconv.FormatInt(want.version, 10))
	case !got.deleted && got.sum != want.sum:
		broken(fmt.Sprintf("the last record of version %d tells another state", got.version), "the state in the database")
	}
}

// strangers are keys of flights that the snapshot did not have: they came after it, or are nobody's.
func (a *Audit) strangers(ctx context.Context, last map[flight.ID]latest) error {
	ids := make([]flight.ID, 0, len(last))
	for id, l := range last {
		if !l.deleted {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for part := range slices.Chunk(ids, flightPage) {
		err := a.n.Look(ctx, func(s Snapshot) error {
			found, err := s.Flights(ctx, part)
			if err != nil {
				return err
			}
			for i := range found {
				if found[i].State == nil {
					l := last[found[i].ID]
					a.report.broken(Delivery, fmt.Sprintf("flight %s at %s", found[i].ID, where(l.at)), fmt.Sprintf("version %d of a flight that is not known", l.version), "flights of this database only")
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
