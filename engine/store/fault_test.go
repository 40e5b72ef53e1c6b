package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"msgx/engine/fault"
)

// What a server says about itself is nobody's failure; what it says of a statement is that statement's.
func TestWhoseFailureAnAnswerIs(t *testing.T) {
	for _, tt := range []struct {
		code, severity string
		away           bool
	}{
		{"53000", "ERROR", true},  // no resources
		{"53100", "ERROR", true},  // disk full
		{"53200", "ERROR", true},  // out of memory
		{"53300", "FATAL", true},  // too many connections
		{"58030", "ERROR", true},  // cannot read or write a file
		{"58P01", "PANIC", true},  // a file is gone
		{"25006", "ERROR", true},  // read-only
		{"57P03", "FATAL", true},  // starting
		{"40P01", "ERROR", true},  // deadlock
		{"53400", "ERROR", false}, // a bound of the configuration, such as that of temporary files
		{"54000", "ERROR", false}, // a bound of the program
		{"57014", "ERROR", false}, // the statement took too long
		{"23505", "ERROR", false},
		{"22001", "ERROR", false},
	} {
		err := classify(context.Background(), fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: tt.code, Severity: tt.severity}))
		if errors.Is(err, fault.ErrUnavailable) != tt.away {
			t.Errorf("%s %s: got %v, want it to be the server's trouble: %t", tt.severity, tt.code, err, tt.away)
		}
	}
}
