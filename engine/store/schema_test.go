package store

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"msgx/engine/catalogue"
	"msgx/engine/fault"
	"msgx/tools/stack/stacktest"
)

// fact is what the comparison looks at of one column.
type fact struct{ Type, Check string }

// hostColumns belong to the engine, not to the catalogue.
var hostColumns = map[string][]string{
	"flight_schd": {"flid", "state", "state_version", "operation_day", "last_msg_id", "created_at", "updated_at"},
	"":            {"flid", "ordinal", "parent_ordinal", "route_kind"},
}

// The flight tables have exactly the columns of the catalogue: no field without a
// column of its type and bounds, no column without a field.
func TestFlightTablesFollowTheCatalogue(t *testing.T) {
	s, _ := fresh(t)
	cat := testCatalogue(t)
	want := map[string]map[string]fact{"flight_schd": {}}
	add := func(table string, f catalogue.Field) {
		if want[table] == nil {
			want[table] = map[string]fact{}
		}
		vt, _ := cat.ValueType(f.Type)
		want[table][f.Column] = fact{Type: map[string]string{"timestamptz": "timestamp with time zone"}[vt.Column], Check: checkOf(f)}
		if want[table][f.Column].Type == "" {
			want[table][f.Column] = fact{Type: vt.Column, Check: checkOf(f)}
		}
	}
	for _, f := range cat.Flight.Scalars {
		if f.Tag != "FLID" {
			add("flight_schd", f)
		}
	}
	for _, o := range cat.Flight.Objects {
		for _, f := range o.Parts {
			add("flight_schd", f)
		}
	}
	var lists func([]catalogue.List)
	lists = func(ls []catalogue.List) {
		for _, l := range ls {
			for _, f := range l.Fields {
				add(l.Table, f)
			}
			lists(l.Lists)
		}
	}
	lists(cat.Flight.Lists)

	got := map[string]map[string]fact{}
	for table := range want {
		got[table] = columnFacts(t, s, table)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns of the flight tables (-catalogue +database):\n%s", diff)
	}
	for _, table := range tableNames(t, s) {
		if strings.HasPrefix(table, "flight_") && want[table] == nil && table != "flight_change" && table != "flight_hst" {
			t.Errorf("table %s is of no list of the catalogue", table)
		}
	}
}

// checkOf says what a column's check has to hold a field to.
func checkOf(f catalogue.Field) string {
	switch {
	case f.MaxLen > 0:
		return fmt.Sprintf("1..%d", f.MaxLen)
	case f.Type == catalogue.Flag:
		return strings.Join(f.Flags, " ")
	case f.Type == catalogue.ID:
		return "0..999999999999999999"
	}
	return ""
}

var (
	lengthCheck = regexp.MustCompile(`char_length\(\w+\) >= (\d+)\) AND \(char_length\(\w+\) <= (\d+)`)
	idCheck     = regexp.MustCompile(`>= (\d+)\) AND \(\w+ <= '?(\d+)`)
	quoted      = regexp.MustCompile(`'(\w+)'::text`)
)

func columnFacts(t *testing.T, s *Store, table string) map[string]fact {
	t.Helper()
	rows, err := s.pool.Query(context.Background(), `
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod),
    COALESCE((SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c
        WHERE c.conrelid = a.attrelid AND c.contype = 'c' AND c.conkey = ARRAY[a.attnum]), '')
FROM pg_attribute a WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped`, table)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]fact{}
	var name, typ, check string
	_, err = pgx.ForEachRow(rows, []any{&name, &typ, &check}, func() error {
		if slices.Contains(hostColumns[table], name) || table != "flight_schd" && slices.Contains(hostColumns[""], name) {
			return nil
		}
		f := fact{Type: typ}
		if m := lengthCheck.FindStringSubmatch(check); m != nil {
			f.Check = m[1] + ".." + m[2]
		} else if m := idCheck.FindStringSubmatch(check); m != nil {
			f.Check = m[1] + ".." + m[2]
		} else if m := quoted.FindAllStringSubmatch(check, -1); m != nil {
			var flags []string
			for _, flag := range m {
				flags = append(flags, flag[1])
			}
			f.Check = strings.Join(flags, " ")
		}
		out[name] = f
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// constants reads the statements out of the package's own source: every constant whose name begins with sql.
func constants(t *testing.T) map[string]string {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0) //nolint:staticcheck // one directory, no build tags
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(packages["store"], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if !strings.HasPrefix(name.Name, "sql") || i >= len(spec.Values) {
				continue
			}
			literal, ok := spec.Values[i].(*ast.BasicLit)
			if !ok {
				t.Errorf("statement %s is not a plain string constant", name.Name)
				continue
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			out[name.Name] = text
		}
		return true
	})
	return out
}

// Every statement is accepted by a migrated database, and lists its columns.
func TestEveryStatementPrepares(t *testing.T) {
	s, _ := fresh(t)
	all := constants(t)
	if len(all) < 40 {
		t.Fatalf("found only %d statements in the source", len(all))
	}
	for name, text := range s.flights.statements() {
		all[name] = text
	}
	conn, err := s.pool.Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	star := regexp.MustCompile(`(?i)SELECT\s+(\w+\.)?\*`)
	for name, text := range all {
		if _, err := conn.Conn().Prepare(context.Background(), name, text); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if star.MatchString(text) {
			t.Errorf("%s does not list its columns:\n%s", name, text)
		}
	}
}

func TestMigrateTwiceChangesNothing(t *testing.T) {
	url := stacktest.Postgres(t)
	from, to, err := Migrate(t.Context(), url)
	if err != nil || from != 0 || to != SchemaVersion() {
		t.Fatalf("first: from %d to %d, %v, want 0 to %d", from, to, err, SchemaVersion())
	}
	from, to, err = Migrate(t.Context(), url)
	if err != nil || from != to || to != SchemaVersion() {
		t.Fatalf("second: from %d to %d, %v, want %d to %d", from, to, err, SchemaVersion(), SchemaVersion())
	}
	if err := openURL(t, url).Check(t.Context()); err != nil {
		t.Errorf("check of a migrated database: %v", err)
	}
}

// Instances that start together migrate one after the other.
func TestMigrateTogether(t *testing.T) {
	url := stacktest.Postgres(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, to, err := Migrate(context.Background(), url); err != nil || to != SchemaVersion() {
				t.Errorf("to version %d, %v, want %d", to, err, SchemaVersion())
			}
		})
	}
	wg.Wait()
}

// A later schema is worked on as long as it says that this binary can.
func TestCheckOfALaterSchema(t *testing.T) {
	s, _ := fresh(t)
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := s.pool.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)", SchemaVersion()+2)
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("a schema that only adds: got %v, want it to do", err)
	}
	exec("UPDATE schema_compatible SET oldest = $1", SchemaVersion()+1)
	if err := s.Check(t.Context()); !errors.Is(err, fault.ErrRefused) || !strings.Contains(err.Error(), "run a newer msgx") {
		t.Errorf("a schema for later binaries: got %v, want ErrRefused and what to do", err)
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	url := stacktest.Postgres(t)
	s := openURL(t, url)
	if err := s.Check(t.Context()); !errors.Is(err, fault.ErrRefused) {
		t.Errorf("an empty database: got %v, want ErrRefused", err)
	}
	if _, _, err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(t.Context(), "DELETE FROM goose_db_version WHERE version_id = $1", SchemaVersion()); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); !errors.Is(err, fault.ErrRefused) {
		t.Errorf("an older schema: got %v, want ErrRefused", err)
	}
}
