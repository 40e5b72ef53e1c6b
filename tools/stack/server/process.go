package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// markVariable marks the environment of every server we start with its folder,
// so that a server whose starter died before it wrote a record can be found.
const markVariable = "MSGX_STACK_SERVER"

// procStat is what we need of /proc/PID/stat.
type procStat struct {
	state   byte
	session int
	started uint64 // clock ticks since boot
}

func readStat(pid int) (procStat, error) {
	return readStatFile(fmt.Sprintf("/proc/%d/stat", pid))
}

func readStatFile(path string) (procStat, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return procStat{}, err
	}
	// The command name is in parentheses and may hold anything, so count from
	// the last closing one: field 3 is the state, 6 the session, 22 the start.
	_, rest, found := strings.Cut(string(raw[max(0, bytes.LastIndexByte(raw, ')')):]), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return procStat{}, fmt.Errorf("%s: found %q, expected at least 22 fields", path, raw)
	}
	session, err := strconv.Atoi(fields[3])
	if err != nil {
		return procStat{}, fmt.Errorf("%s: session: %w", path, err)
	}
	started, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("%s: start time: %w", path, err)
	}
	return procStat{state: fields[0][0], session: session, started: started}, nil
}

func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(raw))
}

// Alive tells whether the recorded process, and not another one with its
// number, is still running. A zombie is not alive.
func (r Record) Alive() bool {
	if r.PID <= 0 || r.Boot != bootID() {
		return false
	}
	stat, err := readStat(r.PID)
	return err == nil && stat.started == r.Started && stat.state != 'Z' && stat.state != 'X'
}

// signal sends sig if the recorded process is alive.
func (r Record) signal(sig syscall.Signal) error {
	if !r.Alive() {
		return nil
	}
	if err := syscall.Kill(r.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %s process %d: %w", r.Kind, r.PID, err)
	}
	return nil
}

// gone tells whether the process has let go of everything. The first thread of
// a killed process is a zombie before the others have ended, and until then its
// ports and files are taken.
func (r Record) gone() bool {
	if r.Alive() {
		return false
	}
	if r.Boot != bootID() {
		return true
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", r.PID))
	stat, errStat := readStat(r.PID)
	return err != nil || errStat != nil || stat.started != r.Started || len(threads) <= 1
}

// waitGone waits until the process is gone and reaps it if it was our child.
func (r Record) waitGone(ctx context.Context) error {
	for r.PID > 0 && !r.gone() {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("%s process %d still runs: %w", r.Kind, r.PID, err)
		}
	}
	r.reap()
	return nil
}

// reap collects the exit status if the process is a dead child of ours. For any
// other process the kernel answers ECHILD, which is as good.
func (r Record) reap() {
	if r.PID <= 0 {
		return // would mean any child at all
	}
	var status syscall.WaitStatus
	_, _ = syscall.Wait4(r.PID, &status, syscall.WNOHANG, nil)
}

// Stop asks the server to end, and makes it after the grace time.
func (r Record) Stop(ctx context.Context, grace time.Duration) error {
	if err := r.signal(engines[r.Kind].stopSignal()); err != nil {
		return err
	}
	graceCtx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if r.waitGone(graceCtx) == nil {
		return nil
	}
	return r.Kill(ctx)
}

// Kill ends the server as a crash of the machine would, with the processes that it
// started: PostgreSQL's sessions would answer until they notice that their postmaster is gone.
func (r Record) Kill(ctx context.Context) error {
	_ = r.signal(syscall.SIGSTOP) // it starts no more of them
	family := append(r.children(), r)
	for _, one := range family {
		if err := one.signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, one := range family {
		if err := one.waitGone(ctx); err != nil {
			return err
		}
	}
	return nil
}

// orphans finds servers that carry the mark of dir and have no record: session
// leaders that we started and never came to write down.
func orphans(kind Kind, dir string) []Record {
	mark := []byte(markVariable + "=" + dir)
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []Record
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile, or not ours to read
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || !hasEntry(environ, mark) {
			continue
		}
		stat, err := readStat(pid)
		if err != nil || stat.session != pid {
			continue // a worker of a server ends with its server
		}
		found = append(found, Record{Kind: kind, PID: pid, Started: stat.started, Boot: bootID(), Dir: dir})
	}
	return found
}

func hasEntry(environ, entry []byte) bool {
	for one := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(one, entry) {
			return true
		}
	}
	return false
}

// pause waits d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Freeze stops the server and the processes that it started where they are, and
// returns when none of their threads runs any more: a signal is only sent when kill
// returns, and a busy machine may let a thread answer one more request.
func (r Record) Freeze(ctx context.Context) error {
	if !r.Alive() {
		return fmt.Errorf("freeze %s process %d: it does not run", r.Kind, r.PID)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := r.freeze(ctx); err != nil {
		return err
	}
	for _, child := range r.children() {
		if err := child.freeze(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r Record) freeze(ctx context.Context) error {
	if err := r.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for !r.stopped() {
		if err := pause(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("freeze %s: process %d still runs: %w", r.Kind, r.PID, err)
		}
	}
	return nil
}

// stopped tells whether no thread of the process runs.
func (r Record) stopped() bool {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/stat", r.PID))
	for _, path := range paths {
		stat, err := readStatFile(path)
		if err == nil && !strings.ContainsRune("TtZX", rune(stat.state)) {
			return false
		}
	}
	return true
}

// Thaw lets a frozen server go on.
func (r Record) Thaw() error {
	for _, one := range append(r.children(), r) {
		if err := one.signal(syscall.SIGCONT); err != nil {
			return err
		}
	}
	return nil
}

// children finds the processes that the server started.
func (r Record) children() []Record {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", r.PID, r.PID))
	if err != nil {
		return nil // gone
	}
	var found []Record
	for _, field := range strings.Fields(string(raw)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			continue
		}
		if stat, err := readStat(pid); err == nil {
			found = append(found, Record{Kind: r.Kind, PID: pid, Started: stat.started, Boot: r.Boot, Dir: r.Dir})
		}
	}
	return found
}
