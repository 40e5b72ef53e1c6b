package mailbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// layout is what the inbound table turned out to be. The zero column is one
// that the table does not have.
type layout struct {
	table      string // quoted
	id         column
	body       column
	received   column
	processed  column
	status     column
	envelope   envelopeColumns
	bodyExpr   string // reads the body as Characters says
	characters bool
}

type envelopeColumns struct{ sender, sequence, sentAt, subtype, kind column }

type column struct {
	name    string // quoted, "" when there is none
	kind    string // data type, lower case
	charset string
	length  int64 // of a character column, in characters
}

func (c column) exists() bool { return c.name != "" }

// zone is the zone of the column's text: sessions run in UTC, which is what
// TIMESTAMP columns are shown in.
func (c column) zone(local *time.Location) *time.Location {
	if c.kind == "timestamp" {
		return time.UTC
	}
	return local
}

const sqlColumns = `
SELECT COLUMN_NAME, LOWER(DATA_TYPE), COALESCE(LOWER(CHARACTER_SET_NAME), ''), COALESCE(CHARACTER_MAXIMUM_LENGTH, 0)
FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?`

// columns reads what a table has, by lower-case name.
func (m *Mailbox) columns(ctx context.Context, table string) (map[string]column, error) {
	database, name := splitTable(table)
	rows, err := m.db.QueryContext(ctx, sqlColumns, database, name)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what counts
	found := map[string]column{}
	for rows.Next() {
		var c column
		var length sql.NullInt64
		if err := rows.Scan(&c.name, &c.kind, &c.charset, &length); err != nil {
			return nil, err
		}
		c.length = length.Int64
		key := strings.ToLower(c.name)
		c.name = quote(c.name)
		found[key] = c
	}
	return found, rows.Err()
}

func splitTable(table string) (database, name string) {
	if database, name, ok := strings.Cut(table, "."); ok {
		return database, name
	}
	return "", table
}

var (
	integers   = []string{"bigint", "int", "mediumint", "smallint"}
	moments    = []string{"datetime", "timestamp"}
	characters = []string{"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}
	octets     = []string{"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
)

// need is one column that the configuration names.
type need struct {
	what, name string
	kinds      []string
	into       *column
}

// find fills in all columns at once, so that every fault is told together.
func find(table string, found map[string]column, needs []need) error {
	if len(found) == 0 {
		return fmt.Errorf("table %s does not exist, or the account may not see it", table)
	}
	var faults []error
	for _, n := range needs {
		if n.name == None {
			continue
		}
		c, ok := found[strings.ToLower(n.name)]
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("table %s has no column %s, which is configured as %s", table, n.name, n.what))
		case !contains(n.kinds, c.kind):
			faults = append(faults, fmt.Errorf("column %s of table %s is of type %s, expected one of %s for %s", n.name, table, c.kind, strings.Join(n.kinds, " "), n.what))
		default:
			*n.into = c
		}
	}
	return errors.Join(faults...)
}

func contains(kinds []string, kind string) bool {
	for _, k := range kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// learn looks the inbound table up.
func (m *Mailbox) learn(ctx context.Context) (*layout, error) {
	in := m.config.Inbound
	found, err := m.columns(ctx, in.Table)
	if err != nil {
		return nil, err
	}
	l := &layout{table: quote(in.Table)}
	needs := []need{
		{"id", in.ID, integers, &l.id},
		{"body", in.Body, append(append([]string{}, characters...), octets...), &l.body},
		{"received", in.Received, moments, &l.received},
		{"processed", in.Processed, moments, &l.processed},
		{"status", in.Status, characters, &l.status},
	}
	for _, e := range []struct {
		need
		usual string
	}{
		{need{"sender", in.Envelope.Sender, characters, &l.envelope.sender}, "CMINMSGS_SUBSYSTEM_NAME"},
		{need{"sequence", in.Envelope.Sequence, append(append([]string{}, integers...), characters...), &l.envelope.sequence}, "CMINMSGS_SUBSYSTEM_SEQUENCE"},
		{need{"sent-at", in.Envelope.SentAt, moments, &l.envelope.sentAt}, "CMINMSGS_SUBSYSTEM_DATE_SENT"},
		{need{"subtype", in.Envelope.Subtype, characters, &l.envelope.subtype}, "CMINMSGS_SUBSYSTEM_SUBTYPE"},
		{need{"type", in.Envelope.Type, characters, &l.envelope.kind}, "CMINMSGS_SUBSYSTEM_TYPE"},
	} {
		if e.name == "" {
			if _, ok := found[strings.ToLower(e.usual)]; !ok {
				continue
			}
			e.name = e.usual
		}
		needs = append(needs, e.need)
	}
	if err := find(in.Table, found, needs); err != nil {
		return nil, err
	}
	l.readBody(m.config.Body)
	return l, nil
}

func (l *layout) readBody(how string) {
	isText := contains(characters, l.body.kind)
	l.characters = how == BodyText || how == BodyAuto && isText
	switch {
	case l.characters && isText && l.body.charset != "utf8mb4":
		l.bodyExpr = "CONVERT(" + l.body.name + " USING utf8mb4)"
	case !l.characters && isText:
		l.bodyExpr = "CAST(" + l.body.name + " AS BINARY)"
	default:
		l.bodyExpr = l.body.name
	}
}

// layoutOf returns the layout, looked up once and kept. A failure is not kept:
// the server may have been away, or the owner mends the table.
func (m *Mailbox) layoutOf(ctx context.Context) (*layout, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		l, err := m.learn(ctx)
		if err != nil {
			return nil, err
		}
		m.known = l
	}
	return m.known, nil
}

// forget has the layout looked up again before it is next used, unless somebody has done so already.
func (m *Mailbox) forget(l *layout) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == l {
		m.known = nil
	}
}

// CheckOutbound looks the outbound table up.
func (m *Mailbox) CheckOutbound(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, m.config.ReadTimeout)
	defer cancel()
	out := m.config.Outbound
	found, err := m.columns(call, out.Table)
	if err == nil {
		var unused column
		err = find(out.Table, found, []need{
			{"id", out.ID, integers, &unused},
			{"body", out.Body, append(append([]string{}, characters...), octets...), &unused},
			{"inserted", out.Inserted, moments, &unused},
			{"routing-id", out.RoutingID, characters, &unused},
		})
	}
	if err != nil {
		return failed(ctx, "look up the outbound table", err)
	}
	return nil
}
