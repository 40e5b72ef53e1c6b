package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"msgx/engine/catalogue"
)

// Config says where the database is and how long it may take.
type Config struct {
	URL      string
	MaxConns int32 // default 8
	// StatementTimeout and IdleInTxTimeout have to stay below the lease time, so that a frozen
	// holder cannot keep the epoch locked past it. Default 4s each. A session whose process
	// is alive is kept awake however long a decision takes.
	StatementTimeout time.Duration
	IdleInTxTimeout  time.Duration
	// Tracer sees every statement, for measuring; nil in production.
	Tracer pgx.QueryTracer
}

func (c Config) withDefaults() Config {
	if c.MaxConns == 0 {
		c.MaxConns = 8
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = 4 * time.Second
	}
	if c.IdleInTxTimeout == 0 {
		c.IdleInTxTimeout = 4 * time.Second
	}
	return c
}

// Store is our own PostgreSQL database. It is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	flights *flightTables
	// answered are the requests that the other side answers, by name.
	answered map[string]bool
	// patience bounds one round trip from this side, for a server that has stopped answering:
	// a server that lives ends a statement by itself before that.
	patience time.Duration
	// wake is how often a session that waits for a decision says that it is alive.
	wake time.Duration
}

// Open prepares for the database without connecting: a server that is away shows
// in the first call, as fault.ErrUnavailable. Check tells early.
func Open(ctx context.Context, config Config, cat *catalogue.Catalogue, zone *time.Location) (*Store, error) {
	config = config.withDefaults()
	settings, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	settings.MaxConns = config.MaxConns
	settings.ConnConfig.ConnectTimeout = config.StatementTimeout
	settings.ConnConfig.Tracer = config.Tracer
	for name, value := range sessionSettings(config) {
		settings.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(ctx, settings)
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	answered := map[string]bool{}
	for _, r := range cat.Requests {
		answered[r.Name] = r.Answered != ""
	}
	return &Store{
		pool: pool, flights: newFlightTables(cat, zone), answered: answered,
		patience: 2*config.StatementTimeout + time.Second, wake: config.IdleInTxTimeout / 4,
	}, nil
}

// sessionSettings are what every connection of ours runs with. Statements are prepared once
// and planned once: a plan made for one message serves all. As it may be made while a table is
// still small, when reading it whole looks cheapest, the ways of doing so are ruled out; every
// engine statement has its index and looks up few rows by it.
func sessionSettings(c Config) map[string]string {
	return map[string]string{
		"application_name":  "msgx",
		"statement_timeout": milliseconds(c.StatementTimeout),
		// Shorter, so that a wait for somebody else's lock is told from work that takes too long.
		"lock_timeout":                        milliseconds(c.StatementTimeout * 3 / 4),
		"idle_in_transaction_session_timeout": milliseconds(c.IdleInTxTimeout),
		"timezone":                            "UTC",
		"datestyle":                           "ISO",
		"plan_cache_mode":                     "force_generic_plan",
		"enable_seqscan":                      "off",
		"enable_hashjoin":                     "off",
		"enable_mergejoin":                    "off",
		"enable_bitmapscan":                   "off",
		"jit":                                 "off",
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Close gives all connections back. It waits for calls in progress.
func (s *Store) Close() { s.pool.Close() }

// instant is NULL for the zero time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// moment is the zero time for NULL.
func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// optional is NULL for the empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// plain is the empty text for NULL.
func plain(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
