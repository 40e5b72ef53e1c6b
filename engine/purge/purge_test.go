package purge

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/evidence"
)

var shanghai = time.FixedZone("airport", 8*60*60)

func plan(change func(*Plan)) Plan {
	p := Plan{
		Table: evidence.Table{Name: "BOX", Columns: []string{"ID", "BODY", "AT", "DONE"}, ID: "ID", Received: "AT", Marked: "DONE"},
		// 2026-03-02 00:00 at the airport.
		History: evidence.Table{Name: "BOX_HST", Columns: []string{"id", "body", "at"}}, Before: time.Date(2026, 3, 1, 16, 0, 0, 0, time.UTC), Zone: shanghai,
	}
	if change != nil {
		change(&p)
	}
	return p
}

func TestPartitionsThatAreDue(t *testing.T) {
	for _, c := range []struct {
		name, method, by string
		bounds           []string // the day before, the bound itself, the day after
		fails            string
	}{
		{"days", "RANGE", "to_days(`AT`)", []string{"740041", "740042", "740043"}, ""},
		{"instants", "RANGE", "unix_timestamp(`at`)", []string{"1772294400", "1772380800", "1772467200"}, ""},
		{"columns", "RANGE COLUMNS", "`AT`", []string{"'2026-03-01'", "'2026-03-02 00:00:00'", "'2026-03-02 00:00:01'"}, ""},
		{"something else", "HASH", "`ID`", []string{"", "", ""}, "partitioned by HASH"},
		{"odd bound", "RANGE COLUMNS", "`AT`", []string{"'soon'", "'2026-03-02'", "'2026-03-03'"}, "expected a date"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plan(func(p *Plan) {
				p.Table.Method, p.Table.PartitionBy = c.method, c.by
				for i, name := range []string{"before", "equal", "after"} {
					p.Table.Partitions = append(p.Table.Partitions, evidence.Partition{Name: name, Bound: c.bounds[i]})
				}
				p.Table.Partitions = append(p.Table.Partitions, evidence.Partition{Name: "pmax", Bound: "MAXVALUE"})
			})
			due, err := p.Due()
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v, %v, want an error with %q", due, err, c.fails)
				}
				return
			}
			if diff := cmp.Diff([]string{"before", "equal"}, due); err != nil || diff != "" {
				t.Errorf("due: %v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := plan(nil).Due(); err == nil || !strings.Contains(err.Error(), "has no partitions") {
		t.Errorf("a table without partitions: got %v", err)
	}
}

func TestWhatAPlanSays(t *testing.T) {
	for name, c := range map[string]struct {
		sql  string
		want []string
		not  []string
	}{
		"rotation": {plan(nil).Rotation(), []string{"s.`AT` >= '2026-03-02 00:00:00'", "TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'BOX'",
			"RENAME TABLE `BOX` TO `BOX_OLD`, `BOX_NEW` TO `BOX`;"}, []string{"time_zone", "NOT IN", "STATUS"}},
		"qualified, of instants, with a status": {plan(func(p *Plan) {
			p.Table.Name, p.Table.Instants, p.Table.Status, p.Released = "cd.BOX", true, "STATE", []int64{4, 7}
		}).Rotation(), []string{"s.`AT` >= '2026-03-01 16:00:00'", "SET SESSION time_zone = '+00:00';", "TABLE_SCHEMA = 'cd' AND TABLE_NAME = 'BOX_OLD'",
			"RENAME TABLE `cd`.`BOX` TO `cd`.`BOX_OLD`", "s.`ID` NOT IN (4, 7)", "n.`STATE` = s.`STATE`"}, nil},
		"partitions": {plan(nil).Partitions([]string{"p1", "p`2"}), []string{"ALTER TABLE `BOX` DROP PARTITION `p1`;", "PARTITION (`p``2`)"}, []string{"RENAME"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.sql, want) {
				t.Errorf("%s: want %q in\n%s", name, want, c.sql)
			}
		}
		for _, not := range c.not {
			if strings.Contains(c.sql, not) {
				t.Errorf("%s: want no %q in\n%s", name, not, c.sql)
			}
		}
	}
	if diff := cmp.Diff([]string{"DONE"}, plan(nil).Lacks()); diff != "" {
		t.Errorf("columns that the history lacks (-want +got):\n%s", diff)
	}
}
