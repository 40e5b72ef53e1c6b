package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/audit"
	"msgx/engine/clock"
	"msgx/engine/mailbox"
	"msgx/tools/feed"
	"msgx/tools/stack/stacktest"
)

// auditDay puts a small airport day into a mailbox, with an id that never appears, and lives it through.
func auditDay(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	messages, err := feed.Generate(feed.Options{
		Seed: 11, Date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Flights: 40, Operations: 260, BadPerMille: 40, Holding: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	// What the day may not have: reference data, and a master that is deleted with its children.
	bodies := []string{
		`<MSG><META><SNDR>AODB</SNDR><SEQN>900001</SEQN><TYPE>SCHD</TYPE><STYP>DNLD</STYP></META><SCHD><RECS>3</RECS>` +
			`<FLTR><FLID>7001</FLID><FLNO>CA7001</FLNO><SODT>01MAR261000</SODT></FLTR>` +
			`<FLTR><FLID>7002</FLID><FLNO>ZH7002</FLNO><SODT>01MAR261000</SODT><MAID>7001</MAID></FLTR>` +
			`<FLTR><FLID>7003</FLID><FLNO>NX7003</FLNO><SODT>01MAR261000</SODT><MAID>7001</MAID></FLTR></SCHD></MSG>`,
		numbered(900002, "FLOP", "STND", "<FLOP><FLID>7001</FLID><STND>11</STND></FLOP>"),
		numbered(900003, "FLOP", "STND", "<FLOP><FLID>7002</FLID><STND>12</STND></FLOP>"),
		numbered(900004, "FDEL", "FDEL", "<FLOP><FLID>7003</FLID><FDEL/></FLOP>"),
		`<MSG><META><SNDR>AODB</SNDR><SEQN>900005</SEQN><TYPE>SCHD</TYPE><STYP>DNLD</STYP></META><SCHD><RECS>2</RECS>` +
			`<FLTR><FLID>7101</FLID><FLNO>CA7101</FLNO><SODT>01MAR261000</SODT></FLTR>` +
			`<FLTR><FLID>7102</FLID><FLNO>ZH7102</FLNO><SODT>01MAR261000</SODT><MAID>7101</MAID></FLTR></SCHD></MSG>`,
		numbered(900006, "FDEL", "FDEL", "<FLOP><FLID>7101</FLID><FDEL/></FLOP>"),
		numbered(900007, "FLOP", "STND", "<FLOP><FLID>7001</FLID><STND>14</STND></FLOP>"),
		numbered(900007, "FLOP", "STND", "<FLOP><FLID>7001</FLID><STND>14</STND></FLOP>"), // a duplicate
		numbered(900008, "ABDG", "DNLD", "<RECS>1</RECS><ABDG><ABCD>K1</ABCD><NAME>名称</NAME></ABDG>"),
	}
	for _, m := range messages {
		bodies = append(bodies, string(m.Body))
	}
	for i, part := range slices.Collect(slices.Chunk(bodies, 40)) {
		var some []*string
		for k := range part {
			some = append(some, &part[k])
		}
		p.putAll(some...)
		if i == 2 {
			p.rolledBack()
		}
	}
	i := p.start("consistency-check.on-startup=false")
	p.settled()
	if err := i.end(); err != nil {
		t.Fatal(err)
	}
	p.pg.Close() // a database that somebody uses cannot be copied
	return p
}

// rolledBack takes an id that never appears.
func (p *place) rolledBack() {
	p.t.Helper()
	tx, err := p.mailbox.Begin()
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := tx.Exec(`INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG) VALUES ('<MSG/>')`); err != nil {
		p.t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		p.t.Fatal(err)
	}
}

// audited audits a place, some settings changed.
func audited(t *testing.T, p *place, o audit.Options, set ...string) *audit.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	c, err := config.Load(config.Sources{Set: append(slices.Clone(p.set), set...)})
	if err != nil {
		t.Fatal(err)
	}
	mind, err := core.New(c)
	if err != nil {
		t.Fatal(err)
	}
	db, err := daemon.OpenStore(ctx, c, mind)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m, err := mailbox.Open(ctx, daemon.MailboxConfig(c))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	needs := daemon.AuditNeeds(c, db, mind, clock.System{})
	needs.Mailbox = m
	if err := daemon.AuditTopics(&needs, c); err != nil {
		t.Fatal(err)
	}
	report, err := audit.New(needs, o).Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// brokenLines are the invariants that are broken, and all findings for people.
func brokenLines(r *audit.Report) (lines []audit.Invariant, told string) {
	var b strings.Builder
	for _, l := range r.Lines {
		if l.Verdict == audit.Broken {
			lines = append(lines, l.Invariant)
		}
		for _, f := range l.Findings {
			fmt.Fprintf(&b, "%d %s: found %s, expected %s\n", l.Invariant, f.Place, f.Found, f.Expected)
		}
	}
	return lines, b.String()
}

// corruption is one thing that is made wrong, and what the audit has to say of it.
type corruption struct {
	name string
	// One or more of these: statements on a copy of our database, with triggers off; a statement on a copy
	// of the mailbox table, named MAIL; a change of a copy of a topic.
	sql, mail string
	topic     string
	change    func(records []*kgo.Record) []*kgo.Record
	rebuild   bool // only a rebuild shows it
	want      []audit.Invariant
	finding   string // part of what is told
}

// corrupted makes a copy of a place with one thing wrong in it and gives the settings that lead there.
func (c corruption) corrupted(t *testing.T, p *place, n int) (set []string) {
	t.Helper()
	if c.sql != "" {
		set = append(set, "postgres.url="+p.copyDatabase(t, fmt.Sprintf("_c%d", n), c.sql))
	}
	if c.mail != "" {
		table := fmt.Sprintf("MAIL%d", n)
		for _, statement := range append([]string{"CREATE TABLE MAIL LIKE CMINMSGS", "INSERT INTO MAIL SELECT * FROM CMINMSGS"}, c.mail) {
			statement = strings.ReplaceAll(statement, "MAIL", table)
			if _, err := p.mailbox.Exec(statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		set = append(set, "mailbox.inbound.table="+table)
	}
	if c.topic == "" {
		return set
	}
	conf := p.config()
	from := map[string]string{"kafka.msg-topic": conf.Kafka.MsgTopic, "kafka.schd-topic": conf.Kafka.SchdTopic}[c.topic]
	to := stacktest.Topic(t, 3)
	copyTopic(t, conf.Kafka.Brokers[0], from, to, c.change)
	return append(set, c.topic+"="+to)
}

// copyDatabase makes a copy of our own database and runs statements on it with triggers off.
func (p *place) copyDatabase(t *testing.T, suffix, statements string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conf, err := pgx.ParseConfig(p.pgURL)
	if err != nil {
		t.Fatal(err)
	}
	name := conf.Database
	admin, err := pgx.Connect(ctx, stacktest.Stack(t).Postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name+suffix+" TEMPLATE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end, err := pgx.Connect(context.Background(), stacktest.Stack(t).Postgres)
		if err == nil {
			_, err = end.Exec(context.Background(), "DROP DATABASE "+name+suffix+" WITH (FORCE)")
			err = errors.Join(err, end.Close(context.Background()))
		}
		if err != nil {
			t.Error(err)
		}
	})
	url := strings.Replace(p.pgURL, "/"+name+"?", "/"+name+suffix+"?", 1)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SET session_replication_role = replica"); err != nil {
		t.Fatal(err)
	}
	for _, statement := range strings.Split(statements, ";\n") {
		if tag, err := conn.Exec(ctx, statement); err != nil || tag.RowsAffected() == 0 && !strings.HasPrefix(statement, "ALTER") {
			t.Fatalf("%s: %s, %v", statement, tag, err)
		}
	}
	return url
}

// copyTopic writes the records of a topic, changed, into another, each into the partition it had.
func copyTopic(t *testing.T, broker, from, to string, change func([]*kgo.Record) []*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(to))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var out []*kgo.Record
	for _, r := range change(readTopic(t, broker, from)) {
		out = append(out, &kgo.Record{Topic: to, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers})
	}
	if err := client.ProduceSync(ctx, out...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// header sets a header of a copy of a record.
func header(r *kgo.Record, key, value string) *kgo.Record {
	c := *r
	c.Headers = slices.Clone(r.Headers)
	for i := range c.Headers {
		if c.Headers[i].Key == key {
			c.Headers[i].Value = []byte(value)
		}
	}
	return &c
}

// indexOf finds the n-th record of a flight, from 0.
func indexOf(records []*kgo.Record, flid string, n int) int {
	for i, r := range records {
		if tell(r).FLID == flid {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return -1
}

// An undisturbed day is well, rebuilt too; and whatever is made wrong afterwards, the audit says so on exactly
// the lines that it concerns.
func TestTheAuditTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := auditDay(t)
	report := audited(t, p, audit.Options{Rebuild: true})
	lines, told := brokenLines(report)
	if len(lines) > 0 {
		t.Fatalf("an undisturbed day is broken in %v:\n%s", lines, told)
	}
	for _, l := range report.Lines {
		if l.Verdict != audit.Held && l.Invariant != audit.Fencing {
			t.Errorf("%d %s: %s, %v", l.Invariant, l.Name, l.Verdict, l.Limits)
		}
	}
	from := audited(t, p, audit.Options{From: 100, Rebuild: true})
	if lines, told := brokenLines(from); len(lines) > 0 || from.Line(audit.Rebuild).Verdict != audit.Held {
		t.Errorf("rebuilt from message 100: broken in %v, %s %v:\n%s", lines, from.Line(audit.Rebuild).Verdict, from.Line(audit.Rebuild).Limits, told)
	}
	notComparable(t, p)
	for n, c := range corruptions {
		t.Run(c.name, func(t *testing.T) {
			report := audited(t, p, audit.Options{Rebuild: c.rebuild}, c.corrupted(t, p, n)...)
			lines, told := brokenLines(report)
			if d := cmp.Diff(c.want, lines); d != "" || !strings.Contains(told, c.finding) {
				t.Errorf("broken lines (-want +got):\n%swant %q in:\n%s", d, c.finding, told)
			}
		})
	}
}

// notComparable makes inputs disappear: then nothing is called broken, and the line says why.
func notComparable(t *testing.T, p *place) {
	const other = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
	for n, c := range []struct {
		name string
		corruption
		line audit.Invariant
		why  string
	}{
		{"a rule set that is not at hand", corruption{sql: `UPDATE proc_state SET ruleset = '` + other + `' WHERE msg_id = 3`}, audit.Rebuild,
			"rule set " + other + " is not at hand (decision 3, message 3)"},
		{"no rule set at hand at all", corruption{sql: `UPDATE flight_change SET ruleset = '` + other + `'`}, audit.Footprint, "rule set ffffffffffff is not at hand"},
		{"a body that is gone", corruption{sql: `DELETE FROM raw_message WHERE msg_id = 3`, mail: `DELETE FROM MAIL WHERE CMINMSGS_ID = 3`}, audit.Rebuild,
			"the body of message 3 is gone (decision 3)"},
		{"a body that is another one", corruption{sql: `DELETE FROM raw_message WHERE msg_id = 3`, mail: `UPDATE MAIL SET CMINMSGS_CLOB_MSG = 'x' WHERE CMINMSGS_ID = 3`}, audit.Rebuild,
			"the body of message 3 is not the one that was decided (decision 3)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := audited(t, p, audit.Options{Rebuild: true}, c.corrupted(t, p, 100+n)...)
			if lines, told := brokenLines(report); len(lines) > 0 {
				t.Errorf("broken in %v:\n%s", lines, told)
			}
			if l := report.Line(c.line); l.Verdict != audit.NotComparable || !slices.Contains(l.Limits, c.why) {
				t.Errorf("%s: %s %q, want not comparable and %q", l.Name, l.Verdict, l.Limits, c.why)
			}
		})
	}
	t.Run("a body only in the mailbox", func(t *testing.T) {
		c := corruption{sql: `DELETE FROM raw_message`}
		report := audited(t, p, audit.Options{Rebuild: true}, c.corrupted(t, p, 200)...)
		if l := report.Line(audit.Rebuild); l.Verdict != audit.Held {
			t.Errorf("%s: %s %q, want held: the mailbox has the bodies", l.Name, l.Verdict, l.Limits)
		}
	})
}
