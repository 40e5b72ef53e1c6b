// Package api serves what machines ask of a running instance over HTTP:
// metrics, liveness and readiness. By itself it reads, and changes nothing.
//
//	GET /metrics   Prometheus metrics
//	GET /healthz   200 while the process works at all
//	GET /readyz    200 when every dependency answers, else 503; a line each
//	GET …          what Show was given, as JSON: /rules is which rule set is live, and what was refused
//	…              what Handle was given: POST /cminmsgs/send of engine/entry, where it is configured
//
// What clients can hold is bounded: 100 connections, others wait; 16 KiB of a head, which has to come within 5 s; 20 s of
// idleness. Whatever they do, the stages go on.
//
// # Failures
//
//	the address is taken                     the start ends with an error that names it
//	a server is away                         /readyz answers 503 and says which; /healthz goes on answering 200
//	a probe hangs                            it is given up after its bound, as a server that is away
//	a client is slow, or never done          its connection is closed; others wait, and the stages do not notice
//	metrics cannot be gathered               /metrics answers 500 with the reason
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Check is one thing that has to be well for the instance to be ready.
type Check struct {
	Name string
	// Probe answers within the context's bound; its error is shown to whoever asks.
	Probe func(ctx context.Context) error
}

// Server is the HTTP face of an instance.
type Server struct {
	listener net.Listener
	mux      *http.ServeMux
	server   *http.Server
	log      *slog.Logger
}

const (
	probeTimeout    = 3 * time.Second
	shutdownTimeout = 3 * time.Second

	// What clients can hold: a probe and a scrape are small, quick and few.
	maxConnections = 100
	maxHead        = 16 << 10 // bytes of a request's head
	headTimeout    = 5 * time.Second
	requestTimeout = 10 * time.Second // whole, a body too
	answerTimeout  = 30 * time.Second
	idleTimeout    = 20 * time.Second
)

// Listen opens the address; an address that is taken is an error here, before
// anything else has started.
func Listen(address string, gatherer prometheus.Gatherer, checks []Check, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("http: listen on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { ready(w, r, checks) })
	return &Server{
		listener: bound(listener, maxConnections),
		mux:      mux,
		server: &http.Server{
			Handler: mux, MaxHeaderBytes: maxHead, ReadHeaderTimeout: headTimeout, ReadTimeout: requestTimeout,
			WriteTimeout: answerTimeout, IdleTimeout: idleTimeout,
			// One broken client after the other must not fill the log.
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
		log: log,
	}, nil
}

// Address is where the server listens, host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close gives the address back where Run was never called.
func (s *Server) Close() { _ = s.listener.Close() }

// Run serves until ctx ends, then lets requests in flight finish.
func (s *Server) Run(ctx context.Context) error {
	stopped := make(chan error, 1)
	go func() { stopped <- s.server.Serve(s.listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("http: %w", err)
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := s.server.Shutdown(bound); err != nil {
		s.log.Warn("http: requests in flight were cut off", "error", err)
		_ = s.server.Close()
	}
	if err := <-stopped; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http: %w", err)
	}
	return nil
}

func ready(w http.ResponseWriter, r *http.Request, checks []Check) {
	ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
	defer cancel()
	var lines strings.Builder
	status := http.StatusOK
	for _, c := range checks {
		if err := c.Probe(ctx); err != nil {
			status = http.StatusServiceUnavailable
			fmt.Fprintf(&lines, "%s: %v\n", c.Name, err)
			continue
		}
		fmt.Fprintf(&lines, "%s: ok\n", c.Name)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(lines.String()))
}
