package mailbox

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"msgx/engine/failpoint"
	"msgx/engine/message"
)

const (
	sqlMarks = "SELECT %[1]s, %[2]s, %[3]s FROM %[4]s WHERE %[1]s IN (%[5]s)"
	// YEAR is 0 for a zero date, which could not be compared with under a strict SQL mode.
	sqlEmptyMark = "(%[1]s IS NULL OR YEAR(%[1]s) = 0)"
	sqlMark      = "UPDATE %[1]s SET %[2]s WHERE %[3]s IN (%[4]s) AND %[5]s"
)

// MarkAll writes the processed mark over every given row whose mark is empty,
// in one statement, and tells of each id what it found: the mark is written, it
// was there already (and stays as it is), or there is no such row.
//
// Which rows were empty is read before, and read again only if the statement
// wrote fewer of them because somebody else marks or removes rows at the same time. The
// number that the server reports is the same whether it counts changed or matched
// rows, because the condition matches no row that it does not change.
func (m *Mailbox) MarkAll(ctx context.Context, ids []int64, at time.Time) (map[int64]message.MarkResult, error) {
	if len(ids) == 0 {
		return map[int64]message.MarkResult{}, nil
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	results := make(map[int64]message.MarkResult, len(ids))
	err := m.writing(ctx, fmt.Sprintf("mark ids %d to %d", ids[0], ids[len(ids)-1]), func(ctx context.Context, l *layout) error {
		before, err := m.marks(ctx, l, ids)
		if err != nil {
			return err
		}
		var empty []int64
		for _, id := range ids {
			mark, exists := before[id]
			switch {
			case !exists:
				results[id] = message.MarkMissing
			case !mark.empty:
				results[id] = message.MarkAlready
			default:
				results[id] = message.MarkWritten
				empty = append(empty, id)
			}
		}
		if len(empty) == 0 {
			return nil
		}
		mine := formatTime(at, l.processed.zone(m.config.Zone))
		written, err := m.mark(ctx, l, empty, mine)
		if err != nil || written == int64(len(empty)) {
			return err
		}
		return m.overtaken(ctx, l, empty, mine, written, results)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// overtaken tells what became of rows that were empty when read and of which
// not all could be marked. If somebody else wrote the same second and status at the same
// moment, theirs cannot be told from ours, and nothing depends on it.
func (m *Mailbox) overtaken(ctx context.Context, l *layout, ids []int64, mine string, written int64, results map[int64]message.MarkResult) error {
	after, err := m.marks(ctx, l, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		mark, exists := after[id]
		switch {
		case !exists:
			results[id] = message.MarkMissing
		case mark.empty: // taken back by somebody in between: still owed
			results[id] = message.MarkFailed
		case written == 0 || !m.isMine(mark, mine):
			results[id] = message.MarkAlready
		}
	}
	return nil
}

func (m *Mailbox) isMine(mark rowMark, mine string) bool {
	return strings.HasPrefix(mark.at, mine) && (m.config.ProcessedStatus == "" || mark.status == m.config.ProcessedStatus)
}

type rowMark struct {
	empty      bool
	at, status string
}

func (m *Mailbox) marks(ctx context.Context, l *layout, ids []int64) (map[int64]rowMark, error) {
	status := noSuchColumn
	if l.status.exists() {
		status = l.status.name
	}
	rows, err := m.db.QueryContext(ctx, fmt.Sprintf(sqlMarks, l.id.name, l.processed.name, status, l.table, idList(ids)))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what counts
	found := make(map[int64]rowMark, len(ids))
	for rows.Next() {
		var id int64
		var at, status sql.NullString
		if err := rows.Scan(&id, &at, &status); err != nil {
			return nil, err
		}
		found[id] = rowMark{empty: !at.Valid || strings.HasPrefix(at.String, "0000"), at: at.String, status: status.String}
	}
	return found, rows.Err()
}

func (m *Mailbox) mark(ctx context.Context, l *layout, ids []int64, at string) (written int64, err error) {
	set, args := l.processed.name+" = ?", []any{at}
	if m.config.ProcessedStatus != "" {
		set += ", " + l.status.name + " = ?"
		args = append(args, m.config.ProcessedStatus)
	}
	empty := fmt.Sprintf(sqlEmptyMark, l.processed.name)
	failpoint.Before(failpoint.Mark)
	result, err := m.db.ExecContext(ctx, fmt.Sprintf(sqlMark, l.table, set, l.id.name, idList(ids), empty), args...)
	failpoint.After(failpoint.Mark)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
