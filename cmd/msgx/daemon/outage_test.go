package daemon_test

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"msgx/tools/stack/stacktest"
)

// private is a place on servers of its own, which may go away.
type private struct {
	*place
	servers map[string]*stacktest.Private
}

func newPrivate(t *testing.T, set ...string) *private {
	t.Helper()
	pg, maria, broker := stacktest.PrivatePostgres(t), stacktest.PrivateMariaDB(t), stacktest.PrivateKafka(t)
	return &private{
		place:   placeOn(t, pg.URL, maria.URL, broker.URL, broker.Topic(3), broker.CompactedTopic(3), set...),
		servers: map[string]*stacktest.Private{"postgres": pg, "mailbox": maria, "broker": broker},
	}
}

// Servers that are away are waited for, at the start and in the middle of work: each
// stage says once that one has gone and once that it is back, and no attempt is used up.
func TestServersThatGoAndComeBack(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	p.crashed = true
	p.backlog(100)
	p.put(schedule(1, 1))
	for _, s := range p.servers {
		s.Stop()
	}
	d := p.start()
	p.missed(d, "postgres")
	p.servers["postgres"].Start()
	p.missed(d, "mailbox")
	p.servers["mailbox"].Start()
	p.missed(d, "broker")
	p.await(fmt.Sprint(len(p.sent)), decided)
	p.servers["broker"].Start()
	p.settled()
	p.once(d, "all at the start")

	for _, name := range []string{"broker", "mailbox", "postgres"} {
		d.logs.forget()
		p.put(stand(1, "BEFORE"))
		p.servers[name].Kill()
		if name != "mailbox" {
			p.put(stand(1, "WHILE"))
		}
		p.missed(d, name)
		p.servers[name].Start()
		p.put(stand(1, "AFTER"))
		p.settled()
		p.once(d, name)
	}
	if err := d.end(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// A server that hangs instead of failing holds nothing for good: a lease that
// cannot be renewed is given up, and when the server goes on, so does everything.
func TestServersThatHang(t *testing.T) {
	t.Parallel()
	p := newPrivate(t, shortLease, "mailbox.read-timeout=1s", "mailbox.write-timeout=1s")
	p.crashed = true
	p.backlog(300)
	p.put(schedule(1, 1))
	d := p.start()
	p.more(d.logs)
	for _, name := range []string{"postgres", "mailbox", "broker"} {
		p.servers[name].Freeze()
		missed := func() int {
			return d.logs.count("server is away", "server="+name) + d.logs.count(name+" has trouble") + d.logs.count("leadership lost")
		}
		before := missed()
		if name == "broker" { // which is asked only when there is something to deliver
			p.put(stand(1, "WHILE"))
		}
		p.until(name+" to be missed", func() (string, bool) { return d.logs.String(), missed() > before })
		p.servers[name].Thaw()
		p.put(remark(1, "after "+name))
		p.settled()
	}
	if err := d.end(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// missed waits until the daemon has said that a server is away.
func (p *private) missed(d *instance, server string) {
	p.t.Helper()
	p.until(server+" to be missed", func() (string, bool) {
		return d.logs.String(), d.logs.count("server is away", "server="+server)+d.logs.count(server+" has trouble") > 0
	})
}

// forget begins anew.
func (l *logs) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

var (
	dated   = regexp.MustCompile(`^time=\S+ `)
	varying = regexp.MustCompile(` (error|failures|epoch)=("(\\.|[^"])*"|\S+)`)
)

// once holds the log of an outage to one line of each stage for its going and one
// for its coming back. What is wrong with a broker has several reasons, each told once.
func (p *private) once(i *instance, outage string) {
	i.t.Helper()
	p.until("every stage that missed a server to say that it is back", func() (string, bool) {
		gone := i.logs.count("server is away") + i.logs.count("lease not renewed")
		back := i.logs.count("server is back") + i.logs.count("lease renewed again")
		return i.logs.String(), gone == back && (i.logs.count("broker has trouble") > 0) == (i.logs.count("broker is back") > 0)
	})
	lines := map[string]int{}
	for line := range strings.Lines(i.logs.String()) {
		if strings.Contains(line, "msg_id=") { // a message of the day
			continue
		}
		lines[varying.ReplaceAllString(dated.ReplaceAllString(strings.TrimSpace(line), ""), "")]++
	}
	for line, n := range lines {
		if n > 1 {
			i.t.Errorf("outage of %s: said %d times: %s\n%s", outage, n, line, i.logs)
		}
	}
}

// asOthers makes the daemon's own accounts, which unlike those of the tests are not above the servers' limits.
func (p *private) asOthers() {
	p.t.Helper()
	for _, statement := range []string{
		`CREATE ROLE app LOGIN`, `GRANT ALL ON ALL TABLES IN SCHEMA public TO app`, `GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO app`,
	} {
		p.exec(statement)
	}
	p.owner(`CREATE USER app@'%'`)
	p.owner(`GRANT SELECT, INSERT, UPDATE ON mailbox.* TO app@'%'`)
	p.set = append(p.set, "postgres.url="+strings.Replace(p.pgURL, "postgres@", "app@", 1), "mailbox.dsn="+p.appDSN())
}

func (p *private) appDSN() string {
	return strings.Replace(p.servers["mailbox"].URL, "root@", "app@", 1)
}

// exec runs statements in our own database.
func (p *private) exec(statements string) {
	p.t.Helper()
	if _, err := p.pg.Exec(p.t.Context(), statements); err != nil {
		p.t.Fatalf("%s: %v", statements, err)
	}
}

// owner runs a statement as the owner of the mailbox.
func (p *private) owner(statement string, args ...any) {
	p.t.Helper()
	if _, err := p.mailbox.ExecContext(p.t.Context(), statement, args...); err != nil {
		p.t.Fatalf("%s: %v", statement, err)
	}
}

// A server that has no connection left is waited for, as one that is away.
func TestServersOutOfConnections(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	p.asOthers()
	p.put(schedule(1, 1))
	d := p.start()
	p.settled()

	d.logs.forget()
	p.exec(`ALTER ROLE app CONNECTION LIMIT 0`)
	var answer *pgconn.PgError
	if _, err := pgx.Connect(t.Context(), strings.Replace(p.pgURL, "postgres@", "app@", 1)); !errors.As(err, &answer) || answer.Code != "53300" {
		t.Fatalf("a connection too many: got %v, want SQLSTATE 53300", err)
	}
	p.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'`)
	p.put(stand(1, "A1"))
	p.missed(d, "postgres")
	p.exec(`ALTER ROLE app CONNECTION LIMIT -1`)
	p.settled()
	p.once(d, "no connection to PostgreSQL")

	d.logs.forget()
	p.owner(`SET GLOBAL max_connections = 10`)
	hoard, err := sql.Open("mysql", p.servers["mailbox"].URL)
	if err != nil {
		t.Fatal(err)
	}
	defer hoard.Close()
	conn, err := p.mailbox.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var held []*sql.Conn
	// What the daemon loses is taken before it comes back, sooner or later.
	p.until("the mailbox to be missed", func() (string, bool) {
		var theirs sql.NullString
		if err := conn.QueryRowContext(t.Context(), `SELECT GROUP_CONCAT(id) FROM information_schema.processlist WHERE user = 'app'`).Scan(&theirs); err != nil {
			t.Fatal(err)
		}
		for id := range strings.SplitSeq(theirs.String, ",") {
			_, _ = conn.ExecContext(t.Context(), "KILL "+id) // it may be gone
		}
		for {
			c, err := hoard.Conn(t.Context())
			if err == nil {
				err = c.PingContext(t.Context())
			}
			if err != nil {
				break
			}
			held = append(held, c)
		}
		return fmt.Sprint(len(held), " held, ", theirs.String), theirs.String == "" && d.logs.count("server is away", "server=mailbox") > 0
	})
	for _, c := range held {
		_ = c.Close()
	}
	_ = hoard.Close()
	p.owner(`SET GLOBAL max_connections = 100`)
	p.put(stand(1, "LAST"))
	p.settled()
	if got := p.query(`SELECT count(*) FROM proc_state WHERE attempts > 1`); got != "0" {
		t.Errorf("%s messages took more than one attempt, want none", got)
	}
	if err := d.end(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// A disk that is full is waited out, wherever it is noticed: in a decision, in an event's confirmation, in the mark.
func TestServersOutOfDisk(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	p.put(schedule(1, 1))
	d := p.start()
	p.settled()
	p.exec(`CREATE SEQUENCE full_disk_seen`) // which no rollback takes back
	p.exec(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM nextval('full_disk_seen');
		RAISE EXCEPTION 'could not extend file "base/1/1": No space left on device' USING ERRCODE = 'disk_full'; END $$`)
	for _, on := range []string{"INSERT ON flight_change", "INSERT ON proc_state", "UPDATE ON msg_event"} {
		d.logs.forget()
		_, table, _ := strings.Cut(on, " ON ")
		p.exec(fmt.Sprintf(`CREATE TRIGGER full_disk BEFORE %s FOR EACH ROW EXECUTE FUNCTION full_disk()`, on))
		p.put(stand(1, "WITH "+table[:3]))
		p.missed(d, "postgres")
		// What can be read meanwhile does not mean that the server is back.
		p.exec(`SELECT setval('full_disk_seen', 1)`)
		p.until("several failures for want of disk for "+table, func() (string, bool) {
			n, err := strconv.Atoi(p.query(`SELECT last_value FROM full_disk_seen`))
			return fmt.Sprint(n), err == nil && n > 4
		})
		p.exec(fmt.Sprintf(`DROP TRIGGER full_disk ON %s`, table))
		p.settled()
		p.once(d, "no disk for "+table)
	}
	d.logs.forget()
	p.owner(`CREATE SEQUENCE full_disk_seen NOCACHE`)
	p.owner(`CREATE TRIGGER full_disk BEFORE UPDATE ON CMINMSGS FOR EACH ROW BEGIN
		DECLARE seen BIGINT DEFAULT NEXTVAL(full_disk_seen);
		SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full'; END`)
	p.put(stand(1, "LAST"))
	p.missed(d, "mailbox")
	p.until("several marks to fail", func() (string, bool) {
		var next int64
		if err := p.mailbox.QueryRowContext(t.Context(), `SELECT next_not_cached_value FROM full_disk_seen`).Scan(&next); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(next), next > 4
	})
	p.owner(`DROP TRIGGER full_disk`)
	p.settled()
	p.once(d, "no disk for the mark")
	if got := p.query(`SELECT count(*) FROM proc_state WHERE attempts > 1`); got != "0" {
		t.Errorf("%s messages took more than one attempt, want none", got)
	}
	if err := d.end(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// The limits of one account are waited out like those of the server.
func TestAnAccountOutOfConnections(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	p.asOthers()
	p.put(schedule(1, 1))
	d := p.start()
	p.settled()
	d.logs.forget()
	p.owner(`ALTER USER app@'%' WITH MAX_CONNECTIONS_PER_HOUR 1`)
	p.until("the account to be refused", func() (string, bool) {
		other, err := sql.Open("mysql", p.appDSN())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		var answer *mysql.MySQLError
		return d.logs.String(), errors.As(other.PingContext(t.Context()), &answer) && answer.Number == 1226
	})
	p.until("the daemon's sessions to end", func() (string, bool) {
		var id sql.NullInt64
		if err := p.mailbox.QueryRowContext(t.Context(), `SELECT min(id) FROM information_schema.processlist WHERE user = 'app'`).Scan(&id); err != nil {
			t.Fatal(err)
		}
		if id.Valid {
			_, _ = p.mailbox.ExecContext(t.Context(), fmt.Sprintf("KILL %d", id.Int64)) // it may be gone
		}
		return d.logs.String(), !id.Valid
	})
	p.missed(d, "mailbox")
	p.owner(`ALTER USER app@'%' WITH MAX_CONNECTIONS_PER_HOUR 0`)
	p.owner(`FLUSH USER_RESOURCES`)
	p.put(stand(1, "AFTER"))
	p.settled()
	if got := p.query(`SELECT count(*) FROM proc_state WHERE attempts > 1`); got != "0" {
		t.Errorf("%s messages took more than one attempt, want none", got)
	}
	if err := d.end(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}
