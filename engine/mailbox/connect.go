package mailbox

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	dialTimeout = 5 * time.Second

	errnoUnknownVariable = 1193
)

// connector opens sessions that are all alike, whatever the server's defaults
// and the DSN's parameters.
type connector struct {
	driver.Connector
	session []string
}

func newConnector(c Config) (*connector, error) {
	dsn, err := mysql.ParseDSN(c.DSN)
	if err != nil {
		return nil, fmt.Errorf("mailbox: data source: %w, expected user:password@tcp(host:port)/database", err)
	}
	if dsn.DBName == "" {
		return nil, errors.New("mailbox: data source names no database, expected user:password@tcp(host:port)/database")
	}
	if dsn.Timeout == 0 {
		dsn.Timeout = dialTimeout
	}
	// Every call has its own deadline; these bound what has none, such as the handshake.
	dsn.ReadTimeout = max(c.ReadTimeout, c.WriteTimeout)
	dsn.WriteTimeout = dsn.ReadTimeout
	dsn.ParseTime = false        // zero and impossible dates must not break a read
	dsn.InterpolateParams = true // one round trip a statement
	dsn.MultiStatements = false
	dsn.RejectReadOnly = true   // after a failover, look for the new writer
	dsn.Logger = silentDriver{} // errors are returned, and logged once by whoever knows what they mean
	dsn.Collation = ""
	if err := dsn.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, fmt.Errorf("mailbox: data source: %w", err)
	}
	base, err := mysql.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("mailbox: data source: %w", err)
	}
	return &connector{Connector: base, session: []string{
		// A row that somebody has locked is given up long before the call is, so that the others get their turn.
		"SET SESSION autocommit = 1, time_zone = '+00:00', innodb_lock_wait_timeout = 1",
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		// MySQL 8 caches AUTO_INCREMENT of information_schema for a day; MariaDB does not, and has no such variable.
		"SET SESSION information_schema_stats_expiry = 0",
	}}, nil
}

// Connect opens one session.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range c.session {
		_, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil)
		var refused *mysql.MySQLError
		if errors.As(err, &refused) && refused.Number == errnoUnknownVariable {
			continue
		}
		if err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
	}
	return conn, nil
}

type silentDriver struct{}

func (silentDriver) Print(...any) {}
