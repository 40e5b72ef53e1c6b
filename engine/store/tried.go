package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const sqlTried = `
SELECT p.msg_id, COALESCE(h.body_sha256, p.body_sha256, '')
FROM proc_state p LEFT JOIN proc_state_hst h ON h.msg_id = p.msg_id
WHERE p.msg_id > $1 AND p.msg_id <= $2 AND p.state <> 'PENDING'
ORDER BY p.msg_id
LIMIT $3`

// Tried is a message that has been decided, or tried at least once.
type Tried struct {
	MsgID  int64
	SHA256 string // of its body, "" when it had none
}

// Tried lists up to limit messages that have been tried, with ids above after and up to last, ascending.
func (s *Store) Tried(ctx context.Context, after, last int64, limit int) ([]Tried, error) {
	return list(ctx, s, fmt.Sprintf("list what was tried of messages %d to %d", after+1, last), sqlTried,
		func(row pgx.CollectableRow) (t Tried, err error) { err = row.Scan(&t.MsgID, &t.SHA256); return t, err }, after, last, limit)
}
