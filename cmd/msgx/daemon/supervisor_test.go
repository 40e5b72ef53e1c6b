package daemon_test

import (
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// systemd listens where a supervisor does, and keeps what it is told.
type systemd struct {
	mu   sync.Mutex
	told []string
}

func (s *systemd) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.told {
		if strings.Contains(t, text) {
			return true
		}
	}
	return false
}

func (s *systemd) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.told, "\n")
}

func newSystemd(t *testing.T) *systemd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	s, ended := &systemd{}, make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 4096)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.told = append(s.told, string(buffer[:n]))
			s.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "300000")
	return s
}

// systemd is told when the servers are there, who leads, that the process works, and that it stops.
func TestSystemdIsTold(t *testing.T) {
	s := newSystemd(t)
	p := newPlace(t)
	d := p.start()
	for _, text := range []string{"STATUS=waiting for PostgreSQL and the mailbox", "READY=1\nSTATUS=standing by", "STATUS=leading, lease epoch 1", "WATCHDOG=1"} {
		p.until("systemd to be told "+text, func() (string, bool) { return s.String(), s.has(text) })
	}
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	p.until("the end to be told", func() (string, bool) { return s.String(), s.has("STOPPING=1") })
}
