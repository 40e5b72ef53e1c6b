package play

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"msgx/engine/catalogue"
	"msgx/engine/rulebook"
)

// Options say what is edited, and how it runs.
type Options struct {
	Catalogue *catalogue.Catalogue
	Rules     fs.FS           // has handlers.lua and rules/
	Dir       string          // where Rules lies; "" for what cannot be written
	Golden    string          // golden directory; "" for the corpus in the binary, to which nothing is added
	Limits    rulebook.Limits // budgets; those of production when left out
	// Listen is the address to listen on, host:port.
	Listen string
	// NewVersion files a text as the next version of a script, beside the version from, and
	// gives its file; use has handlers.lua name it.
	NewVersion func(script string, from int, text []byte, use bool) (file string, err error)
	Log        *slog.Logger
}

// Server is the playground.
type Server struct {
	catalogue  *catalogue.Catalogue
	rules      folder
	golden     string
	limits     rulebook.Limits
	newVersion func(script string, from int, text []byte, use bool) (string, error)
	log        *slog.Logger
	token      string
	name       string // host that we were told to listen on, when it is a name
	listener   net.Listener
	turn       chan struct{} // whoever may run rules holds its one place
}

// Listen opens the address. From then on it is taken; Run answers.
func Listen(o Options) (*Server, error) {
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", o.Listen, err)
	}
	s := &Server{
		catalogue: o.Catalogue, rules: folder{files: o.Rules, dir: o.Dir}, golden: o.Golden, limits: o.Limits,
		newVersion: o.NewVersion, log: o.Log, token: strings.ToLower(rand.Text()), listener: listener, turn: make(chan struct{}, 1),
	}
	if host, _, err := net.SplitHostPort(o.Listen); err == nil && net.ParseIP(host) == nil {
		s.name = host
	}
	return s, nil
}

// Address is what to open in a browser. It holds the token: who has it can edit the rule set.
func (s *Server) Address() string {
	at := s.listener.Addr().(*net.TCPAddr)
	host := at.IP.String()
	switch {
	case s.name != "":
		host = s.name
	case at.IP.IsUnspecified():
		host = "127.0.0.1"
	}
	return fmt.Sprintf("http://%s/%s/", net.JoinHostPort(host, fmt.Sprint(at.Port)), s.token)
}

const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 30 * time.Second
	writeTimeout    = 5 * time.Minute // the corpus takes its time
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
)

// Run answers until ctx ends. Then what is running is told to end, and waited for.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(s.listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("play: %w", err)
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(bound); err != nil {
		s.log.Warn("play: requests in flight were cut off", "error", err)
		_ = server.Close()
	}
	if err := <-stopped; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("play: %w", err)
	}
	return nil
}

// Close gives the address back without Run.
func (s *Server) Close() error { return s.listener.Close() }

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.Handle("GET /assets/", assets)
	mux.HandleFunc("GET /api/file", s.get(s.openFile))
	mux.HandleFunc("GET /api/case", s.get(s.openCase))
	mux.HandleFunc("GET /api/lists", s.get(s.lists))
	mux.HandleFunc("POST /api/evaluate", post(s, s.evaluate))
	mux.HandleFunc("POST /api/corpus", post(s, s.runCorpus))
	mux.HandleFunc("POST /api/file", post(s, s.saveFile))
	mux.HandleFunc("POST /api/version", post(s, s.saveVersion))
	mux.HandleFunc("POST /api/compose", post(s, s.composeCase))
	mux.HandleFunc("POST /api/case", post(s, s.saveCase))
	return s.guard(mux)
}

// patience is how long a request waits for its turn.
const patience = 60 * time.Second

// take waits until nobody else runs rules; the function gives the turn back. Whoever goes
// away meanwhile waits no longer.
func (s *Server) take(ctx context.Context) (func(), error) {
	bound, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-bound.Done():
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, refuse(http.StatusServiceUnavailable, "something else has been running for %s; try again when it has ended", patience)
	}
}
