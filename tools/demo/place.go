package demo

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/daemon"
	"msgx/engine/event"
	"msgx/engine/outbox/kafka"
	"msgx/tools/scratch"
)

const topicsBound = 15 * time.Second

// place is what the demo has made for itself.
type place struct {
	*scratch.Place
	name     string // of both databases, and in the topics
	postgres string // URL of our database
	broker   string
	brokers  []string
	cluster  *kfake.Cluster

	checkEvent func(event.Target, []byte) error // as in Options
}

func prepare(ctx context.Context, o Options) (*place, error) {
	p := &place{name: fmt.Sprintf("msgx_demo_%d", time.Now().UnixMicro()), checkEvent: o.CheckEvent}
	var err error
	if p.Place, err = scratch.New(ctx, o.Postgres, o.MariaDB, p.name); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	if p.postgres, err = p.Database(ctx, p.name, ""); err != nil {
		p.cleanUp()
		return nil, fmt.Errorf("demo: %w", err)
	}
	if err := p.findBroker(o.Kafka); err != nil {
		p.cleanUp()
		return nil, fmt.Errorf("demo: broker: %w", err)
	}
	return p, nil
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
	c, err := config.Load(config.Sources{Set: append(slices.Clone(o.Set),
		"postgres.url="+p.postgres,
		"mailbox.dsn="+p.MailboxDSN,
		"kafka.brokers="+strings.Join(p.brokers, ","),
		"kafka.msg-topic="+p.name+".msg",
		"kafka.schd-topic="+p.name+".schd",
		"pipeline.max-commit-delay=1s",
		"pipeline.cutover-watermark=zero",
		"http.listen="+o.Listen,
		"instance=demo",
	)})
	if err != nil {
		return nil, err
	}
	admin, err := kafka.NewAdmin(daemon.KafkaConfig(c))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), topicsBound)
	defer cancel()
	if _, err := admin.Create(ctx, daemon.Topics(c)); err != nil {
		return nil, fmt.Errorf("demo: topics: %w", err)
	}
	return c, nil
}

// hints tell what to look at while the daemon stays up, with all that the commands need to find it.
func (p *place) hints(c *config.Config, r *Report) string {
	return fmt.Sprintf(`
To look at it from another terminal:
  export MSGX_POSTGRES_URL='%s'
  export MSGX_MAILBOX_DSN='%s'
  export MSGX_KAFKA_BROKERS='%s' MSGX_KAFKA_MSG_TOPIC='%s' MSGX_KAFKA_SCHD_TOPIC='%s'
  export MSGX_PIPELINE_MAX_COMMIT_DELAY='%s'
  msgx flight show %d
  msgx message show %d
  msgx dead list
  msgx tail --flid %[7]d --from beginning
  msgx audit

`, c.Postgres.URL, c.Mailbox.DSN, strings.Join(c.Kafka.Brokers, ","), c.Kafka.MsgTopic, c.Kafka.SchdTopic,
		c.Pipeline.MaxCommitDelay, r.busiest, r.inserted.IDs[len(r.messages)])
}

// cleanUp removes what was made.
func (p *place) cleanUp() {
	p.Remove()
	if p.cluster != nil {
		p.cluster.Close()
	} else if len(p.brokers) > 0 {
		p.removeTopics()
	}
}

// removeTopics takes our topics out of somebody's broker again, if it still answers.
func (p *place) removeTopics() {
	ctx, cancel := context.WithTimeout(context.Background(), readBound)
	defer cancel()
	conn, err := kafkago.DialContext(ctx, "tcp", p.brokers[0])
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	at, err := conn.Controller()
	if err != nil {
		return
	}
	controller, err := kafkago.DialContext(ctx, "tcp", net.JoinHostPort(at.Host, strconv.Itoa(at.Port)))
	if err != nil {
		return
	}
	_ = controller.DeleteTopics(p.name+".msg", p.name+".schd")
	_ = controller.Close()
}
