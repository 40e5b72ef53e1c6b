package server

import (
	"context"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

type postgres struct{}

func (postgres) initialise(ctx context.Context, p place) error {
	return p.run(ctx, filepath.Join(p.home.Bin, "initdb"), "-D", p.data(), "-U", "postgres",
		"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
}

// command leaves fsync and synchronous_commit on: benches measure with them. It
// opens no socket file, so that no path can be too long for one.
func (postgres) command(p place) ([]string, error) {
	argv := []string{filepath.Join(p.home.Bin, "postgres"), "-D", p.data()}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(p.port), "unix_socket_directories=",
		"max_connections=300", "shared_buffers=128MB", "fsync=on", "synchronous_commit=on",
		"timezone=UTC", "log_timezone=UTC", "jit=off", "max_wal_size=2GB",
	} {
		argv = append(argv, "-c", setting)
	}
	return argv, nil
}

func (postgres) ping(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the answer is what counts
	return conn.Ping(ctx)
}

func (postgres) url(address string) string {
	return "postgres://postgres@" + address + "/postgres?sslmode=disable"
}

// stopSignal asks for a fast shutdown: sessions are ended, data is complete.
func (postgres) stopSignal() syscall.Signal { return syscall.SIGINT }
