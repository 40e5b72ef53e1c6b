package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/flight"
)

const (
	// wireTime is how PostgreSQL writes an instant under our session settings.
	wireTime = "2006-01-02 15:04:05Z07"
	// canonicalTime is how the engine writes one, in the airport's zone: as the codec does.
	canonicalTime = time.RFC3339
)

// queueLoad reads the family of flights into a view. Nothing is asked when nothing is named.
func (t *flightTables) queueLoad(b *pgx.Batch, named, masters []flight.ID, view *decision.View) {
	view.Flights = map[flight.ID]*flight.State{}
	if len(named)+len(masters) == 0 {
		return
	}
	b.Queue(t.load, bigints(named), bigints(masters)).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := t.scan(rows.RawValues(), view); err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		deriveMembers(view.Flights)
		return nil
	})
}

func bigints(ids []flight.ID) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}

// scan reads one row of the load statement; every value is text or NULL.
func (t *flightTables) scan(row [][]byte, view *decision.View) error {
	id, err := strconv.ParseInt(string(row[0]), 10, 64)
	if err != nil {
		return fmt.Errorf("flid %q: %w", row[0], err)
	}
	if row[2] == nil { // no current state
		if row[1] != nil {
			version, err := strconv.ParseInt(string(row[1]), 10, 64)
			if err != nil {
				return fmt.Errorf("flight %d: last version %q: %w", id, row[1], err)
			}
			if view.LastVersions == nil {
				view.LastVersions = map[flight.ID]int64{}
			}
			view.LastVersions[flight.ID(id)] = version
		}
		return nil
	}
	s, err := t.state(flight.ID(id), row[2:])
	if err != nil {
		return fmt.Errorf("flight %d: %w", id, err)
	}
	view.Flights[s.ID] = s
	return nil
}

// state reads the columns from "state" on.
func (t *flightTables) state(id flight.ID, row [][]byte) (*flight.State, error) {
	s := &flight.State{ID: id, Status: flight.Status(row[0]), OperationDay: string(row[2]), Fields: make(flight.Fields, 24), Lists: map[string][]flight.Record{}}
	var err error
	if s.Version, err = strconv.ParseInt(string(row[1]), 10, 64); err != nil {
		return nil, fmt.Errorf("state_version: %w", err)
	}
	if s.LastMsgID, err = strconv.ParseInt(string(row[3]), 10, 64); err != nil {
		return nil, fmt.Errorf("last_msg_id: %w", err)
	}
	if s.CreatedAt, err = time.Parse(wireTime, string(row[4])); err != nil {
		return nil, fmt.Errorf("created_at: %w", err)
	}
	if s.UpdatedAt, err = time.Parse(wireTime, string(row[5])); err != nil {
		return nil, fmt.Errorf("updated_at: %w", err)
	}
	s.CreatedAt, s.UpdatedAt = s.CreatedAt.UTC(), s.UpdatedAt.UTC()
	row = row[len(ownColumns)-1:]
	for i, c := range t.columns {
		if row[i] == nil {
			continue
		}
		if s.Fields[c.path], err = canonical(c.typ, string(row[i]), t.zone); err != nil {
			return nil, fmt.Errorf("%s: %w", c.path, err)
		}
	}
	for i, l := range t.lists {
		raw := row[len(t.columns)+i]
		if raw == nil {
			continue
		}
		var entries [][]json.RawMessage
		if err := json.Unmarshal(raw, &entries); err != nil {
			return nil, fmt.Errorf("%s: %w", l.list.Tag, err)
		}
		if s.Lists[l.list.Tag], err = l.records(entries, t.zone); err != nil {
			return nil, fmt.Errorf("%s: %w", l.list.Tag, err)
		}
	}
	return s, nil
}

func (t *listTable) records(entries [][]json.RawMessage, zone *time.Location) ([]flight.Record, error) {
	out := make([]flight.Record, 0, len(entries))
	for n, entry := range entries {
		r := flight.Record{Fields: make(flight.Fields, len(t.columns))}
		for i, c := range t.columns {
			var text *string
			if err := json.Unmarshal(entry[i], &text); err != nil {
				return nil, fmt.Errorf("entry %d: %s: %w", n+1, c.path, err)
			}
			if text == nil {
				continue
			}
			value, err := canonical(c.typ, *text, zone)
			if err != nil {
				return nil, fmt.Errorf("entry %d: %s: %w", n+1, c.path, err)
			}
			r.Fields[c.path] = value
		}
		for i, nested := range t.nested {
			var inner [][]json.RawMessage
			if err := json.Unmarshal(entry[len(t.columns)+i], &inner); err != nil {
				return nil, fmt.Errorf("entry %d: %s: %w", n+1, nested.list.Tag, err)
			}
			if len(inner) == 0 {
				continue
			}
			records, err := nested.records(inner, zone)
			if err != nil {
				return nil, fmt.Errorf("entry %d: %s: %w", n+1, nested.list.Tag, err)
			}
			if r.Lists == nil {
				r.Lists = map[string][]flight.Record{}
			}
			r.Lists[nested.list.Tag] = records
		}
		out = append(out, r)
	}
	return out, nil
}

// canonical turns the database's text of a value into the engine's.
func canonical(typ catalogue.Type, text string, zone *time.Location) (string, error) {
	switch typ {
	case catalogue.Datetime, catalogue.Stamp:
		at, err := time.Parse(wireTime, text)
		if err != nil {
			return "", err
		}
		return at.In(zone).Format(canonicalTime), nil
	case catalogue.Decimal:
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
	}
	return text, nil
}

// deriveMembers gives each active master its active children, by FLID. The view holds
// every child of every master in it.
func deriveMembers(flights map[flight.ID]*flight.State) {
	for _, s := range flights {
		master, ok := s.Master()
		if !ok || master == s.ID || s.Status != flight.Active {
			continue
		}
		if m := flights[master]; m != nil && m.IsMaster() {
			m.Members = append(m.Members, flight.Member{FLID: s.ID, FLNO: s.Fields["FLNO"]})
		}
	}
	for _, s := range flights {
		slices.SortFunc(s.Members, func(a, b flight.Member) int { return cmp.Compare(a.FLID, b.FLID) })
	}
}
