// Package config is the configuration of msgx: every parameter with its
// default, unit and bounds, read from defaults, a file, the environment and flags (the
// later wins), checked whole before anything starts. Unknown keys are refused.
package config

import (
	"fmt"
	"strconv"
	"time"

	"msgx/engine/message"
)

// Config is a complete, checked configuration.
type Config struct {
	Instance string         `koanf:"instance"`
	Postgres PostgresConfig `koanf:"postgres"`
	Mailbox  MailboxConfig  `koanf:"mailbox"`
	Kafka    KafkaConfig    `koanf:"kafka"`
	Airport  AirportConfig  `koanf:"airport"`
	Pipeline PipelineConfig `koanf:"pipeline"`
	Identity IdentityConfig `koanf:"identity"`
	Replay   ReplayConfig   `koanf:"replay"`
	Schd     SchdConfig     `koanf:"schd"`
	Outbox   OutboxConfig   `koanf:"outbox"`
	Codec    CodecConfig    `koanf:"codec"`
	Rules    RulesConfig    `koanf:"rules"`
	Golden   GoldenConfig   `koanf:"golden"`
	Lease    LeaseConfig    `koanf:"lease"`
	Check    CheckConfig    `koanf:"consistency-check"`
	HTTP     HTTPConfig     `koanf:"http"`
	Compat   CompatConfig   `koanf:"compat"`
	Log      LogConfig      `koanf:"log"`
}

// PostgresConfig is our own database.
type PostgresConfig struct {
	URL      string `koanf:"url"`
	MaxConns int    `koanf:"max-conns"`
}

// MailboxConfig is the shared MySQL, its inbound table and how to read it.
type MailboxConfig struct {
	DSN             string        `koanf:"dsn"`
	Body            string        `koanf:"body"`
	ReadTimeout     time.Duration `koanf:"read-timeout"`
	WriteTimeout    time.Duration `koanf:"write-timeout"`
	ProcessedStatus string        `koanf:"processed-status"`
	Inbound         InboundConfig `koanf:"inbound"`
}

// InboundConfig names the inbound table and its columns.
type InboundConfig struct {
	Table     string `koanf:"table"`
	ID        string `koanf:"id"`
	Body      string `koanf:"body"`
	Received  string `koanf:"received"`
	Processed string `koanf:"processed"`
	Status    string `koanf:"status"`
}

// KafkaConfig is the broker and the two topics.
type KafkaConfig struct {
	Brokers         []string      `koanf:"brokers"`
	MsgTopic        string        `koanf:"msg-topic"`
	SchdTopic       string        `koanf:"schd-topic"`
	Partitions      int           `koanf:"partitions"`
	Replication     int           `koanf:"replication"`
	RequestTimeout  time.Duration `koanf:"request-timeout"`
	MaxMessageBytes int           `koanf:"max-message-bytes"`
	Retention       time.Duration `koanf:"retention"`
	TopicPolicy     string        `koanf:"topic-policy"`
	TLS             bool          `koanf:"tls"`
	CAFile          string        `koanf:"ca-file"`
	CertFile        string        `koanf:"cert-file"`
	KeyFile         string        `koanf:"key-file"`
	SASL            string        `koanf:"sasl"`
	User            string        `koanf:"user"`
	Password        string        `koanf:"password"`
}

// AirportConfig is the airport's zone and the time of day its operation day begins.
type AirportConfig struct {
	Zone       string        `koanf:"zone"`
	DayCutover time.Duration `koanf:"day-cutover"`

	Location *time.Location `koanf:"-"`
}

// PipelineConfig is reading, deciding and marking.
type PipelineConfig struct {
	PollInterval     time.Duration   `koanf:"poll-interval"`
	ClaimBatch       int             `koanf:"claim-batch"`
	MaxCommitDelay   time.Duration   `koanf:"max-commit-delay"`
	IDStride         int64           `koanf:"id-stride"`
	CutoverWatermark string          `koanf:"cutover-watermark"`
	LateWindow       time.Duration   `koanf:"late-window"`
	Autostart        bool            `koanf:"autostart"`
	Ignore           []string        `koanf:"ignore"`
	MaxAttempts      int             `koanf:"max-attempts"`
	Backoff          []time.Duration `koanf:"backoff"`
	BackfillBatch    int             `koanf:"backfill-batch"`
	R                time.Duration   `koanf:"r"`
	RKeep            time.Duration   `koanf:"r-keep"`
}

