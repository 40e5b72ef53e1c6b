// Package mailbox is everything that speaks MySQL: it reads the inbound table
// of a mailbox that belongs to somebody else, writes processed marks into it,
// and puts new rows there for the compatible entry. It never issues DDL, never
// deletes, and changes nothing but the mark of a row whose mark is empty.
//
// # What is asked of the server
//
// The data source has to be the writer: a replica that lags would hide rows
// that the commit-delay promise says must be visible. Every read is one
// autocommit statement, so it sees one snapshot of committed rows; sessions are
// set to REPEATABLE READ whatever the server's default, because READ
// UNCOMMITTED would show rows that may yet vanish, and READ COMMITTED cannot
// write a mark under statement-based logging.
//
// # Times
//
// DATETIME columns hold wall-clock times of Config.Zone (the airport's unless
// configured otherwise); TIMESTAMP columns hold instants, and sessions run in UTC to
// read them as such. Times are read as text and parsed here: NULL, zero dates
// and dates that no calendar has are all "not known", and one such row never
// breaks the read of the others. A zero date in the mark column counts as an empty
// mark, since clients of the table commonly see it as NULL.
//
// # Bodies
//
// With Body "auto" the column's type decides, looked up once: a character column is read
// transcoded to UTF-8 (message.Raw.Characters), a binary one as the bytes that are there.
// "text" and "bytes" override it: "bytes" on a character column gives the stored bytes
// without transcoding, for columns whose declared character set is not the truth.
//
// # Errors
//
// An error wraps fault.ErrUnavailable when the server does not take part at
// all: it cannot be reached, is starting, stopping or read-only, does not let us in, or
// the connection broke or the call timed out; and when the table as a whole is not as configured
// or not there, as while its owner exchanges it for another. That is no message's fault: it is waited for, and the table is looked up
// again. Open alone tells it apart, because then it is a mistake of the configuration. Anything else is about the
// statement: a lock that was waited for too long, a value that was refused.
package mailbox
