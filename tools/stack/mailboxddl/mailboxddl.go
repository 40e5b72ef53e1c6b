// Package mailboxddl holds the mailbox tables that tests, the demo and benches
// make in their own MariaDB. In production the tables belong to somebody else.
package mailboxddl

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"
)

// SQL is the whole file, statements ended by semicolons.
//
//go:embed mailbox.sql
var SQL string

// Statements returns the statements one by one, for drivers that take one at a time.
func Statements() []string {
	var code strings.Builder
	for line := range strings.Lines(SQL) {
		if !strings.HasPrefix(line, "--") {
			code.WriteString(line)
		}
	}
	var statements []string
	for statement := range strings.SplitSeq(code.String(), ";") {
		if statement = strings.TrimSpace(statement); statement != "" {
			statements = append(statements, statement)
		}
	}
	return statements
}

// Create makes both tables in the database that db is connected to.
func Create(ctx context.Context, db *sql.DB) error {
	for _, statement := range Statements() {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			first, _, _ := strings.Cut(statement, "\n")
			return fmt.Errorf("create mailbox: %s: %w", first, err)
		}
	}
	return nil
}
