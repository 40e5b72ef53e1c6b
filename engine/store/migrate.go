package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	_ "github.com/jackc/pgx/v5/stdlib" // goose speaks database/sql
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"msgx/engine/failpoint"
	"msgx/engine/fault"
	"msgx/migrations"
)

const (
	sqlSchemaVersion    = `SELECT max(version_id) FROM goose_db_version WHERE is_applied`
	sqlSchemaCompatible = `SELECT c.oldest FROM schema_compatible c`
)

// Migrate brings the database to the schema of this binary and says from which
// version to which. Two at once wait for each other.
func Migrate(ctx context.Context, url string) (from, to int64, err error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return 0, 0, fmt.Errorf("store: migrate: %w", err)
	}
	defer db.Close()                                                           //nolint:errcheck // every migration has reported its own outcome
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 120)) // asks every second, for two minutes
	if err != nil {
		return 0, 0, fmt.Errorf("store: migrate: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.Files,
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return 0, 0, fmt.Errorf("store: migrate: %w", err)
	}
	if from, err = provider.GetDBVersion(ctx); err != nil {
		return 0, 0, fmt.Errorf("store: migrate: read the schema version: %w", classify(ctx, err))
	}
	failpoint.Before(failpoint.Migrate)
	_, err = provider.Up(ctx)
	failpoint.After(failpoint.Migrate)
	if err != nil {
		return from, from, fmt.Errorf("store: migrate from version %d: %w", from, classify(ctx, err))
	}
	if to, err = provider.GetDBVersion(ctx); err != nil {
		return from, from, fmt.Errorf("store: migrate: read the schema version: %w", classify(ctx, err))
	}
	return from, to, nil
}

// SchemaVersion is the schema that this binary needs: the highest number of a migration.
func SchemaVersion() int64 {
	files, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var last int64
	for _, name := range files {
		version, err := goose.NumericComponent(name)
		if err != nil {
			panic(err) // the files are in the binary
		}
		last = max(last, version)
	}
	return last
}

// Check asks whether the database can be reached and has a schema that this binary works on: its own, or a later one that
// only adds to it. fault.ErrUnavailable or fault.ErrRefused if not.
func (s *Store) Check(ctx context.Context) error {
	needed := SchemaVersion()
	var found *int64
	err := s.read(ctx, "check", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, sqlSchemaVersion).Scan(&found)
	})
	switch {
	case isUndefinedTable(err):
		return fmt.Errorf("%w: the database has no schema yet, expected version %d: run msgx migrate", fault.ErrRefused, needed)
	case err != nil:
		return err
	case found == nil || *found < needed:
		version := int64(0)
		if found != nil {
			version = *found
		}
		return fmt.Errorf("%w: the database has schema version %d, expected %d: run msgx migrate", fault.ErrRefused, version, needed)
	case *found == needed:
		return nil
	}
	var oldest int64
	err = s.read(ctx, "check", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, sqlSchemaCompatible).Scan(&oldest)
	})
	if err == nil && needed < oldest {
		err = fmt.Errorf("%w: the database has schema version %d, on which binaries of version %d and later work; this one is of version %d: run a newer msgx",
			fault.ErrRefused, *found, oldest, needed)
	}
	return err
}
