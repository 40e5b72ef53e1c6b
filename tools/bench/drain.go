package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/outbox/kafka"
	"msgx/engine/store"
	"msgx/tools/feed"
	"msgx/tools/scratch"
)

const (
	// serveArgument makes this program the daemon, in a process of its own.
	serveArgument  = "serve"
	drainBound     = 20 * time.Minute
	stopBound      = 30 * time.Second
	operationsADay = 12000
)

// serve is the daemon, configured by the environment alone.
func serve() error {
	c, err := config.Load(config.Sources{Env: os.Environ()})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d, err := daemon.New(ctx, c, "bench", slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1})))
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

// drain fills a mailbox, then has a daemon in a process of its own work it off
// whole (decide, deliver, mark), and returns the most memory that it had resident, in MB.
func drain(ctx context.Context, o options) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, drainBound)
	defer cancel()
	name := fmt.Sprintf("msgx_drain_%d", time.Now().UnixMilli())
	place, err := scratch.New(ctx, o.postgres, o.mariadb, name)
	if err != nil {
		return 0, err
	}
	defer place.Remove()
	url, err := place.Database(ctx, name, "")
	if err != nil {
		return 0, err
	}
	if _, _, err := store.Migrate(ctx, url); err != nil {
		return 0, err
	}
	settings := []string{
		"MSGX_POSTGRES_URL=" + url, "MSGX_MAILBOX_DSN=" + place.MailboxDSN, "MSGX_KAFKA_BROKERS=" + o.kafka,
		"MSGX_KAFKA_MSG_TOPIC=" + name + ".msg", "MSGX_KAFKA_SCHD_TOPIC=" + name + ".schd",
		"MSGX_PIPELINE_MAX_COMMIT_DELAY=1s", "MSGX_PIPELINE_CUTOVER_WATERMARK=zero", "MSGX_HTTP_LISTEN=127.0.0.1:0",
	}
	c, err := config.Load(config.Sources{Env: settings})
	if err != nil {
		return 0, err
	}
	if err := makeTopics(ctx, c); err != nil {
		return 0, err
	}
	total, err := fill(ctx, o, place, c)
	if err != nil {
		return 0, err
	}
	return workOff(ctx, url, settings, total)
}

func makeTopics(ctx context.Context, c *config.Config) error {
	admin, err := kafka.NewAdmin(daemon.KafkaConfig(c))
	if err != nil {
		return err
	}
	_, err = admin.Create(ctx, daemon.Topics(c))
	return err
}

// fill puts whole days into the mailbox until there are enough messages.
func fill(ctx context.Context, o options, place *scratch.Place, c *config.Config) (total int, err error) {
	begun := time.Now()
	for date := time.Now(); total < o.drain; date = date.AddDate(0, 0, 1) {
		messages, err := day(c, date, operationsADay)
		if err != nil {
			return 0, err
		}
		messages = messages[:min(len(messages), o.drain-total)]
		if _, err := feed.Insert(ctx, place.Mailbox, messages, feed.Inserting{Together: together}); err != nil {
			return 0, err
		}
		total += len(messages)
	}
	fmt.Printf("drain: %d messages in the mailbox (%.0fs)\n", total, time.Since(begun).Seconds())
	return total, nil
}

// workOff runs the daemon until every message is decided and marked and every
// event delivered.
func workOff(ctx context.Context, url string, settings []string, total int) (peak int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, serveArgument) // stopped by SIGTERM below, whatever happens
	cmd.Env = append(os.Environ(), settings...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	p, errLook := awaitDrained(ctx, url, total, begun, ended)
	took := time.Since(begun)
	peak, errPeak := residentPeak(cmd.Process.Pid)
	errStop := stopProcess(cmd.Process, ended)
	if err := errors.Join(errLook, errPeak, errStop); err != nil {
		return 0, fmt.Errorf("drain: %w", err)
	}
	p.print(total, took, peak)
	return peak, nil
}

func stopProcess(p *os.Process, ended chan error) error {
	_ = p.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		return err
	case <-time.After(stopBound):
		_ = p.Kill()
		return fmt.Errorf("the daemon did not stop within %s", stopBound)
	}
}

// progress is when a quarter, three quarters and all of the messages had been decided.
type progress struct {
	quarter, three, all time.Duration
}

// at notes how far the head has come.
func (p *progress) at(decided, total int64, since time.Duration) {
	mark := func(d *time.Duration, reached bool) {
		if *d == 0 && reached {
			*d = since
		}
	}
	mark(&p.quarter, 4*decided >= total)
	mark(&p.three, 4*decided >= 3*total)
	mark(&p.all, decided >= total)
}

// print shows the rate in the first and the last quarter too: history must not slow anything down.
func (p *progress) print(total int, took time.Duration, peak int) {
	rate := func(d time.Duration, n float64) float64 { return n * float64(total) / d.Seconds() }
	fmt.Printf("drain: decided at %.0f messages/s (first quarter %.0f, last quarter %.0f), decided, delivered and marked at %.0f messages/s\n",
		rate(p.all, 1), rate(p.quarter, 0.25), rate(p.all-p.three, 0.25), rate(took, 1))
	fmt.Printf("drain: at most %d MB resident\n", peak)
}

// awaitDrained waits until everything is decided, delivered and marked.
func awaitDrained(ctx context.Context, url string, total int, begun time.Time, ended chan error) (p progress, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return p, err
	}
	defer conn.Close(ctx) //nolint:errcheck // only reads
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return p, ctx.Err()
		case err := <-ended:
			ended <- err
			return p, fmt.Errorf("the daemon ended: %w", err)
		case <-tick.C:
		}
		// Messages end in order, so that the head, or without one the watermark, tells how many have ended.
		var decided int64
		var owed bool
		err := conn.QueryRow(ctx, `
SELECT coalesce((SELECT min(msg_id) - 1 FROM proc_state WHERE state IN ('PENDING', 'FAILED')), (SELECT watermark FROM inbox_cursor), 0),
       EXISTS (SELECT FROM proc_state WHERE state IN ('SUCCEEDED', 'SKIPPED', 'DEAD') AND backfill_at IS NULL AND backfill_abandoned_at IS NULL AND owes_mark)
       OR EXISTS (SELECT FROM msg_event WHERE state = 'PENDING')`).Scan(&decided, &owed)
		if err != nil {
			return p, err
		}
		p.at(decided, int64(total), time.Since(begun))
		if p.all > 0 && !owed {
			return p, nil
		}
	}
}

// residentPeak reads VmHWM of a process, in MB.
func residentPeak(pid int) (int, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // only read
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		if kb, ok := strings.CutPrefix(scanner.Text(), "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")))
			return (n + 1023) / 1024, err
		}
	}
	return 0, errors.Join(scanner.Err(), errors.New("no VmHWM in /proc"))
}
