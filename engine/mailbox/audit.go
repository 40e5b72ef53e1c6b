package mailbox

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"msgx/engine/evidence"
)

const sqlArrivals = "SELECT %[1]s, %[2]s FROM %[3]s WHERE %[1]s > ? AND %[1]s <= ? ORDER BY %[1]s LIMIT ?"

// Arrivals reads up to limit rows with an id above after and up to last, ascending, with
// their marks. It locks nothing.
func (m *Mailbox) Arrivals(ctx context.Context, after, last int64, limit int) ([]evidence.Arrival, error) {
	var found []evidence.Arrival
	err := m.reading(ctx, fmt.Sprintf("read marks after id %d", after), func(ctx context.Context, l *layout) error {
		rows, err := m.db.QueryContext(ctx, fmt.Sprintf(sqlArrivals, l.id.name, l.processed.name, l.table), after, last, limit)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // rows.Err is what counts
		found = nil
		for rows.Next() {
			var a evidence.Arrival
			var mark sql.NullString
			if err := rows.Scan(&a.ID, &mark); err != nil {
				return err
			}
			if a.Marked = mark.Valid && !strings.HasPrefix(mark.String, "0000"); a.Marked {
				a.Mark = mark.String
			}
			found = append(found, a)
		}
		return rows.Err()
	})
	return found, err
}
