package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"msgx/engine/fault"
)

// classify turns what the driver says into what stages act on. Whatever concerns the
// server or the way to it is fault.ErrUnavailable and uses up no attempt; whatever a
// living server says of a statement stays what it is and counts against the message. The
// caller's own cancellation stays a cancellation.
func classify(ctx context.Context, err error) error {
	var answer *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	case errors.As(err, &answer):
		if serverAway(answer) {
			return fmt.Errorf("%w: %w", fault.ErrUnavailable, oneLine{err})
		}
		return err
	case errors.Is(err, pgx.ErrNoRows):
		return err
	case brokenConnection(err):
		return fmt.Errorf("%w: %w", fault.ErrUnavailable, oneLine{err})
	}
	return err
}

// oneLine is an error whose text is one line. The driver lists every address and every
// way it tried on lines of their own, and the same address again when it tried with and without TLS.
type oneLine struct{ error }

func (e oneLine) Unwrap() error { return e.error }

func (e oneLine) Error() string {
	first, rest, _ := strings.Cut(e.error.Error(), "\n")
	var tried []string
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(tried, line) {
			tried = append(tried, line)
		}
	}
	return strings.TrimSpace(first + " " + strings.Join(tried, "; "))
}

// serverAway tells the answers that say "not now, whoever asks": connection exceptions, no
// room (connections, disk, memory), shutting down or starting up, read-only, failed authentication. So do
// those that speak of others: a deadlock, a lock that somebody holds, and a session given up for idleness, which was
// not heard of because this process or the machine stood still. No message brings those about.
func serverAway(e *pgconn.PgError) bool {
	switch e.Code {
	case "57014": // this statement took too long
		return false
	case "53000", "53100", "53200", "53300", "25006", "57P01", "57P02", "57P03", "57P05", "25P03", "40P01", "40001", "55P03":
		return true
	}
	return strings.HasPrefix(e.Code, "08") || strings.HasPrefix(e.Code, "28") || strings.HasPrefix(e.Code, "58") ||
		e.Severity == "FATAL" || e.Severity == "PANIC"
}

// brokenConnection tells errors of the way to the server. A deadline is one too:
// it is this side's patience, longer than any statement may take.
func brokenConnection(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded)
}

// refused tells that nothing was sent, that a living server refused a statement, or that it
// gave the transaction up for idleness: in each case it has not committed.
func refused(err error) bool {
	var unsent pgx.ErrPreprocessingBatch
	if errors.As(err, &unsent) {
		return true
	}
	var answer *pgconn.PgError
	return errors.As(err, &answer) && (answer.Severity == "ERROR" || answer.Code == "25P03")
}

func isUndefinedTable(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == "42P01"
}