// IdentityConfig is the business identity of a message.
type IdentityConfig struct {
	IncludeDayBoundary bool          `koanf:"include-day-boundary"`
	Memory             time.Duration `koanf:"memory"`
}

// ReplayConfig is what is kept for sending a message through again.
type ReplayConfig struct {
	KeepRaw bool     `koanf:"keep-raw"`
	Classes []string `koanf:"classes"`
}

// SchdConfig is how schedules are applied and how the latest state goes out.
type SchdConfig struct {
	AbsentOptional string        `koanf:"absent-optional"`
	FlushPeriod    time.Duration `koanf:"flush-period"`
	FlushLimit     int           `koanf:"flush-limit"`
}

// OutboxConfig is delivery.
type OutboxConfig struct {
	CodeShare string `koanf:"code-share"`
	Batch     int    `koanf:"batch"`
}

// CodecConfig bounds what is decoded.
type CodecConfig struct {
	MaxBytes    int    `koanf:"max-bytes"`
	MaxDepth    int    `koanf:"max-depth"`
	MaxElements int    `koanf:"max-elements"`
	SiteFile    string `koanf:"site-file"`
}

// RulesConfig is where the rule set comes from, how a change of it is noticed and proved, and what decides beside it.
type RulesConfig struct {
	Dir                string        `koanf:"dir"`
	Instructions       int           `koanf:"instructions"`
	Watch              bool          `koanf:"watch"`
	WatchInterval      time.Duration `koanf:"watch-interval"`
	Golden             string        `koanf:"golden"`
	Shadow             string        `koanf:"shadow"`
	ShadowInstructions int           `koanf:"shadow-instructions"`
	ShadowTime         time.Duration `koanf:"shadow-time"`
}

// GoldenConfig is how messages become golden cases.
type GoldenConfig struct {
	Redact []string `koanf:"redact"`
}

// LeaseConfig is the single active instance.
type LeaseConfig struct {
	Duration time.Duration `koanf:"duration"`
}

// CheckConfig is the sample of flights that a running daemon holds against their history and events.
type CheckConfig struct {
	OnStartup        bool    `koanf:"on-startup"`
	DailySampleRatio float64 `koanf:"daily-sample-ratio"`
}

// HTTPConfig is where metrics and health are served.
type HTTPConfig struct {
	Listen string `koanf:"listen"`
}

// CompatConfig is the HTTP entry for messages.
type CompatConfig struct {
	Auth       string   `koanf:"auth"`
	Token      string   `koanf:"token"`
	Allow      []string `koanf:"allow"`
	Answer     string   `koanf:"answer"`
	AnswerType string   `koanf:"answer-type"`
}

// LogConfig is the log.
type LogConfig struct {
	Level  string `koanf:"level"`
	Format string `koanf:"format"`
}

