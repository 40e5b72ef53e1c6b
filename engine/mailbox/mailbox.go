package mailbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"msgx/engine/fault"
)

// Mailbox is the shared mailbox. It is safe for concurrent use.
type Mailbox struct {
	db     *sql.DB
	config Config

	mu    sync.Mutex
	known *layout // nil until the table was looked up
}

const (
	maxConns = 8
	maxIdle  = 4
	// connLifetime lets sessions follow a writer that has moved behind its name.
	connLifetime = 5 * time.Minute
)

// Open prepares the mailbox and looks its inbound table up. A table or column
// that is missing is an error; a server that is away is not: the table is then looked up
// when the server is first reached.
func Open(ctx context.Context, c Config) (*Mailbox, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	connector, err := newConnector(c)
	if err != nil {
		return nil, err
	}
	m := &Mailbox{db: sql.OpenDB(connector), config: c}
	m.db.SetMaxOpenConns(maxConns)
	m.db.SetMaxIdleConns(maxIdle)
	m.db.SetConnMaxLifetime(connLifetime)
	if err := m.Check(ctx); err != nil && !errors.Is(err, fault.ErrUnavailable) {
		_ = m.db.Close()
		return nil, err
	}
	return m, nil
}

// Close ends all sessions.
func (m *Mailbox) Close() error { return m.db.Close() }

// Check asks whether the server answers and the inbound table is as configured.
func (m *Mailbox) Check(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, m.config.ReadTimeout)
	defer cancel()
	err := m.db.PingContext(call)
	if err == nil {
		_, err = m.layoutOf(call)
	}
	if err != nil {
		return failed(ctx, "look up the inbound table", err)
	}
	return nil
}

// Characters tells whether bodies are read and written as text, not as bytes.
func (m *Mailbox) Characters(ctx context.Context) (text bool, err error) {
	err = m.reading(ctx, "look up the inbound table", func(_ context.Context, l *layout) error {
		text = l.characters
		return nil
	})
	return text, err
}

// Server tells the server's version and whether it refuses writes, as a
// replica does.
func (m *Mailbox) Server(ctx context.Context) (version string, readOnly bool, err error) {
	call, cancel := context.WithTimeout(ctx, m.config.ReadTimeout)
	defer cancel()
	if err := m.db.QueryRowContext(call, "SELECT VERSION(), @@GLOBAL.read_only").Scan(&version, &readOnly); err != nil {
		return "", false, failed(ctx, "ask the server's version", err)
	}
	return version, readOnly, nil
}

// reading and writing run one call within its bound, with the layout at hand.
func (m *Mailbox) reading(ctx context.Context, doing string, fn func(context.Context, *layout) error) error {
	return m.within(ctx, m.config.ReadTimeout, doing, fn)
}

func (m *Mailbox) writing(ctx context.Context, doing string, fn func(context.Context, *layout) error) error {
	return m.within(ctx, m.config.WriteTimeout, doing, fn)
}

func (m *Mailbox) within(ctx context.Context, bound time.Duration, doing string, fn func(context.Context, *layout) error) error {
	call, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	l, err := m.layoutOf(call)
	if err != nil && !unavailable(err) { // no statement can do without it, whatever row it is about
		err = fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
	}
	if err == nil {
		if err = fn(call, l); otherTable(err) {
			m.forget(l)
		}
	}
	if err != nil {
		return failed(ctx, doing, err)
	}
	return nil
}

// idList writes ids into a statement: numbers need no placeholder, and one
// statement holds as many as the caller's batch.
func idList(ids []int64) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(id, 10))
	}
	return b.String()
}
