package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const (
	sqlRuleset = `SELECT settings::text FROM ruleset WHERE hash = $1`

	sqlRulesetFiles = `SELECT path, content FROM ruleset_file WHERE hash = $1 ORDER BY path`
)

// KeptRuleset is a rule set that led once, as it was put on record.
type KeptRuleset struct {
	Hash     string
	Settings map[string]string // those that reach rules and their effects: "absent-optional", "code-share", "zone", "day-cutover"
	Files    map[string][]byte // by path
}

// Ruleset reads a rule set by its hash; fault.ErrNotFound if it never led.
func (s *Store) Ruleset(ctx context.Context, hash string) (KeptRuleset, error) {
	kept := KeptRuleset{Hash: hash, Files: map[string][]byte{}}
	err := s.read(ctx, "read rule set "+hash, func(ctx context.Context) error {
		var settings string
		if err := s.pool.QueryRow(ctx, sqlRuleset, hash).Scan(&settings); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(settings), &kept.Settings); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
		rows, err := s.pool.Query(ctx, sqlRulesetFiles, hash)
		if err != nil {
			return err
		}
		var path string
		var content []byte
		_, err = pgx.ForEachRow(rows, []any{&path, &content}, func() error {
			kept.Files[path] = append([]byte{}, content...)
			return nil
		})
		return err
	})
	return kept, err
}
