package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/engine/failpoint"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/engine/ruleset"
)

const (
	sqlKeepRuleset = `
INSERT INTO ruleset (hash, settings, build, first_seen) VALUES ($1, $2::json, $3, $4) ON CONFLICT (hash) DO NOTHING`

	sqlKeepRulesetFiles = `
INSERT INTO ruleset_file (hash, path, content)
SELECT $1, f.path, f.content FROM unnest($2::text[], $3::bytea[]) AS f (path, content)
ON CONFLICT (hash, path) DO NOTHING`

	sqlEndRuleset = `
UPDATE ruleset_live SET live_to = $2, judged = $5 WHERE live_to IS NULL AND (hash, build, pinned) <> ($1, $3, $4::boolean)`

	// Where the one that is live stays live, only what was seen of its place is brought up to date.
	sqlSeenRuleset = `UPDATE ruleset_live SET origin = $1, seen = $2 WHERE live_to IS NULL`

	sqlBeginRuleset = `
INSERT INTO ruleset_live (hash, live_from, build, how, who, why, origin, seen, pinned)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9 WHERE NOT EXISTS (SELECT FROM ruleset_live WHERE live_to IS NULL)
ON CONFLICT (hash, live_from) DO UPDATE SET live_to = NULL, build = excluded.build, how = excluded.how, who = excluded.who,
    why = excluded.why, origin = excluded.origin, seen = excluded.seen, pinned = excluded.pinned, judged = NULL`

	// What was never asked about a message is named by none, and goes when it is old.
	sqlForgetLives = `
DELETE FROM ruleset_live WHERE judged = 0 AND live_to IS NOT NULL
    AND live_from < (SELECT l.live_from FROM ruleset_live l ORDER BY l.live_from DESC OFFSET $1 LIMIT 1)`

	sqlForgetRulesetFiles = `
DELETE FROM ruleset_file f WHERE NOT EXISTS (SELECT FROM ruleset_live l WHERE l.hash = f.hash)`

	sqlForgetRulesets = `DELETE FROM ruleset r WHERE NOT EXISTS (SELECT FROM ruleset_live l WHERE l.hash = r.hash)`

	sqlLiveRuleset = `SELECT hash FROM ruleset_live WHERE live_to IS NULL`

	sqlLive = `
SELECT l.hash, l.build, l.how, l.who, l.why, l.origin, l.seen, l.pinned, l.live_from, l.live_to, l.judged
FROM ruleset_live l WHERE l.live_to IS NULL`

	sqlLives = `
SELECT l.hash, l.build, l.how, l.who, l.why, l.origin, l.seen, l.pinned, l.live_from, l.live_to, l.judged
FROM ruleset_live l ORDER BY l.live_from DESC LIMIT $1`

	sqlRuleset = `SELECT r.hash, r.settings::text, r.build FROM ruleset r WHERE r.hash = $1`

	sqlRulesetFiles = `SELECT path, content FROM ruleset_file WHERE hash = $1`

	sqlRulesetsNamed = `SELECT r.hash FROM ruleset r WHERE starts_with(r.hash, $1) ORDER BY r.hash LIMIT 2`
)

// keptLives is how many of the newest rule sets are kept although no message names them.
const keptLives = 200

