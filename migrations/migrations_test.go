package migrations

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// narrowing is what a binary of before may not be able to work on.
var narrowing = regexp.MustCompile(`(?i)\b(DROP (TABLE|COLUMN|INDEX|CONSTRAINT|FUNCTION|SEQUENCE)|RENAME|ALTER COLUMN|SET NOT NULL|ADD (CONSTRAINT|CHECK)|CREATE UNIQUE INDEX ON|CREATE TRIGGER)\b`)

var added = regexp.MustCompile(`ADD COLUMN[^,;]*`)

// narrows tells whether statements take something away, or ask for more than before, of tables that were there.
func narrows(text string) bool {
	made := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?i)CREATE TABLE (\w+)`).FindAllStringSubmatch(text, -1) {
		made[m[1]] = true
	}
	for _, statement := range strings.Split(text, ";") {
		statement = regexp.MustCompile(`--[^\n]*`).ReplaceAllString(statement, "")
		if on := regexp.MustCompile(`(?i)\b(?:TABLE|ON)\s+(\w+)`).FindStringSubmatch(statement); on != nil && made[on[1]] {
			continue
		}
		if narrowing.MatchString(statement) || slices.ContainsFunc(added.FindAllString(strings.ToUpper(statement), -1), func(column string) bool {
			return strings.Contains(column, "NOT NULL") && !strings.Contains(column, "DEFAULT")
		}) {
			return true
		}
	}
	return false
}

// A migration that the binary before cannot work on says so.
func TestMigrationsSayWhoCannotWorkOnThem(t *testing.T) {
	files, err := fs.Glob(Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		number, err := strconv.Atoi(name[:5])
		if err != nil {
			t.Fatal(err)
		}
		data, err := Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		says := strings.Contains(string(data), fmt.Sprintf("UPDATE schema_compatible SET oldest = %d;", number))
		if number > 9 && narrows(string(data)) && !says {
			t.Errorf("%s takes something away or asks for more than before, so that binaries of before cannot work on it: it has to UPDATE schema_compatible SET oldest = %d;", name, number)
		}
	}
}

func TestNarrows(t *testing.T) {
	for text, want := range map[string]bool{
		"CREATE TABLE a (x int NOT NULL CHECK (x > 0)); CREATE UNIQUE INDEX u ON a (x);": false,
		"ALTER TABLE b ADD COLUMN y text;":                                               false,
		"ALTER TABLE b ADD COLUMN y boolean NOT NULL DEFAULT true;":                      false,
		"CREATE INDEX i ON b (y); -- RENAME nothing":                                     false,
		"ALTER TABLE b ADD COLUMN y boolean NOT NULL;":                                   true,
		"ALTER TABLE b DROP COLUMN y;":                                                   true,
		"ALTER TABLE b RENAME COLUMN y TO z;":                                            true,
		"CREATE TABLE a (x int); ALTER TABLE b ALTER COLUMN y TYPE bigint;":              true,
		"CREATE TRIGGER t BEFORE UPDATE ON b FOR EACH ROW EXECUTE FUNCTION f();":         true,
	} {
		if got := narrows(text); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
