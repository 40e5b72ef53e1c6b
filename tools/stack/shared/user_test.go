package shared

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// asUserVariable makes the test binary bring a stack up and down, and nothing else.
const asUserVariable = "MSGX_STACK_TEST_AS_USER"

func TestMain(m *testing.M) {
	if os.Getenv(asUserVariable) != "" {
		if err := upAndDown(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func upAndDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	stack, err := Open()
	if err != nil {
		return err
	}
	state, err := stack.Up(ctx, false, databases...)
	if err != nil {
		return err
	}
	for _, record := range state.Servers {
		info, err := os.Stat(fmt.Sprintf("/proc/%d", record.PID))
		if err != nil {
			return err
		}
		if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != os.Geteuid() {
			return fmt.Errorf("%s runs as user %d, want %d", record.Kind, owner, os.Geteuid())
		}
	}
	return stack.Down(ctx, false)
}

// TestOrdinaryUser runs a copy of this test binary without any rights. When the
// tests do not run as root, all of them show the same.
func TestOrdinaryUser(t *testing.T) {
	dir, err := os.MkdirTemp("", "msgx-stack-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const nobody = 65534
	cmd := exec.Command(filepath.Join(dir, "shared.test"))
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyProgram(cmd.Path); err != nil {
		t.Fatal(err)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asUserVariable+"=1", "MSGX_STACK_DIR="+filepath.Join(dir, "stack"), "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("up and down as an ordinary user: %v\n%s", err, out)
	}
}

func copyProgram(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, from); err != nil {
		return err
	}
	return file.Close()
}
