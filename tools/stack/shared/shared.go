package shared

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"msgx/tools/stack/server"
	"msgx/tools/stack/software"
)

// grace is how long a server may take to end by itself.
const grace = 10 * time.Second

// Up makes sure that the named servers run and answer, and returns the state.
// With keep the stack stays up until Down.
func (s *Stack) Up(ctx context.Context, keep bool, kinds ...software.Kind) (State, error) {
	state, err := s.Read()
	if err == nil && state.has(kinds) && (state.Keep || !keep) {
		return state, nil
	}
	err = s.change(ctx, func() error {
		state, err = s.Read()
		if err != nil {
			// Nobody else writes it, so it was cut short by a full disk or a crash.
			s.say("%v: starting over", err)
			state = State{Servers: map[software.Kind]server.Record{}}
		}
		state.Keep = state.Keep || keep
		if err := s.write(state); err != nil {
			return err
		}
		return s.startMissing(ctx, &state, kinds)
	})
	return state, err
}

func (st State) has(kinds []software.Kind) bool {
	for _, kind := range kinds {
		if record := st.Servers[kind]; !record.Ready || !record.Alive() {
			return false
		}
	}
	return true
}

// startMissing starts side by side what does not run.
func (s *Stack) startMissing(ctx context.Context, state *State, kinds []software.Kind) error {
	var mutex sync.Mutex
	record := func(r server.Record) error {
		mutex.Lock()
		defer mutex.Unlock()
		state.Servers[r.Kind] = r
		return s.write(*state)
	}
	var installing sync.Mutex // the package manager serves one at a time
	var group errgroup.Group
	for _, kind := range kinds {
		old := state.Servers[kind]
		if old.Ready && old.Alive() {
			continue
		}
		group.Go(func() error {
			if err := old.Kill(ctx); err != nil { // launched by somebody who died before it answered
				return err
			}
			installing.Lock()
			home, err := software.Finder{Dir: s.Dir, Say: s.say}.Ensure(ctx, kind)
			installing.Unlock()
			if err != nil {
				return err
			}
			return s.start(ctx, kind, home, old, record)
		})
	}
	return group.Wait()
}

func (s *Stack) start(ctx context.Context, kind software.Kind, home software.Home, old server.Record, record func(server.Record) error) error {
	begun := time.Now()
	var launched error
	options := server.Options{
		Kind: kind, Dir: s.path(string(kind)), Home: home, Port: old.Port(),
		Launched: func(r server.Record) { launched = record(r) },
	}
	started, err := server.Start(ctx, options)
	if err != nil && ctx.Err() == nil && old.PID != 0 {
		s.say("%s does not recover, starting with an empty folder: %v", kind, err)
		if err := os.RemoveAll(options.Dir); err != nil {
			return fmt.Errorf("clear %s: %w", kind, err)
		}
		started, err = server.Start(ctx, options)
	}
	if err != nil {
		return err
	}
	s.say("%s answers on %s (%.1f s)", kind, started.Address, time.Since(begun).Seconds())
	return errors.Join(launched, record(started))
}

// ErrInUse says that somebody else is using the stack.
var ErrInUse = errors.New("the stack is in use by another command or test")

// Down ends what the stack runs and removes its data. Unless forced it leaves a
// stack alone that somebody uses.
func (s *Stack) Down(ctx context.Context, force bool) error {
	return s.change(ctx, func() error {
		users, err := lockFile(s.path("users"), syscall.LOCK_EX)
		switch {
		case err == nil:
			defer users.Close() //nolint:errcheck // read only
		case errors.Is(err, errBusy) && !force:
			return ErrInUse
		case !errors.Is(err, errBusy):
			return err
		}
		return s.stopAll(ctx)
	})
}

func (s *Stack) stopAll(ctx context.Context) error {
	state, err := s.Read()
	if err != nil {
		return err
	}
	var group errgroup.Group
	for _, record := range state.Servers {
		group.Go(func() error {
			if err := record.Stop(ctx, grace); err != nil {
				return err
			}
			return os.RemoveAll(filepath.Join(s.Dir, string(record.Kind)))
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("stop stack: %w", err)
	}
	if err := os.Remove(s.path("stack.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("stop stack: %w", err)
	}
	return nil
}

// Release ends the stack when nobody asked for it to stay and nobody uses it any more.
func (s *Stack) Release(ctx context.Context) error {
	state, err := s.Read()
	if err != nil || state.Keep {
		return err
	}
	if err := s.Down(ctx, false); err != nil && !errors.Is(err, ErrInUse) {
		return err
	}
	return nil
}
