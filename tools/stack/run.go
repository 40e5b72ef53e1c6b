package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"msgx/tools/stack/shared"
)

// runCommand runs CMD between an Up and a Release. Signals go to CMD, which
// decides when to end; the stack is released whatever happened to it.
func runCommand(stack *shared.Stack, args []string) (int, error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 2, errors.New("run: found no command, expected one after --")
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
	// Should we be killed, the command does not go on alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
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
			if sig != os.Interrupt || !atTerminal() {
				_ = cmd.Process.Signal(sig) // it may have ended just now
			}
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

// atTerminal tells whether we are in the foreground of a terminal: then its
// Ctrl-C has reached the command as well, and a second one could be taken for
// the order to drop everything.
func atTerminal() bool {
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
