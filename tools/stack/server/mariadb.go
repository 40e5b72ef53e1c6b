package server

import (
	"context"
	"database/sql"
	"path/filepath"
	"strconv"
	"syscall"

	_ "github.com/go-sql-driver/mysql" // registers the mysql driver
)

type mariadb struct{}

// temporary is a folder for this server alone: every MariaDB that starts removes
// the temporary tables that it finds, also those of others that share /tmp.
func (mariadb) temporary(p place) string { return filepath.Join(p.dir, "tmp") }

func (m mariadb) initialise(ctx context.Context, p place) error {
	if err := p.account.own(m.temporary(p)); err != nil {
		return err
	}
	return p.run(ctx, p.home.Tool("mariadb-install-db"), "--no-defaults", "--datadir="+p.data(),
		"--basedir="+p.home.Base, "--auth-root-authentication-method=normal", "--skip-test-db",
		"--tmpdir="+m.temporary(p))
}

// command names the socket file relative to the data folder, so that its path
// is never too long. Durability and SQL mode stay at the server's defaults.
func (m mariadb) command(p place) ([]string, error) {
	return []string{
		p.home.Tool("mariadbd"), "--no-defaults", "--basedir=" + p.home.Base, "--datadir=" + p.data(),
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(p.port), "--socket=mariadb.sock", "--pid-file=mariadb.pid",
		"--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci", "--max-connections=300",
		"--skip-name-resolve", "--innodb-buffer-pool-size=256M", "--default-time-zone=+00:00",
		"--tmpdir=" + m.temporary(p),
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