// check holds the relations between parameters, and returns every one that
// does not hold.
func (c *Config) check() []error {
	var faults []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	p := c.Pipeline
	location, err := time.LoadLocation(c.Airport.Zone)
	want(err == nil && c.Airport.Zone != "" && c.Airport.Zone != "Local", "msgx.airport.zone is %q, expected the name of a time zone such as Asia/Shanghai", c.Airport.Zone)
	c.Airport.Location = location
	want(c.Airport.DayCutover < 24*time.Hour, "msgx.airport.day-cutover is %s, expected less than 24h", c.Airport.DayCutover)
	want(len(p.Backoff) == p.MaxAttempts-1,
		"msgx.pipeline.backoff has %d tiers, expected msgx.pipeline.max-attempts - 1 = %d, so that no tier is there in vain", len(p.Backoff), p.MaxAttempts-1)
	want(p.R <= p.RKeep, "msgx.pipeline.r is %s, expected at most msgx.pipeline.r-keep = %s", p.R, p.RKeep)
	want(c.Identity.Memory >= p.RKeep, "msgx.identity.memory is %s, expected at least msgx.pipeline.r-keep = %s", c.Identity.Memory, p.RKeep)
	want(c.Lease.Duration >= 3*time.Second, "msgx.lease.duration is %s, expected at least 3s", c.Lease.Duration)
	want(c.Kafka.RequestTimeout > 0 && c.Kafka.RequestTimeout <= c.Lease.Duration,
		"msgx.kafka.request-timeout is %s, expected more than 0s and at most msgx.lease.duration = %s: a request still on its way must have ended when another instance takes over",
		c.Kafka.RequestTimeout, c.Lease.Duration)
	want(c.Check.DailySampleRatio >= 0 && c.Check.DailySampleRatio <= 1,
		"msgx.consistency-check.daily-sample-ratio is %g, expected 0 (never) to 1 (every flight)", c.Check.DailySampleRatio)
	want(cutover(p.CutoverWatermark), "msgx.pipeline.cutover-watermark is %q, expected min, zero, max or an id", p.CutoverWatermark)
	want(c.Kafka.MsgTopic != c.Kafka.SchdTopic, "msgx.kafka.msg-topic and msgx.kafka.schd-topic are both %q, expected two topics", c.Kafka.MsgTopic)
	k := c.Kafka
	want(k.TLS || k.CAFile+k.CertFile+k.KeyFile == "", "msgx.kafka.ca-file, cert-file or key-file is set and msgx.kafka.tls is false, expected true: nothing would be encrypted")
	want((k.CertFile == "") == (k.KeyFile == ""), "msgx.kafka.cert-file is %q and msgx.kafka.key-file %q, expected both or none", k.CertFile, k.KeyFile)
	want(k.SASL != "" && k.User != "" && k.Password != "" || k.SASL+k.User+k.Password == "", "msgx.kafka.sasl is %q, expected msgx.kafka.user and msgx.kafka.password with it, and none without", k.SASL)
	want(c.Rules.WatchInterval > 0, "msgx.rules.watch-interval is %s, expected more than 0s", c.Rules.WatchInterval)
	want(c.Rules.ShadowTime > 0, "msgx.rules.shadow-time is %s, expected more than 0s", c.Rules.ShadowTime)
	for i, class := range c.Replay.Classes {
		want(message.ErrorClass(class).Replayable(),
			"msgx.replay.classes[%d] is %q, expected one of CODEC_ERROR, UNSUPPORTED, RULE_ERROR, INFRA, EXHAUSTED: what is MALFORMED or PROTOCOL no change of ours can mend", i, class)
	}
	for i, tier := range p.Backoff {
		want(tier > 0, "msgx.pipeline.backoff[%d] is %s, expected more than 0s", i, tier)
	}
	return faults
}

// cutover tells whether a cut-over watermark can be understood; none at all can.
func cutover(text string) bool {
	switch text {
	case "", "min", "zero", "max":
		return true
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return err == nil && id >= 0
}

// CheckServe holds what only the daemon needs: addresses, and the one bound
// that the mailbox's owner has to give.
func (c *Config) CheckServe() []error {
	var faults []error
	need := func(ok bool, key, why string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s is not set: %s", key, why))
		}
	}
	need(c.Postgres.URL != "", "msgx.postgres.url", "the URL of our own PostgreSQL, such as postgres://msgx@localhost/msgx")
	need(c.Mailbox.DSN != "", "msgx.mailbox.dsn", "the data source of the shared MySQL, such as msgx:secret@tcp(localhost:3306)/cdairport")
	need(len(c.Kafka.Brokers) > 0, "msgx.kafka.brokers", "the brokers to deliver to, such as localhost:9092")
	need(c.Pipeline.MaxCommitDelay > 0, "msgx.pipeline.max-commit-delay",
		"the longest time between an id being given and its row becoming visible; only the owner of the mailbox can say, there is no default")
	return faults
}
