// Package purge writes the SQL with which the owner of the mailbox purges it, by partitions or by rotation of the whole
// table. It is pure: nothing here, and nothing else of ours, ever runs it; the mailbox's tables are the owner's.
//
// # Invariants
//
//   - What is not marked is not purged, but for rows that somebody has reconciled and that are named one by one.
//   - Nothing is removed before it is in the history table, and a count in the plan itself says so.
//   - No id is given twice, however many rows arrive meanwhile: in a rotation the new table's counter begins beyond what the old one
//     can still give, and is taken back to where that one ended once it gives no more.
//   - Each plan can be broken off after any statement and begun again, or gone on with, without losing a row.
//
// While a table is rotated, rows are missing for a moment between the exchange and the copy of what had arrived last. So the stages
// that read rows or mark them are paused: the inbox would see holes, the pump a message without a body, the back-fill a missing row.
package purge

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"msgx/engine/evidence"
)

//go:embed *.tmpl
var texts embed.FS

var templates = template.Must(template.ParseFS(texts, "*.tmpl"))

// room is how many rows may arrive between two statements of a rotation.
const room = 100000

// Plan is what is to be purged.
type Plan struct {
	Table, History evidence.Table
	Before         time.Time      // what was received before it
	Zone           *time.Location // of the table's times
	// Released are rows that are not marked, and that somebody has reconciled.
	Released []int64
}

// fields is what the templates show.
type fields struct {
	Table, TableName, New, Old, OldName, History, Schema, Columns string
	ID, Marked, Status, Cutoff, Stays, Unmarked                   string
	Instants                                                      bool
	Room                                                          int
	Due                                                           []string
}

func (p Plan) fields() fields {
	t := p.Table
	zone := p.Zone
	if t.Instants {
		zone = time.UTC
	}
	database, name, qualified := strings.Cut(t.Name, ".")
	schema := "'" + database + "'"
	if !qualified {
		name, schema = t.Name, "DATABASE()"
	}
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = quote(c)
	}
	f := fields{
		Table: quote(t.Name), TableName: name, New: quote(t.Name + "_NEW"), Old: quote(t.Name + "_OLD"), OldName: name + "_OLD", History: quote(p.History.Name),
		Schema: schema, Columns: strings.Join(columns, ", "), ID: quote(t.ID), Marked: quote(t.Marked),
		Cutoff: p.Before.In(zone).Format(time.DateTime), Instants: t.Instants, Room: room,
	}
	if t.Status != "" {
		f.Status = quote(t.Status)
	}
	f.Unmarked = fmt.Sprintf("(s.%[1]s IS NULL OR s.%[1]s = 0)", f.Marked)
	if len(p.Released) > 0 {
		ids := make([]string, len(p.Released))
		for i, id := range p.Released {
			ids[i] = strconv.FormatInt(id, 10)
		}
		f.Unmarked = fmt.Sprintf("(%s AND s.%s NOT IN (%s))", f.Unmarked, f.ID, strings.Join(ids, ", "))
	}
	received := quote(t.Received)
	f.Stays = fmt.Sprintf("(s.%[1]s >= '%[2]s' OR s.%[1]s IS NULL OR %[3]s)", received, f.Cutoff, f.Unmarked)
	return f
}

func quote(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		parts[i] = "`" + strings.ReplaceAll(part, "`", "``") + "`"
	}
	return strings.Join(parts, ".")
}

// Rotation is the SQL that exchanges the table for a new one.
func (p Plan) Rotation() string { return render("rotation.sql.tmpl", p.fields()) }

// Partitions is the SQL that drops the given partitions.
func (p Plan) Partitions(due []string) string {
	f := p.fields()
	for _, name := range due {
		f.Due = append(f.Due, quote(name))
	}
	return render("partitions.sql.tmpl", f)
}

func render(name string, f fields) string {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, f); err != nil {
		panic(err) // the templates are ours, and a test renders both
	}
	return b.String()
}

// Due are the names of the partitions whose bound is not after the plan's time, in order; an error says why it cannot be told.
func (p Plan) Due() ([]string, error) {
	t := p.Table
	if len(t.Partitions) == 0 {
		return nil, fmt.Errorf("table %s has no partitions, expected RANGE partitions by day of %s", t.Name, t.Received)
	}
	by := strings.ToLower(strings.NewReplacer("`", "", " ", "").Replace(t.PartitionBy))
	received := strings.ToLower(t.Received)
	var due []string
	for _, part := range t.Partitions {
		if part.Bound == "MAXVALUE" {
			continue
		}
		var bound time.Time
		n, err := strconv.ParseInt(part.Bound, 10, 64)
		switch {
		case by == "to_days("+received+")" && err == nil:
			const unixDays = 719528 // TO_DAYS('1970-01-01')
			day := time.Unix((n-unixDays)*24*60*60, 0).UTC()
			bound = time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, p.Zone)
		case by == "unix_timestamp("+received+")" && err == nil:
			bound = time.Unix(n, 0)
		case by == received && strings.HasPrefix(t.Method, "RANGE"):
			text := strings.Trim(part.Bound, "'")
			if len(text) == len(time.DateOnly) {
				text += " 00:00:00"
			}
			if bound, err = time.ParseInLocation(time.DateTime, text, p.Zone); err != nil {
				return nil, fmt.Errorf("partition %s of table %s ends at %s, expected a date", part.Name, t.Name, part.Bound)
			}
		default:
			return nil, fmt.Errorf("table %s is partitioned by %s %s, expected RANGE of TO_DAYS(%[4]s), UNIX_TIMESTAMP(%[4]s), or RANGE COLUMNS of it", t.Name, t.Method, t.PartitionBy, t.Received)
		}
		if !bound.After(p.Before) {
			due = append(due, part.Name)
		}
	}
	return due, nil
}

// Lacks are the columns that the history table does not have.
func (p Plan) Lacks() (missing []string) {
	for _, c := range p.Table.Columns {
		if !slices.ContainsFunc(p.History.Columns, func(h string) bool { return strings.EqualFold(h, c) }) {
			missing = append(missing, c)
		}
	}
	return missing
}
