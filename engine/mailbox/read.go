package mailbox

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"msgx/engine/message"
	"msgx/engine/watermark"
)

// The statements, with table and columns filled in by name.
const (
	sqlAfter     = "SELECT %[1]s, %[2]s FROM %[3]s WHERE %[1]s > ? ORDER BY %[1]s LIMIT ?"
	sqlExisting  = "SELECT %[1]s, %[2]s FROM %[3]s WHERE %[1]s BETWEEN ? AND ? ORDER BY %[1]s LIMIT ?"
	sqlEnds      = "SELECT COALESCE(MIN(%[1]s), 0), COALESCE(MAX(%[1]s), 0) FROM %[2]s"
	sqlNext      = "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?"
	sqlLengths   = "SELECT %[1]s, COALESCE(LENGTH(%[2]s), 0) FROM %[3]s WHERE %[1]s IN (%[4]s) ORDER BY %[1]s"
	sqlBodies    = "SELECT %[1]s, %[2]s FROM %[3]s WHERE %[1]s IN (%[4]s) ORDER BY %[1]s"
	noSuchColumn = "NULL"
)

// After reads up to limit rows with an id above after, ascending. The result is
// complete up to its last row, or there is an error: then it proves nothing
// about what is absent.
func (m *Mailbox) After(ctx context.Context, after int64, limit int) ([]watermark.Row, error) {
	var found []watermark.Row
	err := m.reading(ctx, fmt.Sprintf("read rows after id %d", after), func(ctx context.Context, l *layout) (err error) {
		found, err = m.rows(ctx, l, fmt.Sprintf(sqlAfter, l.id.name, l.receivedExpr(), l.table), after, limit)
		return err
	})
	return found, err
}

// Existing reads up to limit rows with an id from first to last, ascending.
func (m *Mailbox) Existing(ctx context.Context, first, last int64, limit int) ([]watermark.Row, error) {
	var found []watermark.Row
	err := m.reading(ctx, fmt.Sprintf("read rows with id %d to %d", first, last), func(ctx context.Context, l *layout) (err error) {
		found, err = m.rows(ctx, l, fmt.Sprintf(sqlExisting, l.id.name, l.receivedExpr(), l.table), first, last, limit)
		return err
	})
	return found, err
}

func (l *layout) receivedExpr() string {
	if l.received.exists() {
		return l.received.name
	}
	return noSuchColumn
}

func (m *Mailbox) rows(ctx context.Context, l *layout, statement string, args ...any) ([]watermark.Row, error) {
	rows, err := m.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what counts
	var found []watermark.Row
	for rows.Next() {
		var row watermark.Row
		var received sql.NullString
		if err := rows.Scan(&row.MsgID, &received); err != nil {
			return nil, err
		}
		if n := len(found); n > 0 && row.MsgID <= found[n-1].MsgID {
			return nil, fmt.Errorf("id %d came after id %d, expected each id once and ascending", row.MsgID, found[n-1].MsgID)
		}
		row.ReceivedAt = parseTime(received.String, l.received.zone(m.config.Zone))
		found = append(found, row)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return found, nil
}

// Bounds tells the smallest and the highest id that are visible (0 when the table
// is empty) and the id that the next row will get (0 when the server does not
// know). It is asked last, so it is above the highest.
func (m *Mailbox) Bounds(ctx context.Context) (lowest, highest, next int64, err error) {
	err = m.reading(ctx, "read the bounds of the ids", func(ctx context.Context, l *layout) error {
		if err := m.db.QueryRowContext(ctx, fmt.Sprintf(sqlEnds, l.id.name, l.table)).Scan(&lowest, &highest); err != nil {
			return err
		}
		database, table := splitTable(m.config.Inbound.Table)
		var counter sql.NullInt64
		if err := m.db.QueryRowContext(ctx, sqlNext, database, table).Scan(&counter); err != nil {
			return err
		}
		next = counter.Int64
		return nil
	})
	return lowest, highest, next, err
}

// Bodies reads the bodies of the given ids, ascending, until the next one would
// take the sum over maxBytes; the first is read whatever its size. An id up to and
// including last that is not in the result has no row; ids after last were not looked at.
func (m *Mailbox) Bodies(ctx context.Context, ids []int64, maxBytes int64) (raws []message.Raw, last int64, err error) {
	if len(ids) == 0 {
		return nil, 0, nil
	}
	ids = slices.Sorted(slices.Values(ids))
	err = m.reading(ctx, fmt.Sprintf("read bodies of ids %d to %d", ids[0], ids[len(ids)-1]), func(ctx context.Context, l *layout) error {
		present, reached, err := m.fitting(ctx, l, ids, maxBytes)
		if err != nil {
			return err
		}
		last = reached
		raws, err = m.bodies(ctx, l, present)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return raws, last, nil
}

// fitting returns the ids that exist and fit, and the last id that was settled.
func (m *Mailbox) fitting(ctx context.Context, l *layout, ids []int64, maxBytes int64) (present []int64, last int64, err error) {
	if len(ids) == 1 { // read in any case
		return ids, ids[0], nil
	}
	rows, err := m.db.QueryContext(ctx, fmt.Sprintf(sqlLengths, l.id.name, l.bodyExpr, l.table, idList(ids)))
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what counts
	last = ids[len(ids)-1]
	var sum int64
	for rows.Next() {
		var id, length int64
		if err := rows.Scan(&id, &length); err != nil {
			return nil, 0, err
		}
		if len(present) > 0 && sum+length > maxBytes {
			at, _ := slices.BinarySearch(ids, id)
			return present, ids[at-1], nil
		}
		sum += length
		present = append(present, id)
	}
	return present, last, rows.Err()
}

func (m *Mailbox) bodies(ctx context.Context, l *layout, ids []int64) ([]message.Raw, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := m.db.QueryContext(ctx, fmt.Sprintf(sqlBodies, l.id.name, l.bodyExpr, l.table, idList(ids)))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what counts
	raws := make([]message.Raw, 0, len(ids))
	for rows.Next() {
		raw := message.Raw{Characters: l.characters}
		if err := rows.Scan(&raw.MsgID, &raw.Body); err != nil {
			return nil, err
		}
		raws = append(raws, raw)
	}
	return raws, rows.Err()
}
