package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
)

// floor issues what a recorder kept, by plain pgx on one connection: the same
// statements with the same parameters in the same batches, one transaction each. There is
// no mailbox, no decoding and no rule in it. The results are read and thrown away.
type floor struct {
	conn *pgx.Conn
}

// newFloor connects with the session settings of the store.
func newFloor(ctx context.Context, url string, settings map[string]string) (*floor, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	maps.Copy(config.RuntimeParams, settings)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &floor{conn}, nil
}

func (f *floor) close() {
	ctx, cancel := context.WithTimeout(context.Background(), stopBound)
	defer cancel()
	_ = f.conn.Close(ctx)
}

// enqueue does what the inbox does, before the clock starts, and takes the
// epoch that the statements carry.
func (f *floor) enqueue(ctx context.Context, after, last, epoch int64) error {
	for _, s := range []statement{
		{`INSERT INTO proc_state (msg_id, enqueued_at, updated_at) SELECT id, now(), now() FROM generate_series($1::bigint, $2::bigint) AS id`, []any{after + 1, last}},
		{`UPDATE inbox_cursor SET watermark = $1`, []any{last}},
		{`UPDATE instance_lease SET epoch = $1`, []any{epoch}},
	} {
		if _, err := f.conn.Exec(ctx, s.sql, s.args...); err != nil {
			return fmt.Errorf("floor: enqueue: %w", err)
		}
	}
	return nil
}

// run issues the statements of all messages, one after the other.
func (f *floor) run(ctx context.Context, units []unit) (time.Duration, error) {
	begun := time.Now()
	for _, u := range units {
		for _, batch := range u.batches {
			if err := f.send(ctx, batch); err != nil {
				return 0, fmt.Errorf("floor: message %d: %w", u.msgID, err)
			}
		}
	}
	return time.Since(begun), nil
}

func (f *floor) send(ctx context.Context, statements []statement) error {
	var b pgx.Batch
	for _, s := range statements {
		b.Queue(s.sql, s.args...)
	}
	results := f.conn.SendBatch(ctx, &b)
	for range statements {
		rows, err := results.Query()
		if err != nil {
			_ = results.Close()
			return err
		}
		for rows.Next() {
			_ = rows.RawValues()
		}
		if rows.Close(); rows.Err() != nil {
			_ = results.Close()
			return rows.Err()
		}
	}
	return results.Close()
}
