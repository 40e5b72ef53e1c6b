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

const sqlSchemaVersion = `SELECT max(version_id) FROM goose_db_version WHERE is_applied`

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

// Check asks whether the database can be reached and has the schema of this binary:
// fault.ErrUnavailable or fault.ErrRefused if not.
func (s *Store) Check(ctx context.Context) error {
	var version *int64
	err := s.read(ctx, "check", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, sqlSchemaVersion).Scan(&version)
	})
	if isUndefinedTable(err) {
		return fmt.Errorf("%w: the database has no schema yet, expected version %d: run msgx migrate", fault.ErrRefused, SchemaVersion())
	}
	if err != nil {
		return err
	}
	if version == nil || *version != SchemaVersion() {
		found := int64(0)
		if version != nil {
			found = *version
		}
		return fmt.Errorf("%w: the database has schema version %d, expected %d: run msgx migrate", fault.ErrRefused, found, SchemaVersion())
	}
	return nil
}
