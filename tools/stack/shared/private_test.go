package shared

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSweepPrivate: what a process left behind that was killed is removed, a file system of its own too.
func TestSweepPrivate(t *testing.T) {
	parent := t.TempDir()
	gone := exec.CommandContext(t.Context(), "true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	folder := func(pid int) string {
		dir := filepath.Join(parent, fmt.Sprintf("%d-postgres-1", pid))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	left, ours := folder(gone.Process.Pid), folder(os.Getpid())
	if err := syscall.Mount("tmpfs", left, "tmpfs", 0, "size=65536"); err != nil {
		t.Logf("with a folder instead of a file system, which this account may not have: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(left, syscall.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(left, "data"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := sweepPrivate(parent); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s: got %v, expected it to be gone", left, err)
	}
	if _, err := os.Stat(ours); err != nil {
		t.Errorf("%s belongs to a process that lives: %v", ours, err)
	}
}
