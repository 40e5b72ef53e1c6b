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
func floor(ctx context.Context, url string, r *recorder) (time.Duration, error) {
	settings, err := pgx.ParseConfig(url)
	if err != nil {
		return 0, err
	}
	maps.Copy(settings.RuntimeParams, r.settings)
	conn, err := pgx.ConnectConfig(ctx, settings)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx) //nolint:errcheck // the measurement is over
	epoch, _ := r.units[0].batches[0][1].args[0].(int64)
	if _, err := conn.Exec(ctx, `UPDATE instance_lease SET epoch = $1`, epoch); err != nil {
		return 0, fmt.Errorf("floor: take the recorded epoch: %w", err)
	}
	begun := time.Now()
	for _, u := range r.units {
		for _, batch := range u.batches {
			if err := send(ctx, conn, batch); err != nil {
				return 0, fmt.Errorf("floor: message %d: %w", u.msgID, err)
			}
		}
	}
	return time.Since(begun), nil
}

func send(ctx context.Context, conn *pgx.Conn, statements []statement) error {
	var b pgx.Batch
	for _, s := range statements {
		b.Queue(s.sql, s.args...)
	}
	results := conn.SendBatch(ctx, &b)
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
