package store

import (
	"fmt"
	"strings"
	"time"

	"msgx/engine/catalogue"
)

// column is one catalogue field in its table.
type column struct {
	path string // as in flight.Fields ("STND", "FDIV.DDES"), or the bare tag in a list
	name string
	typ  catalogue.Type
}

// listTable is one list of the catalogue in its table, with the statements that replace it.
type listTable struct {
	list    catalogue.List
	parent  string // tag of the list it is nested in
	columns []column
	nested  []*listTable
	remove  string // $1: flight ids
	insert  string // $1: JSON array of rows
}

// flightTables are the statements on flights. No statement names a field by hand: all
// are built once from the catalogue, and prepared like the constants by a test.
type flightTables struct {
	catalogue *catalogue.Catalogue
	zone      *time.Location
	columns   []column // of flight_schd, without flid
	lists     []*listTable
	load      string // $1: named flights, $2: further masters
	upsert    string // $1: JSON array of rows
	orphans   string // $1: flights
	known     string // $1: after, $2: limit
}

// ownColumns are those of flight_schd that the catalogue does not know.
var ownColumns = []string{"flid", "state", "state_version", "operation_day", "last_msg_id", "created_at", "updated_at"}

func newFlightTables(cat *catalogue.Catalogue, zone *time.Location) *flightTables {
	t := &flightTables{catalogue: cat, zone: zone}
	for _, f := range cat.Flight.Scalars {
		if f.Tag != "FLID" { // the key itself
			t.columns = append(t.columns, column{f.Tag, f.Column, f.Type})
		}
	}
	for _, o := range cat.Flight.Objects {
		for _, f := range o.Parts {
			t.columns = append(t.columns, column{o.Tag + "." + f.Tag, f.Column, f.Type})
		}
	}
	for _, l := range cat.Flight.Lists {
		t.lists = append(t.lists, newListTable(l, ""))
	}
	t.load = t.loadStatement()
	t.upsert = t.upsertStatement()
	t.orphans = t.orphansStatement()
	t.known = t.knownStatement()
	return t
}

func newListTable(l catalogue.List, parent string) *listTable {
	t := &listTable{list: l, parent: parent}
	for _, f := range l.Fields {
		t.columns = append(t.columns, column{f.Tag, f.Column, f.Type})
	}
	for _, n := range l.Lists {
		t.nested = append(t.nested, newListTable(n, l.Tag))
	}
	names := strings.Join(append(t.keys(), names(t.columns)...), ", ")
	t.insert = fmt.Sprintf("INSERT INTO %s (%s)\nSELECT %s FROM json_populate_recordset(NULL::%s, $1::json)", l.Table, names, names, l.Table)
	t.remove = fmt.Sprintf("DELETE FROM %s WHERE flid = ANY ($1::bigint[])", l.Table)
	if l.Discriminator != "" {
		t.remove += fmt.Sprintf(" AND route_kind = '%s'", l.Discriminator)
	}
	return t
}

// keys are the columns of a list table that the catalogue does not know.
func (t *listTable) keys() []string {
	keys := []string{"flid"}
	if t.list.Discriminator != "" {
		keys = append(keys, "route_kind")
	}
	if t.parent != "" {
		keys = append(keys, "parent_ordinal")
	}
	return append(keys, "ordinal")
}

func names(columns []column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.name
	}
	return out
}

// loadStatement reads the family of the named flights: themselves, their masters (by their own
// MAID and by the message's), and every flight whose MAID is one of those. Values come as text.
// A flight without a row comes with the highest version that it is known to have had.
func (t *flightTables) loadStatement() string {
	var b strings.Builder
	b.WriteString(`WITH named AS (
    SELECT unnest($1::bigint[]) AS flid
), kin AS (
    SELECT flid FROM named
    UNION SELECT unnest($2::bigint[])
    UNION SELECT f.maid FROM named n JOIN flight_schd f ON f.flid = n.flid WHERE f.maid IS NOT NULL
), family AS (
    SELECT flid FROM kin
    UNION SELECT f.flid FROM kin k JOIN flight_schd f ON f.maid = k.flid AND f.maid IS NOT NULL
)
SELECT y.flid::text,
    CASE WHEN f.flid IS NULL THEN greatest(
        (SELECT max(c.state_version) FROM flight_change c WHERE c.flid = y.flid),
        (SELECT max(e.state_version) FROM msg_event e WHERE e.flid = y.flid),
        (SELECT max(h.state_version) FROM flight_hst h WHERE h.flid = y.flid))::text END`)
	for _, name := range ownColumns[1:] {
		fmt.Fprintf(&b, ",\n    f.%s::text", name)
	}
	for _, c := range t.columns {
		fmt.Fprintf(&b, ",\n    f.%s::text", c.name)
	}
	for _, l := range t.lists {
		b.WriteString(",\n    " + l.aggregate("f.flid", ""))
	}
	b.WriteString("\nFROM family y LEFT JOIN flight_schd f ON f.flid = y.flid")
	return b.String()
}

// aggregate is a subselect that gives a list as a JSON array of entries, each an array of texts
// in column order with nested lists at its end. The order comes from the index.
func (t *listTable) aggregate(flid, parent string) string {
	alias := strings.ToLower(t.list.Tag)
	parts := make([]string, 0, len(t.columns)+len(t.nested))
	for _, c := range t.columns {
		parts = append(parts, fmt.Sprintf("%s.%s::text", alias, c.name))
	}
	for _, n := range t.nested {
		parts = append(parts, n.aggregate(alias+".flid", alias+".ordinal"))
	}
	where := "d.flid = " + flid
	if t.list.Discriminator != "" {
		where += fmt.Sprintf(" AND d.route_kind = '%s'", t.list.Discriminator)
	}
	if t.parent != "" {
		where += " AND d.parent_ordinal = " + parent
	}
	columns := "d." + strings.Join(append(t.keys(), names(t.columns)...), ", d.")
	return fmt.Sprintf("(SELECT json_agg(json_build_array(%s)) FROM (SELECT %s FROM %s d WHERE %s ORDER BY d.ordinal) %s)",
		strings.Join(parts, ", "), columns, t.list.Table, where, alias)
}

func (t *flightTables) upsertStatement() string {
	all := append(append([]string{}, ownColumns...), names(t.columns)...)
	sets := make([]string, 0, len(all))
	for _, name := range all {
		if name != "flid" && name != "created_at" {
			sets = append(sets, name+" = excluded."+name)
		}
	}
	columns := strings.Join(all, ", ")
	return fmt.Sprintf("INSERT INTO flight_schd (%s)\nSELECT %s FROM json_populate_recordset(NULL::flight_schd, $1::json)\nON CONFLICT (flid) DO UPDATE SET %s",
		columns, columns, strings.Join(sets, ", "))
}

// statements are all statements built from the catalogue, by name.
func (t *flightTables) statements() map[string]string {
	out := map[string]string{"flight.load": t.load, "flight.upsert": t.upsert, "flight.orphans": t.orphans, "flight.known": t.known}
	var add func(l *listTable)
	add = func(l *listTable) {
		out[l.list.Tag+".remove"], out[l.list.Tag+".insert"] = l.remove, l.insert
		for _, n := range l.nested {
			add(n)
		}
	}
	for _, l := range t.lists {
		add(l)
	}
	return out
}