// GoLive keeps a rule set whole and makes it the live one, as l says (Until and Judged left out).
// judged is how many messages the one before was asked about since it went live, nil when that is not known. request is the operator's
// request that this answers, 0 for none. Where it is live already, with the same build and pin, only
// its place is brought up to date.
func (w *Writer) GoLive(ctx context.Context, set ruleset.Set, l ruleset.Live, judged *int64, request int64) error {
	op := "make rule set " + set.Hash + " live"
	settings, err := json.Marshal(settingsOf(set))
	if err != nil {
		return fmt.Errorf("store: %s: %w", op, err)
	}
	paths, contents := make([]string, 0, len(set.Files)), make([][]byte, 0, len(set.Files))
	for path, content := range set.Files {
		if content == nil {
			content = []byte{}
		}
		paths, contents = append(paths, path), append(contents, content)
	}
	return w.inTx(ctx, failpoint.KeepRuleset, op, nil, func(tx *Tx) error {
		tx.Finally(sqlKeepRuleset, set.Hash, string(settings), set.Build, l.From)
		tx.Finally(sqlKeepRulesetFiles, set.Hash, paths, contents)
		tx.Finally(sqlEndRuleset, set.Hash, l.From, set.Build, l.Pinned, judged)
		tx.Finally(sqlSeenRuleset, l.Origin, l.Seen)
		tx.Finally(sqlBeginRuleset, set.Hash, l.From, set.Build, string(l.How), safe(l.Who, nameLimit), safe(l.Why, reasonLimit), l.Origin, l.Seen, l.Pinned)
		tx.Finally(sqlForgetLives, keptLives)
		tx.Finally(sqlForgetRulesetFiles)
		tx.Finally(sqlForgetRulesets)
		return answer(tx, request, ruleset.Answer{Live: true, Hash: set.Hash, At: l.From})
	})
}

func settingsOf(set ruleset.Set) map[string]string {
	if set.Settings == nil {
		return map[string]string{}
	}
	return set.Settings
}

// LiveRuleset is the hash of the live rule set, "" before the first.
func (s *Store) LiveRuleset(ctx context.Context) (hash string, err error) {
	err = s.read(ctx, "read the live rule set", func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, sqlLiveRuleset).Scan(&hash)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return hash, err
}

// Live is what is live, and how it came to be; false before the first.
func (s *Store) Live(ctx context.Context) (l ruleset.Live, found bool, err error) {
	lives, err := list(ctx, s, "read what is live", sqlLive, scanLive)
	if err != nil || len(lives) == 0 {
		return l, false, err
	}
	return lives[0], true, nil
}

func scanLive(row pgx.CollectableRow) (l ruleset.Live, err error) {
	var until *time.Time
	err = row.Scan(&l.Hash, &l.Build, &l.How, &l.Who, &l.Why, &l.Origin, &l.Seen, &l.Pinned, &l.From, &until, &l.Judged)
	l.From, l.Until = l.From.UTC(), moment(until)
	return l, err
}

// Ruleset is a rule set that was live once, whole; fault.ErrNotFound if none has the hash.
func (s *Store) Ruleset(ctx context.Context, hash string) (set ruleset.Set, err error) {
	set.Files = map[string][]byte{}
	err = s.read(ctx, "read rule set "+message.SafeText(hash, hashLength), func(ctx context.Context) error {
		var b pgx.Batch
		b.Queue(sqlRuleset, hash).QueryRow(func(row pgx.Row) error {
			var settings string
			if err := row.Scan(&set.Hash, &settings, &set.Build); err != nil {
				return err
			}
			return json.Unmarshal([]byte(settings), &set.Settings)
		})
		b.Queue(sqlRulesetFiles, hash).Query(func(rows pgx.Rows) error {
			var path string
			var content []byte
			_, err := pgx.ForEachRow(rows, []any{&path, &content}, func() error {
				set.Files[path] = append([]byte{}, content...)
				return nil
			})
			return err
		})
		return s.pool.SendBatch(ctx, &b).Close()
	})
	return set, err
}

// hashLength is the length of a hash in hex.
const hashLength = 64

// RulesetNamed completes the beginning of a hash. fault.ErrNotFound when no recorded rule set begins so,
// fault.ErrRefused when several do.
func (s *Store) RulesetNamed(ctx context.Context, prefix string) (string, error) {
	shown := message.SafeText(prefix, hashLength)
	hashes, err := list(ctx, s, "find rule set "+shown, sqlRulesetsNamed, pgx.RowTo[string], prefix)
	switch {
	case err != nil:
		return "", err
	case len(hashes) == 0:
		return "", fmt.Errorf("store: find rule set %s: %w: none that was live begins so", shown, fault.ErrNotFound)
	case len(hashes) > 1:
		return "", fmt.Errorf("store: find rule set %s: %w: several begin so, such as %.20s and %.20s", shown, fault.ErrRefused, hashes[0], hashes[1])
	}
	return hashes[0], nil
}
