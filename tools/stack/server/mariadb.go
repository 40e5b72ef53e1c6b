package server

import (
	"context"
	"database/sql"
	"strconv"
	"syscall"

	_ "github.com/go-sql-driver/mysql" // registers the mysql driver
)

type mariadb struct{}

func (mariadb) initialise(ctx context.Context, p place) error {
	return p.run(ctx, p.home.Tool("mariadb-install-db"), "--no-defaults", "--datadir="+p.data(),
		"--basedir="+p.home.Base, "--auth-root-authentication-method=normal", "--skip-test-db")
}

// command names the socket file relative to the data folder, so that its path
// is never too long. Durability and SQL mode stay at the server's defaults.
func (mariadb) command(p place) ([]string, error) {
	return []string{
		p.home.Tool("mariadbd"), "--no-defaults", "--basedir=" + p.home.Base, "--datadir=" + p.data(),
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(p.port), "--socket=mariadb.sock", "--pid-file=mariadb.pid",
		"--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci", "--max-connections=300",
		"--skip-name-resolve", "--innodb-buffer-pool-size=256M", "--default-time-zone=+00:00",
	}, nil
}

func (mariadb) ping(ctx context.Context, url string) error {
	db, err := sql.Open("mysql", url)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the answer is what counts
	return db.PingContext(ctx)
}

func (mariadb) url(address string) string { return "root@tcp(" + address + ")/?parseTime=true" }

func (mariadb) stopSignal() syscall.Signal { return syscall.SIGTERM }
