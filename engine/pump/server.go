package pump

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"msgx/engine/fault"
)

// Back-off while a server is away.
const (
	firstBackOff = 250 * time.Millisecond
	lastBackOff  = 5 * time.Second
)

// server remembers whether a server can be reached, so that its going and its
// coming back are logged once each.
type server struct {
	name  string
	log   *slog.Logger
	fails int
}

// gone notes a failure and returns how long to wait.
func (s *server) gone(err error) time.Duration {
	if s.fails == 0 {
		s.log.Warn("server away, waiting for it", "server", s.name, "error", err)
	}
	wait := lastBackOff
	if s.fails < 5 {
		wait = min(firstBackOff<<s.fails, lastBackOff)
	}
	s.fails++
	return wait
}

// back notes a success.
func (s *server) back() {
	if s.fails > 0 {
		s.log.Info("server is back", "server", s.name, "failures", s.fails)
		s.fails = 0
	}
}

// away is what follows from an error that is no message's fault: a lost lease
// ends the pump, a shutdown is none, anything else is waited for.
func (p *Pump) away(ctx context.Context, s *server, err error) step {
	if errors.Is(err, fault.ErrFenced) {
		return step{leave: true, err: err}
	}
	if ctx.Err() != nil {
		return step{leave: true}
	}
	return step{leave: true, wait: s.gone(err)}
}
