package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"msgx/tools/stack/shared"
)

// asCommandVariable makes the test binary be the stack command.
const asCommandVariable = "MSGX_STACK_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommandVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// stackCommand prepares "stack ARGS" and its standard output line by line.
func stackCommand(t *testing.T, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommandVariable+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// startRun starts "stack run" with a command that ends with 7 on SIGTERM, and
// returns once that command runs.
func startRun(t *testing.T) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd, lines := stackCommand(t, "run", "--", "sh", "-c",
		`trap "echo told; exit 7" TERM; echo "$MSGX_STACK_POSTGRES $MSGX_STACK_MARIADB $MSGX_STACK_KAFKA"; while :; do sleep 0.05; done`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || len(strings.Fields(lines.Text())) != 3 {
		t.Fatalf("first line: got %q, want three addresses", lines.Text())
	}
	return cmd, lines
}

// TestRun goes through a life: a run that is killed leaves its servers behind,
// the next one takes them over, passes a signal on, and stops them.
func TestRun(t *testing.T) {
	dir, err := os.MkdirTemp("", "msgx-stack-run-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MSGX_STACK_DIR", dir)
	stack, err := shared.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Down(context.Background(), true); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})

	killed, lines := startRun(t)
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "told" {
		t.Errorf("command of a killed run: got %q, want that it was told to end", lines.Text())
	}
	_ = killed.Wait()
	left, err := stack.Read()
	if err != nil {
		t.Fatal(err)
	}

	next, lines := startRun(t)
	taken, err := stack.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range shared.All {
		if got, want := taken.Servers[kind].PID, left.Servers[kind].PID; got != want {
			t.Errorf("%s: got process %d, want %d of the run that was killed", kind, got, want)
		}
	}
	if err := next.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "told" {
		t.Errorf("signal: got %q, want it passed on", lines.Text())
	}
	var exit *exec.ExitError
	if err := next.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("exit: got %v, want the command's status 7", err)
	}
	for kind, record := range taken.Servers {
		if record.Alive() {
			t.Errorf("%s process %d was left behind", kind, record.PID)
		}
	}
}

func TestUnknownNamesAreRefused(t *testing.T) {
	for _, args := range [][]string{{"launch"}, {"up", "oracle"}, {"down", "now"}, {"run"}, {"run", "--"}} {
		if code, err := dispatch(args); code == 0 || err == nil {
			t.Errorf("stack %s: got status %d, %v, want a refusal", strings.Join(args, " "), code, err)
		}
	}
}
