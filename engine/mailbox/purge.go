package mailbox

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"msgx/engine/evidence"
)

const (
	sqlHeaders = "SELECT %[1]s, %[2]s, %[3]s FROM %[4]s WHERE %[1]s > ? ORDER BY %[1]s LIMIT ?"

	sqlColumnNames = `
SELECT COLUMN_NAME FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`

	sqlPartitions = `
SELECT PARTITION_NAME, COALESCE(PARTITION_DESCRIPTION, ''), COALESCE(PARTITION_METHOD, ''), COALESCE(PARTITION_EXPRESSION, '')
FROM information_schema.PARTITIONS
WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND PARTITION_NAME IS NOT NULL
ORDER BY PARTITION_ORDINAL_POSITION`
)

// Headers reads up to limit rows with an id above after, ascending, with time and mark but without bodies; of the named
// partitions, or of the whole table when none is named.
func (m *Mailbox) Headers(ctx context.Context, partitions []string, after int64, limit int) ([]evidence.Header, error) {
	var found []evidence.Header
	err := m.reading(ctx, fmt.Sprintf("read rows after id %d", after), func(ctx context.Context, l *layout) error {
		from := l.table
		if len(partitions) > 0 {
			names := make([]string, len(partitions))
			for i, name := range partitions {
				names[i] = "`" + strings.ReplaceAll(name, "`", "``") + "`"
			}
			from += " PARTITION (" + strings.Join(names, ", ") + ")"
		}
		rows, err := m.db.QueryContext(ctx, fmt.Sprintf(sqlHeaders, l.id.name, l.receivedExpr(), l.processed.name, from), after, limit)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err is what counts
		found = nil
		for rows.Next() {
			var h evidence.Header
			var received, mark sql.NullString
			if err := rows.Scan(&h.ID, &received, &mark); err != nil {
				return err
			}
			h.ReceivedAt = parseTime(received.String, l.received.zone(m.config.Zone))
			h.Marked = mark.Valid && !strings.HasPrefix(mark.String, "0000")
			found = append(found, h)
		}
		return rows.Err()
	})
	return found, err
}

// Describe looks up a table beside the inbound one, or that one itself when name is "".
func (m *Mailbox) Describe(ctx context.Context, name string) (t evidence.Table, err error) {
	in := m.config.Inbound
	if name == "" {
		name = in.Table
	}
	if err := validName("table", name); err != nil {
		return t, err
	}
	t = evidence.Table{Name: name, ID: in.ID, Received: in.Received, Marked: in.Processed, Status: in.Status}
	if t.Status == None {
		t.Status = ""
	}
	err = m.reading(ctx, "look up table "+name, func(ctx context.Context, l *layout) error {
		t.Instants = l.received.kind == "timestamp"
		database, table := splitTable(name)
		if t.Columns, err = m.texts(ctx, sqlColumnNames, database, table); err != nil {
			return err
		}
		return m.partitions(ctx, &t, database, table)
	})
	return t, err
}

func (m *Mailbox) texts(ctx context.Context, statement string, args ...any) (found []string, err error) {
	rows, err := m.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what counts
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		found = append(found, text)
	}
	return slices.Clip(found), rows.Err()
}

func (m *Mailbox) partitions(ctx context.Context, t *evidence.Table, database, table string) error {
	rows, err := m.db.QueryContext(ctx, sqlPartitions, database, table)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what counts
	t.Partitions = nil
	for rows.Next() {
		var p evidence.Partition
		if err := rows.Scan(&p.Name, &p.Bound, &t.Method, &t.PartitionBy); err != nil {
			return err
		}
		t.Partitions = append(t.Partitions, p)
	}
	return rows.Err()
}
