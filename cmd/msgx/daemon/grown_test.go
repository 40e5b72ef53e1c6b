package daemon_test

import (
	"testing"

	"msgx/engine/audit"
	"msgx/engine/store"
)

// A binary works on the schema of a later one that only adds: more columns in every table, more tables, a higher version.
func TestASchemaThatHasGrown(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.list(`DO $$ DECLARE name text; BEGIN
		FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version' LOOP
			EXECUTE format('ALTER TABLE %I ADD COLUMN of_tomorrow text, ADD COLUMN certain boolean NOT NULL DEFAULT true', name);
			EXECUTE format('CREATE INDEX ON %I (of_tomorrow)', name);
		END LOOP;
	END $$`)
	p.list(`CREATE TABLE tomorrow (n bigint PRIMARY KEY)`)
	p.list(`INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`, store.SchemaVersion()+5)
	p.backlog(300)
	d := p.start()
	p.settled()
	if lines, told := brokenLines(audited(t, p, audit.Options{Rebuild: true})); len(lines) > 0 {
		t.Errorf("broken in %v:\n%s", lines, told)
	}
	if err := d.end(); err != nil {
		t.Error(err)
	}
}
