package mailbox

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"

	"msgx/engine/fault"
)

// away holds the server's error numbers that say it does not take part at all,
// whatever is asked of it.
var away = map[uint16]bool{
	3:    true, // cannot write a file
	1021: true, // disk full
	1026: true, // error writing a file
	1030: true, // error of the storage engine
	1037: true, // out of memory
	1041: true, // out of memory
	1040: true, // too many connections
	1042: true, // cannot get host name
	1043: true, // bad handshake
	1044: true, // access denied to the database
	1045: true, // access denied
	1049: true, // unknown database
	1053: true, // shutdown in progress
	1077: true, // normal shutdown
	1079: true, // shutdown complete
	1080: true, // forcing close of a thread
	1114: true, // the table is full
	1129: true, // host is blocked
	1130: true, // host is not allowed
	1142: true, // the account may not read, or mark, the table
	1143: true, // … or a column of it
	1152: true, // aborted connection
	1158: true, // network errors: read …
	1159: true,
	1160: true, // … and write
	1161: true,
	1184: true, // aborted connection
	1203: true, // too many connections of this user
	1226: true, // the user's resource limit
	1290: true, // running with --read-only
	1317: true, // query was interrupted: somebody killed it
	1792: true, // read-only transaction
	1836: true, // read-only mode
	1927: true, // MariaDB: connection was killed
	3159: true, // secure transport required
	3168: true, // server is not available
	4031: true, // disconnected for inactivity
}

// otherTable tells that the table is not, or not any more, what was looked up.
func otherTable(err error) bool {
	const (
		noSuchColumn = 1054
		noSuchTable  = 1146
	)
	var refused *mysql.MySQLError
	return errors.As(err, &refused) && (refused.Number == noSuchColumn || refused.Number == noSuchTable)
}

func unavailable(err error) bool {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return away[refused.Number] || otherTable(err)
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, fault.ErrUnavailable) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded)
}

// failed wraps an error once, with what was being done, and says whether the server is
// away. A caller that gave up is told so and nothing else.
func failed(caller context.Context, doing string, err error) error {
	switch {
	case caller.Err() != nil:
		return fmt.Errorf("mailbox: %s: %w", doing, context.Cause(caller))
	case unavailable(err):
		return fmt.Errorf("mailbox: %s: %w: %w", doing, fault.ErrUnavailable, err)
	default:
		return fmt.Errorf("mailbox: %s: %w", doing, err)
	}
}
