// Package daemon is one running instance: it opens the servers, stands by for
// the lease, and while it leads runs the stages side by side.
//
// # Starting
//
// Faults of configuration, rule set, catalogue, schema version and mailbox table
// end the start with an error (a faulty rule set does when nothing else is on record as live, see package rollout).
// A server that is away is waited for, with one log line when it is missed and one when it is back.
//
// # Stopping
//
// When the context ends (SIGTERM, SIGINT) the stages stop together, each at its own
// edge: the inbox after its read, the pump after the message in its transaction (or before it,
// when nothing has been decided yet: it rolls back and uses up no attempt), back-fill and
// outbox after the call in flight has been recorded, the rollout of rule sets after the golden case in hand, the shadow after
// it has written what it found. The lease beats until the last of them has
// returned, then it is released, so that a standby takes over at once. HTTP and connections
// come last.
//
// # Bounds
//
// All that lives as long as the process, and what bounds it. Nothing else may: what is added here gets its line.
//
//	what                                       bound                                                       where
//	connections to PostgreSQL                  postgres.max-conns (8)                                      store
//	connections to the mailbox                 8, of which 4 idle, each for 5 minutes                      mailbox
//	connections over HTTP                      100, 16 KiB of a head, 5 s for it, 20 s of idleness         api
//	messages in hand at the compatible entry   4 of codec.max-bytes; others wait 5 s                       entry
//	readings of the backlog                    30, one each 10 s                                           backlog
//	rows of a read of the mailbox              pipeline.claim-batch (500), without bodies                  inbox
//	released holes that are looked at again    those of the late window (24 h), 100 a round                inbox
//	late rows that were reported               those within these holes                                    inbox
//	bodies and messages read ahead             256 and 4 MiB; a larger body passes, alone                  pump
//	a body                                     bytes, depth and elements of codec.*                        codec
//	a decision                                 instructions and sizes of rules.*, cascades of its flights  rulebook, decision
//	rule sets                                  the live one, one that waits for its turn, the shadow       rollout, shadow
//	messages that wait for the shadow          256, and 20,000 records and flights of them                 shadow
//	what the shadow found, not written yet     5 examples and a count of a kind and place                  shadow
//	marks in hand                              pipeline.backfill-batch (200), for 4 s                      backfill
//	events in hand, and landed unconfirmed     outbox.batch, schd.flush-limit (500): nothing is read       outbox
//	                                           before they are confirmed
//	lanes that are held                        those of events in hand, until their time has passed        outbox
//	failures remembered of keys                keys that failed since no lane was held: at most those of   outbox
//	                                           flights with unsent events
//	reasons told of a broker in trouble        the codes of the protocol                                   outbox
//	pokes                                      one: a second joins the first                               clock
//	log of an outage                           a line a stage and server when it goes, one when it is      outage
//	                                           back; back-off up to 5, 15 or 30 s
//	labels of metrics                          kinds of the catalogue, else "other"; states, classes and   pump, shadow,
//	                                           results; the hash that is live, without those before        rollout, audit
//
// A server without a connection, disk or memory to give is away like one that does not answer: no attempt is used up.
// While somebody's long transaction holds back vacuum, tables and indexes of our database grow with what is written, and
// the statements of each message do not become slower by what was finished, but for the one row of pipeline_lock:
// 0.2 ms with every 20,000 decisions since, until that transaction ends.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/engine/api"
	"msgx/engine/clock"
	"msgx/engine/lease"
	"msgx/engine/mailbox"
	"msgx/engine/outbox/kafka"
	"msgx/engine/store"
)

// Daemon is one instance. New opens its HTTP face; Run does the rest.
type Daemon struct {
	config  *config.Config
	core    *core.Core
	log     *slog.Logger
	clock   clock.Clock
	build   string
	store   *store.Store
	servers servers
	lease   *lease.Lease
	api     *api.Server
	metrics *registries
	rules   rules
	leads   leads
	topics  struct { // of the one who leads
		asked bool   // the brokers have answered once
		told  string // what was said last
	}
}

// servers are the connections to what is not ours.
type servers struct {
	mailbox atomic.Pointer[mailbox.Mailbox] // nil until it was reached once
	admin   *kafka.Admin
	msg     *kafka.Publisher
	schd    *kafka.Publisher
}

