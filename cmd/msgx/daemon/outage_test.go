package daemon_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

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
		place:   placeOn(t, pg.URL, maria.URL, broker.URL, broker.Topic(3), broker.Topic(3), set...),
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
