// Package migrations carries the numbered, forward-only schema changes of our
// own PostgreSQL database. A migration that has been released is never edited: a later one mends it.
package migrations

import "embed"

// Files are the migrations, in goose's format.
//
//go:embed *.sql
var Files embed.FS
