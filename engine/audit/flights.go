package audit

import (
	"context"
	"fmt"
	"math"

	"msgx/engine/decision"
	"msgx/engine/event"
	"msgx/engine/evidence"
	"msgx/engine/flight"
	"msgx/engine/message"
)

// dossier is everything that is held of one flight.
type dossier struct {
	*evidence.Flight
	versions []evidence.Version
	msg      []evidence.Event
	schd     *evidence.Event
	// parts is the state as JSON values by path, nil without a row.
	parts map[string][]byte
}

func (d *dossier) place() string { return "flight " + d.ID.String() }

func (d *dossier) at(version int64) string {
	return fmt.Sprintf("flight %s version %d", d.ID, version)
}

// last is the latest version on record, nil when there is none.
func (d *dossier) last() *evidence.Version {
	if len(d.versions) == 0 {
		return nil
	}
	return &d.versions[len(d.versions)-1]
}

// flights compares every flight that a message of the range touched.
func (a *Audit) flights(ctx context.Context, s Snapshot) error {
	first, last := a.o.From, a.o.To
	switch {
	case first == 0 && last > 0:
		first = -1 // ids begin above it: the range is bounded above only
	case last == 0:
		last = math.MaxInt64
	}
	for after := flight.ID(-1); ; {
		ids, err := s.FlightIDs(ctx, after, first, last, flightPage)
		if err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		if err := a.flightsOf(ctx, s, ids); err != nil {
			return err
		}
	}
}

// flightsOf compares some flights.
func (a *Audit) flightsOf(ctx context.Context, s Snapshot, ids []flight.ID) error {
	found, err := a.dossiers(ctx, s, ids)
	if err != nil {
		return err
	}
	for _, d := range found {
		a.report.count("flights", 1)
		if err := a.flight(ctx, d); err != nil {
			return err
		}
		if err := a.family(ctx, s, d); err != nil {
			return err
		}
		if a.n.Schd != nil {
			a.expect(d)
		}
	}
	return nil
}

// dossiers reads flights with all that belongs to them, by FLID.
func (a *Audit) dossiers(ctx context.Context, s Snapshot, ids []flight.ID) ([]*dossier, error) {
	flights, err := s.Flights(ctx, ids)
	if err != nil {
		return nil, err
	}
	versions, err := s.Versions(ctx, ids)
	if err != nil {
		return nil, err
	}
	events, err := s.Events(ctx, ids)
	if err != nil {
		return nil, err
	}
	out, byID := make([]*dossier, len(flights)), map[flight.ID]*dossier{}
	for i := range flights {
		d := &dossier{Flight: &flights[i]}
		if d.State != nil {
			if d.parts, err = stateParts(a.n.Catalogue, d.State); err != nil {
				return nil, fmt.Errorf("%s: %w", d.place(), err)
			}
		}
		out[i], byID[d.ID] = d, d
	}
	for i := range versions {
		d := byID[versions[i].FLID]
		d.versions = append(d.versions, versions[i])
	}
	for i := range events {
		d := byID[events[i].FLID]
		if events[i].Target == event.Schd {
			d.schd = &events[i]
		} else {
			d.msg = append(d.msg, events[i])
		}
	}
	return out, nil
}

// flight compares one flight with its history and its events.
func (a *Audit) flight(ctx context.Context, d *dossier) error {
	r := a.report
	r.count("versions", len(d.versions))
	if d.State == nil {
		r.compared(EvidenceFirst, 1)
		switch {
		case len(d.versions)+len(d.msg) == 0 && d.schd == nil && d.RemovedVersion == 0:
			r.broken(Together, d.place(), fmt.Sprintf("rows in %v, and nothing else is known of it", d.Orphans), "a flight that they belong to")
			return nil
		case d.RemovedVersion == 0:
			r.broken(EvidenceFirst, d.place(), fmt.Sprintf("no row, with %d versions of history and %d events", len(d.versions), len(d.msg)),
				"a row, or one in the archive of removed flights")
			return nil
		case len(d.Orphans) > 0:
			r.broken(Together, d.place(), fmt.Sprintf("no row, with rows in %v", d.Orphans), "to be removed together")
		}
	}
	gapped := a.versions(d)
	for i := range d.versions {
		if err := a.version(ctx, d, &d.versions[i]); err != nil {
			return err
		}
	}
	a.history(d, gapped)
	a.events(d)
	if d.State != nil {
		a.latest(d)
	}
	return nil
}

// versions counts the versions, and tells after which of them some are missing.
func (a *Audit) versions(d *dossier) (gapped map[int64]bool) {
	r := a.report
	gapped = map[int64]bool{}
	previous := d.RemovedVersion
	for i := range d.versions {
		v := &d.versions[i]
		r.compared(Versions, 1)
		if i == 0 && v.Version <= d.RemovedVersion {
			previous = v.Version - 1 // the history of a removed flight stays for a while
		}
		if v.Version == previous+1 || i == 0 && a.forgotten(d, v) {
			previous = v.Version
			continue
		}
		gapped[v.Version] = true
		r.broken(Versions, d.at(previous+1), fmt.Sprintf("no history up to version %d", v.Version), "one history row for each version")
		previous = v.Version
	}
	if d.State == nil {
		return gapped
	}
	switch last := d.last(); {
	case last == nil && a.now.Sub(d.State.UpdatedAt) < a.o.HistoryKept:
		r.broken(Versions, d.at(d.State.Version), "no history", "one history row for each version")
	case last != nil && last.Version != d.State.Version:
		r.broken(Versions, d.at(d.State.Version), fmt.Sprintf("history ends with version %d", last.Version), "history up to the version of the state")
	}
	return gapped
}

