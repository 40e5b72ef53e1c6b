package shared

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// errBusy says that somebody else holds the lock.
var errBusy = errors.New("lock is held")

// lockFile takes a lock on a file, or says errBusy at once.
func lockFile(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errBusy
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// awaitLock takes a lock, waiting for it as long as ctx allows.
func awaitLock(ctx context.Context, path string, how int) (*os.File, error) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		file, err := lockFile(path, how)
		if !errors.Is(err, errBusy) {
			return file, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s: %w", path, ctx.Err())
		}
	}
}

// Use registers the caller as a user of the stack until release or the end of
// the process. Whoever is registered keeps the stack from being taken down.
func (s *Stack) Use(ctx context.Context) (release func(), err error) {
	file, err := awaitLock(ctx, s.path("users"), syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

// change holds the stack's lock while fn runs.
func (s *Stack) change(ctx context.Context, fn func() error) error {
	file, err := awaitLock(ctx, s.path("lock"), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	return errors.Join(fn(), file.Close())
}
