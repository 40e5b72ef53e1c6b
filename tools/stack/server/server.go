package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"msgx/tools/stack/software"
)

// Kind names one of the servers.
type Kind = software.Kind

// The servers of the stack.
const (
	Postgres = software.Postgres
	MariaDB  = software.MariaDB
	Kafka    = software.Kafka
)

// Record is what is known about a started server.
type Record struct {
	Kind    Kind   `json:"kind"`
	PID     int    `json:"pid"`
	Started uint64 `json:"started"` // ticks since boot, tells the process from a later one with its number
	Boot    string `json:"boot"`
	Dir     string `json:"dir"`
	Address string `json:"address"` // host:port
	URL     string `json:"url"`     // what a client of this kind wants: URL, DSN or bootstrap address
	Ready   bool   `json:"ready"`   // it has answered
}

// place is one server's folder, port and account while it is being started.
type place struct {
	dir     string
	port    int
	account account
	home    software.Home

	advertised string
	secure     string
	more       []string
}

func (p place) data() string    { return filepath.Join(p.dir, "data") }
func (p place) log() string     { return filepath.Join(p.dir, "log") }
func (p place) address() string { return "127.0.0.1:" + strconv.Itoa(p.port) }

// engine is what differs between the servers.
type engine interface {
	// initialise fills an empty data folder.
	initialise(ctx context.Context, p place) error
	// command returns the server's command line, writing its configuration if it has one.
	command(p place) ([]string, error)
	// ping asks the server something that it can only answer when it is ready.
	ping(ctx context.Context, url string) error
	url(address string) string
	stopSignal() syscall.Signal
}

var engines = map[Kind]engine{Postgres: postgres{}, MariaDB: mariadb{}, Kafka: kafka{}}

// Options say how to start a server.
type Options struct {
	Kind Kind
	Dir  string // the server's own folder
	Home software.Home
	Port int  // tried first; 0 takes any
	Tied bool // ends with the process that starts it
	// Advertised is the address that a Kafka broker tells its clients, host:port, when it
	// is another than its own: that of a proxy before it.
	Advertised string
	// Secure is a second address of a Kafka broker, host:port, for encrypted connections that log in; "" for none.
	// More are the lines of its configuration that this needs.
	Secure string
	More   []string
	// Launched is told of the process before it is ready, to be written down.
	Launched func(Record)
}

// Start starts a server in its folder and returns once it answers. The folder
// is initialised if it has no complete data.
func Start(ctx context.Context, o Options) (Record, error) {
	who, err := unprivileged()
	if err != nil {
		return Record{}, err
	}
	for _, orphan := range orphans(o.Kind, o.Dir) {
		if err := orphan.Kill(ctx); err != nil {
			return Record{}, fmt.Errorf("end orphan: %w", err)
		}
	}
	p := place{dir: o.Dir, port: o.Port, account: who, home: o.Home, advertised: o.Advertised, secure: o.Secure, more: o.More}
	if err := who.own(p.dir); err != nil {
		return Record{}, err
	}
	var tries []error
	for range 3 {
		if p.port, err = freePort(p.port); err != nil {
			return Record{}, err
		}
		record, err := startOnce(ctx, p, o)
		if err == nil {
			return record, nil
		}
		tries = append(tries, err)
		if ctx.Err() != nil || !addressTaken(p.log()) {
			break
		}
		p.port = 0
	}
	return Record{}, fmt.Errorf("start %s: %w", o.Kind, errors.Join(tries...))
}

func startOnce(ctx context.Context, p place, o Options) (Record, error) {
	if err := ensureData(ctx, p, engines[o.Kind]); err != nil {
		return Record{}, err
	}
	argv, err := engines[o.Kind].command(p)
	if err != nil {
		return Record{}, err
	}
	record, err := launch(p, o, argv)
	if err != nil {
		return Record{}, err
	}
	if o.Launched != nil {
		o.Launched(record)
	}
	if err := waitReady(ctx, record, p); err != nil {
		return Record{}, errors.Join(err, record.Kill(context.WithoutCancel(ctx)))
	}
	record.Ready = true
	return record, nil
}

// ensureData initialises the data folder. A marker is written last, so that an
// initialisation that was cut short is begun again.
func ensureData(ctx context.Context, p place, e engine) error {
	complete := filepath.Join(p.dir, "initialised")
	if _, err := os.Stat(complete); err == nil {
		return nil
	}
	if err := os.RemoveAll(p.data()); err != nil {
		return fmt.Errorf("clear data folder: %w", err)
	}
	if err := p.account.own(p.data()); err != nil {
		return err
	}
	if err := e.initialise(ctx, p); err != nil {
		return fmt.Errorf("initialise data folder: %w", err)
	}
	return os.WriteFile(complete, nil, 0o644)
}

func launch(p place, o Options, argv []string) (Record, error) {
	logFile, err := os.OpenFile(p.log(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return Record{}, fmt.Errorf("open log: %w", err)
	}
	defer logFile.Close() //nolint:errcheck // the server has its own descriptor
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(p.environment(), markVariable+"="+p.dir)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = p.account.attributes(o.Tied)
	if err := cmd.Start(); err != nil {
		return Record{}, fmt.Errorf("launch %s: %w", argv[0], err)
	}
	stat, err := readStat(cmd.Process.Pid)
	if err != nil {
		return Record{}, err
	}
	record := Record{
		Kind: o.Kind, PID: cmd.Process.Pid, Started: stat.started, Boot: bootID(), Dir: p.dir,
		Address: p.address(), URL: engines[o.Kind].url(p.address()),
	}
	// Nobody waits for the process in a goroutine: it outlives us, and tests
	// look for goroutines left over. Record.reap collects it.
	return record, cmd.Process.Release()
}

// environment is small on purpose: a server must not depend on the shell that
// happened to start it.
func (p place) environment() []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C.UTF-8", "TZ=UTC", "HOME=" + p.dir}
	return append(env, p.home.Environment()...)
}

func waitReady(ctx context.Context, r Record, p place) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	for {
		if !r.Alive() {
			r.reap()
			return fmt.Errorf("server ended early; its log %s ends with\n%s", p.log(), tail(p.log()))
		}
		attempt, stop := context.WithTimeout(ctx, 3*time.Second)
		err := engines[r.Kind].ping(attempt, r.URL)
		stop()
		if err == nil {
			return nil
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("no answer on %s: %w; its log %s ends with\n%s", r.Address, err, p.log(), tail(p.log()))
		}
	}
}

// run runs a preparing command as the server's account.
func (p place) run(ctx context.Context, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.environment()
	cmd.SysProcAttr = p.account.attributes(true)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, lastLines(string(out)))
	}
	return nil
}

func addressTaken(log string) bool {
	return strings.Contains(strings.ToLower(tail(log)), "address already in use")
}

func tail(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(raw))
}

// lastLines shortens a long text from the front, except for what looks like a cause.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	cut := max(0, len(lines)-15)
	var causes []string
	for _, line := range lines[:cut] {
		if strings.Contains(strings.ToUpper(line), "ERROR") && len(causes) < 5 {
			causes = append(causes, line)
		}
	}
	return strings.Join(append(causes, lines[cut:]...), "\n")
}
