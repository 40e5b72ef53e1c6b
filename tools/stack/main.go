// Command stack runs the development stack: a private PostgreSQL, MariaDB and
// Apache Kafka on free loopback ports. See README.md beside this file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"msgx/tools/stack/shared"
	"msgx/tools/stack/software"
)

const usage = `usage: go run ./tools/stack COMMAND

  up [SERVER...]   start what does not run; it stays up until down
  down [--force]   stop it and remove its data; --force even if somebody uses it
  status           say what runs; exit 1 unless everything does
  env              print the addresses as shell assignments
  run -- CMD...    start what does not run, run CMD with the addresses in its
                   environment, stop what was started; exit with CMD's status

servers: postgres mariadb kafka (all of them by default)
folder:  MSGX_STACK_DIR, else msgx-stack-UID in the temporary folder
`

func main() {
	code, err := dispatch(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "stack:", err)
	}
	os.Exit(code)
}

func dispatch(args []string) (int, error) {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return 2, nil
	}
	if slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
		fmt.Print(usage)
		return 0, nil
	}
	stack, err := shared.Open()
	if err != nil {
		return 1, err
	}
	stack.Say = func(format string, args ...any) { fmt.Fprintf(os.Stderr, "stack: "+format+"\n", args...) }
	command, rest := args[0], args[1:]
	if command == "run" {
		return runCommand(stack, rest)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch command {
	case "up":
		err = up(ctx, stack, rest)
	case "down":
		err = down(ctx, stack, rest)
	case "status":
		return status(stack)
	case "env":
		err = printEnv(stack)
	default:
		fmt.Fprint(os.Stderr, usage)
		return 2, fmt.Errorf("unknown command %q", command)
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

func up(ctx context.Context, stack *shared.Stack, names []string) error {
	kinds, err := kindsOf(names)
	if err != nil {
		return err
	}
	release, err := stack.Use(ctx)
	if err != nil {
		return err
	}
	defer release()
	state, err := stack.Up(ctx, true, kinds...)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		fmt.Printf("%-9s %s\n", kind, state.Servers[kind].URL)
	}
	return nil
}

func kindsOf(names []string) ([]software.Kind, error) {
	if len(names) == 0 {
		return shared.All, nil
	}
	var kinds []software.Kind
	for _, name := range names {
		if !slices.Contains(shared.All, software.Kind(name)) {
			return nil, fmt.Errorf("unknown server %q, expected one of %v", name, shared.All)
		}
		kinds = append(kinds, software.Kind(name))
	}
	return kinds, nil
}

func down(ctx context.Context, stack *shared.Stack, args []string) error {
	force := len(args) == 1 && args[0] == "--force"
	if len(args) > 0 && !force {
		return fmt.Errorf("down: found %q, expected nothing or --force", args)
	}
	err := stack.Down(ctx, force)
	if errors.Is(err, shared.ErrInUse) {
		return fmt.Errorf("%w; 'down --force' stops it all the same", err)
	}
	return err
}

func status(stack *shared.Stack) (int, error) {
	state, err := stack.Read()
	if err != nil {
		return 1, err
	}
	code := 0
	for _, kind := range shared.All {
		record := state.Servers[kind]
		if !record.Alive() {
			fmt.Printf("%-9s down\n", kind)
			code = 1
			continue
		}
		fmt.Printf("%-9s up    process %d    %s\n", kind, record.PID, record.URL)
	}
	return code, nil
}

func printEnv(stack *shared.Stack) error {
	state, err := stack.Read()
	if err != nil {
		return err
	}
	for _, entry := range state.Environment() {
		name, value, _ := strings.Cut(entry, "=")
		fmt.Printf("export %s='%s'\n", name, value)
	}
	return nil
}

// runCommand runs CMD between an Up and a Release. Signals go to CMD, which
// decides when to end; the stack is released whatever happened to it.
func runCommand(stack *shared.Stack, args []string) (int, error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 2, errors.New("run: found no command, expected: run -- CMD...")
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	release, err := stack.Use(ctx)
	if err != nil {
		return 1, err
	}
	code, err := startAndRun(ctx, stack, args, signals)
	release()
	bounded, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if errRelease := stack.Release(bounded); errRelease != nil {
		return max(code, 1), errors.Join(err, errRelease)
	}
	return code, err
}

func startAndRun(ctx context.Context, stack *shared.Stack, args []string, signals <-chan os.Signal) (int, error) {
	type started struct {
		state shared.State
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan started, 1)
	go func() {
		state, err := stack.Up(ctx, false, shared.All...)
		ready <- started{state, err}
	}()
	var up started
	select {
	case up = <-ready:
	case <-signals:
		cancel()
		<-ready
		return 130, errors.New("interrupted while starting")
	}
	if up.err != nil {
		return 1, up.err
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), up.state.Environment()...)
	if err := cmd.Start(); err != nil {
		return 127, err
	}
	return wait(cmd, signals)
}

// wait passes signals on until the command ends.
func wait(cmd *exec.Cmd, signals <-chan os.Signal) (int, error) {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			// A terminal sends its Ctrl-C to the command as well; a second one is
			// what a user in a hurry would send, so commands cope with it.
			_ = cmd.Process.Signal(sig)
		case err := <-done:
			var exit *exec.ExitError
			if err == nil || errors.As(err, &exit) {
				return exitCode(cmd.ProcessState), nil
			}
			return 1, err
		}
	}
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
