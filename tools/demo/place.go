package demo

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kfake"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/outbox/kafka"
	"msgx/tools/stack/mailboxddl"
)

const cleanUpBound = 15 * time.Second

// place is what the demo has made for itself.
type place struct {
	name     string // of both databases, and in the topics
	postgres string // URL of our database
	admin    string // URL of the database we came in by
	owner    *sql.DB
	mailbox  *sql.DB
	dsn      string
	broker   string
	brokers  []string
	cluster  *kfake.Cluster
}

func prepare(ctx context.Context, o Options) (*place, error) {
	p := &place{name: fmt.Sprintf("msgx_demo_%d", time.Now().UnixNano()/1e6), admin: o.Postgres}
	if err := p.makeMailbox(ctx, o.MariaDB); err != nil {
		p.cleanUp()
		return nil, fmt.Errorf("demo: MariaDB: %w", err)
	}
	if err := p.makeDatabase(ctx); err != nil {
		p.cleanUp()
		return nil, fmt.Errorf("demo: PostgreSQL: %w", err)
	}
	if err := p.findBroker(o.Kafka); err != nil {
		p.cleanUp()
		return nil, fmt.Errorf("demo: broker: %w", err)
	}
	return p, nil
}

func (p *place) makeMailbox(ctx context.Context, dsn string) error {
	settings, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	if p.owner, err = sql.Open("mysql", settings.FormatDSN()); err != nil {
		return err
	}
	if _, err := p.owner.ExecContext(ctx, "CREATE DATABASE "+p.name+" CHARACTER SET utf8mb4"); err != nil {
		return err
	}
	settings.DBName = p.name
	p.dsn = settings.FormatDSN()
	if p.mailbox, err = sql.Open("mysql", p.dsn); err != nil {
		return err
	}
	for _, statement := range mailboxddl.Statements() {
		if _, err := p.mailbox.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (p *place) makeDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.admin)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+p.name); err != nil {
		return err
	}
	c := conn.Config()
	p.postgres = fmt.Sprintf("postgres://%s@%s:%d/%s?sslmode=disable", c.User, c.Host, c.Port, p.name)
	if c.Password != "" {
		p.postgres = strings.Replace(p.postgres, c.User+"@", c.User+":"+c.Password+"@", 1)
	}
	return nil
}

func (p *place) findBroker(brokers []string) (err error) {
	if len(brokers) > 0 {
		p.brokers, p.broker = brokers, strings.Join(brokers, ",")
		return nil
	}
	if p.cluster, err = kfake.NewCluster(kfake.NumBrokers(1)); err != nil {
		return err
	}
	p.brokers = p.cluster.ListenAddrs()
	p.broker = strings.Join(p.brokers, ",") + " (in this process)"
	return nil
}

// configuration is that of a daemon for this place: a mailbox whose writers
// commit within a second, and otherwise the defaults.
func (p *place) configuration(o Options) (*config.Config, error) {
	c, err := config.Load(config.Sources{Set: []string{
		"postgres.url=" + p.postgres,
		"mailbox.dsn=" + p.dsn,
		"kafka.brokers=" + strings.Join(p.brokers, ","),
		"kafka.msg-topic=" + p.name + ".msg",
		"kafka.schd-topic=" + p.name + ".schd",
		"pipeline.max-commit-delay=1s",
		"pipeline.cutover-watermark=zero",
		"http.listen=" + o.Listen,
		"instance=demo",
	}})
	if err != nil {
		return nil, err
	}
	admin, err := kafka.NewAdmin(daemon.KafkaConfig(c))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpBound)
	defer cancel()
	if _, err := admin.Create(ctx, daemon.Topics(c)); err != nil {
		return nil, fmt.Errorf("demo: topics: %w", err)
	}
	return c, nil
}

// hints tell what to look at while the daemon stays up.
func (p *place) hints(c *config.Config) string {
	return fmt.Sprintf(`
To look at it from another terminal:
  export MSGX_POSTGRES_URL='%s'
  bin/msgx flight show FLID
  bin/msgx message show 1

`, c.Postgres.URL)
}

// cleanUp removes what was made.
func (p *place) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpBound)
	defer cancel()
	if p.mailbox != nil {
		_ = p.mailbox.Close()
	}
	if p.owner != nil {
		_, _ = p.owner.ExecContext(ctx, "DROP DATABASE IF EXISTS "+p.name)
		_ = p.owner.Close()
	}
	if p.postgres != "" {
		if conn, err := pgx.Connect(ctx, p.admin); err == nil {
			_, _ = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+p.name+" WITH (FORCE)")
			_ = conn.Close(ctx)
		}
	}
	if p.cluster != nil {
		p.cluster.Close()
	}
}
