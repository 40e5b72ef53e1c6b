package shared

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"msgx/tools/stack/server"
	"msgx/tools/stack/software"
)

// Private prepares a server that belongs to the calling process alone and ends
// with it. It returns how to start it and how to remove its folder afterwards.
func (s *Stack) Private(ctx context.Context, kind software.Kind) (options server.Options, remove func() error, err error) {
	err = s.change(ctx, func() error {
		home, err := software.Finder{Dir: s.Dir, Say: s.say}.Ensure(ctx, kind)
		if err != nil {
			return err
		}
		parent := s.path("private")
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return fmt.Errorf("private %s: %w", kind, err)
		}
		if err := sweepPrivate(parent); err != nil {
			return err
		}
		dir, err := os.MkdirTemp(parent, fmt.Sprintf("%d-%s-", os.Getpid(), kind))
		if err != nil {
			return fmt.Errorf("private %s: %w", kind, err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
		options = server.Options{Kind: kind, Dir: dir, Home: home, Tied: true}
		remove = func() error { return os.RemoveAll(dir) }
		return nil
	})
	return options, remove, err
}

// sweepPrivate removes the folders of processes that are gone. Their servers
// ended with them.
func sweepPrivate(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("sweep private servers: %w", err)
	}
	for _, entry := range entries {
		number, _, _ := strings.Cut(entry.Name(), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || syscall.Kill(pid, 0) == nil {
			continue // not ours, or its process may still live
		}
		dir := filepath.Join(parent, entry.Name())
		// A folder may be a file system of its own, which outlives its process. Where it is none, or is not
		// ours to take away, removing the folder says what is in the way.
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("sweep private servers: %w", err)
		}
	}
	return nil
}