// New checks what can be checked without a server, and opens the HTTP address.
func New(ctx context.Context, c *config.Config, build string, log *slog.Logger) (*Daemon, error) {
	if faults := c.CheckServe(); len(faults) > 0 {
		return nil, fmt.Errorf("configuration: %w", errors.Join(faults...))
	}
	mind, err := core.Prepare(c)
	if err != nil {
		return nil, err
	}
	d := &Daemon{config: c, core: mind, log: log, clock: clock.System{}, build: build, metrics: newRegistries(), rules: newRules(c, mind, build)}
	d.metrics.process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if d.store, err = OpenStore(ctx, c, mind); err != nil {
		return nil, err
	}
	if err := d.openKafka(); err != nil {
		return nil, err
	}
	d.lease = lease.New(d.store, lease.Options{
		Holder: Holder(c), Lease: c.Lease.Duration, Clock: d.clock, Log: log, Registerer: d.metrics.process,
	})
	d.api, err = api.Listen(c.HTTP.Listen, d.metrics, d.checks(), log)
	if err != nil {
		return nil, err
	}
	d.api.Show("/rules", d.showRules)
	if err := d.openEntry(); err != nil {
		d.api.Close()
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return d, nil
}

// Holder names this instance.
func Holder(c *config.Config) string {
	if c.Instance != "" {
		return c.Instance
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// OpenStore prepares for our own database; nothing is connected yet.
func OpenStore(ctx context.Context, c *config.Config, mind *core.Core) (*store.Store, error) {
	bound := sessionBound(c)
	return store.Open(ctx, store.Config{
		URL: c.Postgres.URL, MaxConns: int32(c.Postgres.MaxConns), StatementTimeout: bound, IdleInTxTimeout: bound,
	}, mind.Catalogue, c.Airport.Location)
}

// sessionBound is how long a statement, or a transaction left idle, may last:
// below the lease, so that a frozen session cannot block a takeover.
func sessionBound(c *config.Config) time.Duration { return c.Lease.Duration * 2 / 5 }

// MailboxConfig is the mailbox as the configuration names it.
func MailboxConfig(c *config.Config) mailbox.Config {
	m := c.Mailbox
	return mailbox.Config{
		DSN: m.DSN, Body: m.Body, Zone: c.Airport.Location,
		ReadTimeout: m.ReadTimeout, WriteTimeout: m.WriteTimeout, ProcessedStatus: m.ProcessedStatus,
		Inbound: mailbox.Inbound{
			Table: m.Inbound.Table, ID: m.Inbound.ID, Body: m.Inbound.Body,
			Received: m.Inbound.Received, Processed: m.Inbound.Processed, Status: m.Inbound.Status,
		},
	}
}

// KafkaConfig is the cluster as the configuration names it.
func KafkaConfig(c *config.Config) kafka.Config {
	return kafka.Config{
		Brokers: c.Kafka.Brokers, ClientID: "msgx", RequestTimeout: c.Kafka.RequestTimeout, MaxMessageBytes: c.Kafka.MaxMessageBytes,
		Security: kafka.Security{
			TLS: c.Kafka.TLS, CAFile: c.Kafka.CAFile, CertFile: c.Kafka.CertFile, KeyFile: c.Kafka.KeyFile,
			Mechanism: c.Kafka.SASL, User: c.Kafka.User, Password: c.Kafka.Password,
		},
	}
}

// Topics are the two topics as they should be.
func Topics(c *config.Config) []kafka.Topic {
	return []kafka.Topic{
		{Name: c.Kafka.MsgTopic, Partitions: c.Kafka.Partitions, Replication: c.Kafka.Replication, Retention: c.Kafka.Retention},
		{Name: c.Kafka.SchdTopic, Partitions: c.Kafka.Partitions, Replication: c.Kafka.Replication, Compacted: true},
	}
}

func (d *Daemon) openKafka() (err error) {
	k := KafkaConfig(d.config)
	if d.servers.admin, err = kafka.NewAdmin(k); err != nil {
		return err
	}
	if d.servers.msg, err = kafka.New(k, d.config.Kafka.MsgTopic); err != nil {
		return err
	}
	d.servers.schd, err = kafka.New(k, d.config.Kafka.SchdTopic)
	return err
}

// Address is where metrics and health are served.
func (d *Daemon) Address() string { return d.api.Address() }

// Run runs the instance until ctx ends (nil) or something is wrong that
// waiting does not mend.
func (d *Daemon) Run(ctx context.Context) error {
	defer d.close()
	for _, line := range d.config.Shown() {
		d.log.Debug("parameter", "is", line)
	}
	d.log.Info("starting", "build", d.build, "instance", Holder(d.config), "http", "http://"+d.Address(), "rules", d.rules.source.Origin)
	defer context.AfterFunc(ctx, func() { d.tell(systemd.SdNotifyStopping) })()
	d.tell(status("waiting for PostgreSQL and the mailbox"))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.api.Run(ctx) })
	group.Go(func() error { return d.keepWatch(ctx) })
	group.Go(func() error {
		err := d.awaitServers(ctx)
		if errors.Is(err, context.Canceled) {
			return nil // asked to stop while waiting
		}
		if err != nil {
			return err
		}
		d.tell(systemd.SdNotifyReady + "\n" + status("standing by"))
		return d.lease.Run(ctx, func(ctx context.Context, epoch int64) error {
			d.tell(status("leading, lease epoch %d", epoch))
			defer d.tell(status("standing by"))
			return d.lead(ctx, epoch)
		})
	})
	err := group.Wait()
	d.log.Info("stopped")
	return err
}

func (d *Daemon) close() {
	d.servers.msg.Close()
	d.servers.schd.Close()
	if m := d.servers.mailbox.Load(); m != nil {
		_ = m.Close()
	}
	d.store.Close()
}

// registries join the metrics of the process with those of the stages, which
// begin anew with each time of leading.
type registries struct {
	process *prometheus.Registry
	leading *swap
}

func newRegistries() *registries {
	return &registries{process: prometheus.NewRegistry(), leading: &swap{}}
}
