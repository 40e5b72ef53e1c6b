package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"msgx/engine/catalogue"
	"msgx/engine/failpoint"
	"msgx/engine/fault"
)

// sqlBounds are the checks on single columns of a table, as PostgreSQL writes them.
const sqlBounds = `
SELECT c.conrelid::regclass::text, a.attname::text, c.conname::text, pg_get_constraintdef(c.oid)
FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND c.conkey = ARRAY[a.attnum]
WHERE c.contype = 'c' AND c.conrelid = ANY ($1::text[]::regclass[])`

// bound is what the check of a column has to say: a maximum length or a list of flags.
type bound struct {
	table, column, want string // want is the definition as PostgreSQL writes it
	max                 int
	flags               []string
}

// difference is a bound that the database has otherwise.
type difference struct {
	bound
	name, found string // of the constraint that is there, "" for none
}

func (d difference) String() string {
	found := d.found
	if found == "" {
		found = "no check"
	}
	return fmt.Sprintf("%s.%s: found %s, expected %s", d.table, d.column, found, d.want)
}

// boundsOf lists the lengths and flags that a catalogue, with the overrides of a site,
// gives to columns. Lists that share a table share its bounds: the wider one counts.
func boundsOf(cat *catalogue.Catalogue) []bound {
	byColumn := map[[2]string]*bound{}
	var order [][2]string
	add := func(table string, fields []catalogue.Field) {
		for _, f := range fields {
			if f.MaxLen == 0 && len(f.Flags) == 0 {
				continue
			}
			key := [2]string{table, f.Column}
			b := byColumn[key]
			if b == nil {
				b = &bound{table: table, column: f.Column}
				byColumn[key], order = b, append(order, key)
			}
			b.max = max(b.max, f.MaxLen)
			for _, flag := range f.Flags {
				if !slices.Contains(b.flags, flag) {
					b.flags = append(b.flags, flag)
				}
			}
		}
	}
	add("flight_schd", cat.Flight.Scalars)
	for _, o := range cat.Flight.Objects {
		add("flight_schd", o.Parts)
	}
	addLists(cat.Flight.Lists, add)
	out := make([]bound, 0, len(order))
	for _, key := range order {
		b := byColumn[key]
		b.want = b.definition()
		out = append(out, *b)
	}
	return out
}

func addLists(lists []catalogue.List, add func(string, []catalogue.Field)) {
	for _, l := range lists {
		add(l.Table, l.Fields)
		addLists(l.Lists, add)
	}
}

// definition is the check as pg_get_constraintdef prints it.
func (b *bound) definition() string {
	if b.max > 0 {
		return fmt.Sprintf("CHECK (((char_length(%s) >= 1) AND (char_length(%s) <= %d)))", b.column, b.column, b.max)
	}
	quoted := make([]string, len(b.flags))
	for i, f := range b.flags {
		quoted[i] = "'" + strings.ReplaceAll(f, "'", "''") + "'::text"
	}
	return fmt.Sprintf("CHECK ((%s = ANY (ARRAY[%s])))", b.column, strings.Join(quoted, ", "))
}

// differences compares the checks of the database with the catalogue.
func differences(ctx context.Context, q interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, cat *catalogue.Catalogue) ([]difference, error) {
	wanted := boundsOf(cat)
	var tables []string
	for _, b := range wanted {
		if !slices.Contains(tables, b.table) {
			tables = append(tables, b.table)
		}
	}
	type check struct{ name, definition string }
	found := map[[2]string]check{}
	rows, err := q.Query(ctx, sqlBounds, tables)
	if err != nil {
		return nil, err
	}
	var table, column string
	var c check
	if _, err := pgx.ForEachRow(rows, []any{&table, &column, &c.name, &c.definition}, func() error {
		found[[2]string{table, column}] = c
		return nil
	}); err != nil {
		return nil, err
	}
	var out []difference
	for _, b := range wanted {
		if has := found[[2]string{b.table, b.column}]; has.definition != b.want {
			out = append(out, difference{bound: b, name: has.name, found: has.definition})
		}
	}
	return out, nil
}

// AlignBounds gives the flight tables the lengths and flags of a catalogue, as a site may have
// changed them, and says how many checks were replaced. A value that is there already and
// does not fit the new bound refuses the whole change.
func AlignBounds(ctx context.Context, url string, cat *catalogue.Catalogue) (changed int, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, fmt.Errorf("store: align bounds: %w", classify(ctx, err))
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the transaction has reported its own outcome
	failpoint.Before(failpoint.AlignBounds)
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		differing, err := differences(ctx, tx, cat)
		if err != nil {
			return err
		}
		for _, d := range differing {
			if _, err := tx.Exec(ctx, d.statement()); err != nil {
				return fmt.Errorf("%s.%s to %s: %w", d.table, d.column, d.want, err)
			}
		}
		changed = len(differing)
		return nil
	})
	failpoint.After(failpoint.AlignBounds)
	if err != nil {
		return 0, fmt.Errorf("store: align bounds: %w", classify(ctx, err))
	}
	return changed, nil
}

func (d difference) statement() string {
	name := d.name
	drop := ""
	if name == "" {
		name = d.table + "_" + d.column + "_check"
	} else {
		drop = fmt.Sprintf("DROP CONSTRAINT %s, ", pgx.Identifier{name}.Sanitize())
	}
	return fmt.Sprintf("ALTER TABLE %s %sADD CONSTRAINT %s %s", d.table, drop, pgx.Identifier{name}.Sanitize(), d.want)
}

// CheckBounds refuses a database whose bounds are not those of the catalogue: a value that
// decodes would not fit its column.
func (s *Store) CheckBounds(ctx context.Context, cat *catalogue.Catalogue) error {
	var differing []difference
	err := s.read(ctx, "check bounds", func(ctx context.Context) (err error) {
		differing, err = differences(ctx, s.pool, cat)
		return err
	})
	if err != nil || len(differing) == 0 {
		return err
	}
	faults := make([]error, len(differing))
	for i, d := range differing {
		faults[i] = errors.New(d.String())
	}
	return fmt.Errorf("%w: the database's bounds are not those of the catalogue: run msgx migrate\n%w", fault.ErrRefused, errors.Join(faults...))
}
