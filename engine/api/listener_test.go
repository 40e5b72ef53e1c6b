package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// serving runs a server until the test ends.
func serving(t *testing.T, change func(*Server)) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", prometheus.NewRegistry(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(s)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return s
}

func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// A client that never comes to the end of what it asks loses its connection.
func TestSlowClientsAreCutOff(t *testing.T) {
	for name, said := range map[string]string{
		"nothing":     "",
		"half a head": "GET /healthz HTTP/1.1\r\nHost: x\r\n",
		"no body":     "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"idle":        "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := serving(t, func(s *Server) {
				s.server.ReadHeaderTimeout, s.server.ReadTimeout, s.server.IdleTimeout = 200*time.Millisecond, 400*time.Millisecond, 200*time.Millisecond
			})
			conn := dial(t, s)
			if _, err := io.WriteString(conn, said); err != nil {
				t.Fatal(err)
			}
			var late net.Error
			if _, err := io.ReadAll(conn); errors.As(err, &late) && late.Timeout() {
				t.Error("the connection is still open after 20 s")
			}
		})
	}
}

// None of the bounds that keep slow clients off may be missing.
func TestTheServerIsBounded(t *testing.T) {
	s := serving(t, nil)
	for name, bound := range map[string]time.Duration{
		"head": s.server.ReadHeaderTimeout, "request": s.server.ReadTimeout, "answer": s.server.WriteTimeout, "idle": s.server.IdleTimeout,
	} {
		if bound <= 0 || bound > time.Minute {
			t.Errorf("%s: bound %s, want at most a minute", name, bound)
		}
	}
}

func TestALongHeadIsRefused(t *testing.T) {
	s := serving(t, nil)
	conn := dial(t, s)
	go func() { // the server may close before it has read all of it
		_, _ = fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 1<<20))
	}()
	head := make([]byte, len("HTTP/1.1 431"))
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 431" {
		t.Errorf("got %q, %v; want HTTP/1.1 431", head, err)
	}
}

// Connections beyond the bound wait, and are served when others have ended; a
// server with all its places taken stops like any other.
func TestConnectionsAreBounded(t *testing.T) {
	var listener *bounded
	s := serving(t, func(s *Server) {
		listener = bound(s.listener.(*bounded).Listener, 3)
		s.listener = listener
		s.server.ReadHeaderTimeout, s.server.IdleTimeout = time.Second, time.Second
	})
	for range 20 {
		dial(t, s) // and says nothing
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 60 * time.Second}
	answer, err := client.Get("http://" + s.Address() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("after those that said nothing: %s, want 200", answer.Status)
	}
	if open := len(listener.places); open > 3 {
		t.Errorf("%d connections are open, want at most 3", open)
	}
	for range 20 {
		dial(t, s)
	}
}