// forgotten tells whether the history before the first version on record may have been removed.
func (a *Audit) forgotten(d *dossier, first *evidence.Version) bool {
	begun := first.At
	if d.State != nil {
		begun = d.State.CreatedAt
	}
	if a.now.Sub(begun) < a.o.HistoryKept {
		return false
	}
	a.report.limit(Versions, "history before %s may have been removed", stamp(a.now.Add(-a.o.HistoryKept)))
	return true
}

// version holds one version to its message and its script.
func (a *Audit) version(ctx context.Context, d *dossier, v *evidence.Version) error {
	r := a.report
	r.compared(Together, 1)
	if v.DecisionNo == 0 && v.MsgState != "" && v.MsgState != message.Archived {
		broken, state := Together, string(v.MsgState)
		if v.MsgClass == message.Protocol {
			broken, state = Schedules, state+"("+string(v.MsgClass)+")"
		}
		r.broken(broken, d.at(v.Version), fmt.Sprintf("made by message %d, which is %s", v.MsgID, state), "a message that SUCCEEDED")
	}
	set, err := a.ruleset(ctx, v.Ruleset)
	if err != nil {
		return err
	}
	if set == nil {
		r.limit(Footprint, "rule set %.12s is not at hand", v.Ruleset)
		return nil
	}
	r.compared(Footprint, 1)
	writes, known := set.Writes[v.Script]
	if !known {
		r.broken(Footprint, d.at(v.Version), "made by "+v.Script, fmt.Sprintf("a script of rule set %.12s", v.Ruleset))
		return nil
	}
	for i := range v.Changed {
		if path := v.Changed[i].Path; !covers(writes, path) {
			r.broken(Footprint, d.at(v.Version), fmt.Sprintf("%s changed by %s", path, v.Script), fmt.Sprintf("changes of %v only", writes))
		}
	}
	return nil
}

// events holds the outbox to the history.
func (a *Audit) events(d *dossier) {
	r := a.report
	at := 0
	var before *evidence.Event
	for i := range d.versions {
		v := &d.versions[i]
		for at < len(d.msg) && d.msg[at].Version < v.Version { // of versions whose history is gone
			at++
		}
		first := at
		for at < len(d.msg) && d.msg[at].Version == v.Version {
			at++
		}
		about := Versions
		if v.Op == decision.Delete {
			about = Deletions
			r.compared(Deletions, 1)
		}
		switch n := at - first; {
		case n == 0 && a.now.Sub(v.At) >= a.o.EventsKept:
			r.limit(Versions, "events before %s may have been removed", stamp(a.now.Add(-a.o.EventsKept)))
			continue
		case n != 1:
			r.broken(about, d.at(v.Version), fmt.Sprintf("%d events for KAFKA:msg, after %s by message %d", n, v.Op, v.MsgID), "one")
			continue
		}
		e := &d.msg[first]
		if e.State == event.Dead {
			r.count("changes given up by the outbox", 1)
		}
		a.event(d, v, e)
		if before != nil && e.ID < before.ID {
			r.broken(Delivery, d.at(v.Version), fmt.Sprintf("event %d, and version %d before it has event %d", e.ID, before.Version, before.ID), "events in the order of versions")
		}
		before = e
	}
	if rest := d.msg[at:]; len(rest) > 0 && (d.last() == nil || rest[0].Version > d.last().Version) && d.State != nil && rest[0].Version > d.State.Version {
		r.broken(Versions, d.at(rest[0].Version), fmt.Sprintf("event %d", rest[0].ID), fmt.Sprintf("no event beyond version %d", d.State.Version))
	}
}

// event holds one event to the version that it tells.
func (a *Audit) event(d *dossier, v *evidence.Version, e *evidence.Event) {
	r := a.report
	if deleted := v.Op == decision.Delete; deleted != (e.Type == event.Tombstone) {
		r.broken(Deletions, d.at(v.Version), fmt.Sprintf("%s, told by event %d as %s", v.Op, e.ID, e.Type), "a TOMBSTONE for a deletion and for nothing else")
	}
	if e.MsgID != v.MsgID || !sameChanges(e.Payload, v.Changed) {
		r.broken(Together, d.at(v.Version), fmt.Sprintf("event %d of message %d tells other changes than the history row of message %d", e.ID, e.MsgID, v.MsgID), "the same")
	}
}

// latest holds the row of KAFKA:schd to the state.
func (a *Audit) latest(d *dossier) {
	r, e := a.report, d.schd
	if e == nil {
		if a.now.Sub(d.State.UpdatedAt) < a.o.EventsKept {
			r.broken(Together, d.place(), "no event for KAFKA:schd", fmt.Sprintf("one of version %d", d.State.Version))
		}
		return
	}
	deleted := d.State.Status == flight.Deleted
	switch {
	case e.Version != d.State.Version:
		r.broken(Together, d.place(), fmt.Sprintf("KAFKA:schd tells version %d", e.Version), fmt.Sprintf("version %d, as the state", d.State.Version))
	case deleted != (e.Type == event.Tombstone):
		r.broken(Deletions, d.place(), fmt.Sprintf("%s, and KAFKA:schd tells %s", d.State.Status, e.Type), "a TOMBSTONE for a deleted flight and for no other")
	case !deleted:
		told, err := payloadParts(a.n.Catalogue, e.Payload)
		if err != nil {
			r.broken(Together, d.place(), fmt.Sprintf("the payload of event %d: %v", e.ID, err), "a state")
			return
		}
		for _, path := range differing(told, d.parts) {
			if path != decision.PathOperationDay && path != decision.PathState {
				r.broken(invariantOf(path), d.place()+" "+path, "KAFKA:schd tells "+shown(told[path]), shown(d.parts[path])+", as the state")
			}
		}
	}
}
