package shared

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/tools/stack/server"
	"msgx/tools/stack/software"
)

// separate is a stack of this test's own, beside the one that everybody shares.
func separate(t *testing.T) *Stack {
	t.Helper()
	dir, err := os.MkdirTemp("", "msgx-stack-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MSGX_STACK_DIR", dir)
	stack, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	stack.Say = t.Logf
	t.Cleanup(func() {
		if err := stack.Down(context.Background(), true); err != nil {
			t.Errorf("down: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return stack
}

var databases = []software.Kind{software.Postgres, software.MariaDB}

func upOrFail(t *testing.T, stack *Stack, keep bool, kinds ...software.Kind) State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	state, err := stack.Up(ctx, keep, kinds...)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func execute(t *testing.T, state State, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), state.Servers[software.Postgres].URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestConcurrentUpsShareOneStack(t *testing.T) {
	stack := separate(t)
	var wait sync.WaitGroup
	states := make([]State, 4)
	for i := range states {
		wait.Go(func() {
			other := &Stack{Dir: stack.Dir} // as another process would
			var err error
			if states[i], err = other.Up(context.Background(), false, databases...); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for i, state := range states {
		for _, kind := range databases {
			if got, want := state.Servers[kind].PID, states[0].Servers[kind].PID; got != want || got == 0 {
				t.Errorf("%s of up %d: got process %d, want %d", kind, i, got, want)
			}
		}
	}
}

func TestKilledServersComeBackWithTheirDataAndAddress(t *testing.T) {
	stack := separate(t)
	before := upOrFail(t, stack, false, databases...)
	execute(t, before, "CREATE TABLE kept (n int)")
	for _, kind := range databases {
		if err := before.Servers[kind].Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	after := upOrFail(t, stack, false, databases...)
	for _, kind := range databases {
		if got, old := after.Servers[kind], before.Servers[kind]; got.PID == old.PID || got.URL != old.URL {
			t.Errorf("%s: got process %d at %s, want another than %d at %s", kind, got.PID, got.URL, old.PID, old.URL)
		}
	}
	execute(t, after, "SELECT n FROM kept")
}

func TestDataBeyondRecoveryIsReplaced(t *testing.T) {
	stack := separate(t)
	before := upOrFail(t, stack, false, software.Postgres)
	if err := before.Servers[software.Postgres].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(stack.path("postgres/data/global")); err != nil {
		t.Fatal(err)
	}
	execute(t, upOrFail(t, stack, false, software.Postgres), "SELECT 1")
}

// TestServersOfADeadStarterAreEnded forgets the record of a running server, as
// if its starter had been killed before writing it down.
func TestServersOfADeadStarterAreEnded(t *testing.T) {
	stack := separate(t)
	orphan := upOrFail(t, stack, false, software.Postgres).Servers[software.Postgres]
	if err := os.Remove(stack.path("stack.json")); err != nil {
		t.Fatal(err)
	}
	execute(t, upOrFail(t, stack, false, software.Postgres), "SELECT 1")
	if orphan.Alive() {
		t.Errorf("process %d still runs beside its successor", orphan.PID)
	}
}

// TestDownSparesAProcessThatGotTheNumber records a foreign process under the
// number of one of ours that has ended.
func TestDownSparesAProcessThatGotTheNumber(t *testing.T) {
	stack := separate(t)
	foreign := exec.Command("sleep", "60")
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = foreign.Process.Kill()
		_ = foreign.Wait()
	})
	ours := upOrFail(t, stack, false, software.Postgres).Servers[software.Postgres]
	forged := ours
	forged.PID = foreign.Process.Pid
	state := State{Servers: map[software.Kind]server.Record{software.Postgres: ours, software.MariaDB: forged}}
	if err := stack.write(state); err != nil {
		t.Fatal(err)
	}
	if err := stack.Down(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if ours.Alive() {
		t.Error("down left our own server running")
	}
	if err := foreign.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("down ended a process that was not ours: %v", err)
	}
	if conn, err := net.DialTimeout("tcp", ours.Address, time.Second); err == nil {
		_ = conn.Close()
		t.Errorf("something still listens on %s", ours.Address)
	}
}

func TestReleaseLeavesAStackThatIsUsedOrKept(t *testing.T) {
	stack := separate(t)
	record := upOrFail(t, stack, false, software.Postgres).Servers[software.Postgres]
	done, err := stack.Use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Release(t.Context()); err != nil || !record.Alive() {
		t.Errorf("release while in use: got %v, alive %v, want no error and alive", err, record.Alive())
	}
	if err := stack.Down(t.Context(), false); !errors.Is(err, ErrInUse) {
		t.Errorf("down while in use: got %v, want %v", err, ErrInUse)
	}
	done()
	upOrFail(t, stack, true, software.Postgres)
	if err := stack.Release(t.Context()); err != nil || !record.Alive() {
		t.Errorf("release of a kept stack: got %v, alive %v, want no error and alive", err, record.Alive())
	}
	state, err := stack.Read()
	if err != nil {
		t.Fatal(err)
	}
	state.Keep = false
	if err := stack.write(state); err != nil {
		t.Fatal(err)
	}
	if err := stack.Release(t.Context()); err != nil || record.Alive() {
		t.Errorf("release of an unused stack: got %v, alive %v, want no error and ended", err, record.Alive())
	}
}

func TestFolderOfSomebodyElseIsRefused(t *testing.T) {
	t.Setenv("MSGX_STACK_DIR", "/proc/1")
	if os.Geteuid() == 0 {
		dir := t.TempDir()
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		t.Setenv("MSGX_STACK_DIR", dir)
	}
	_, err := Open()
	if err == nil || !strings.Contains(err.Error(), "MSGX_STACK_DIR") {
		t.Errorf("got %v, want a refusal that names MSGX_STACK_DIR", err)
	}
}
