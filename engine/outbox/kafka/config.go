package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Config says how to reach a cluster.
type Config struct {
	Brokers  []string // bootstrap addresses, host:port
	ClientID string
	// RequestTimeout is how long a broker waits for its replicas; default 5 s.
	RequestTimeout time.Duration
	// MaxMessageBytes is the broker's limit for a batch; default 1048588, as the broker's.
	MaxMessageBytes int
	// MetadataMaxAge is after how long a publisher asks again how many partitions its topic has; default 5 min, as the Java client's.
	MetadataMaxAge time.Duration
	Security       Security
}

// Security is empty for a plain connection.
type Security struct {
	TLS       bool
	CAFile    string // PEM; "" trusts what the system trusts
	CertFile  string // PEM of our own certificate, with its key in KeyFile; "" for none
	KeyFile   string
	Mechanism string // "", PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	User      string
	Password  string
}

// The defaults of Config.
const (
	DefaultRequestTimeout  = 5 * time.Second
	DefaultMaxMessageBytes = 1048588
	DefaultMetadataMaxAge  = 5 * time.Minute
)

func (c Config) withDefaults() Config {
	if c.ClientID == "" {
		c.ClientID = "msgx"
	}
	if c.RequestTimeout <= 0 {
		c.RequestTimeout = DefaultRequestTimeout
	}
	if c.MaxMessageBytes <= 0 {
		c.MaxMessageBytes = DefaultMaxMessageBytes
	}
	if c.MetadataMaxAge <= 0 {
		c.MetadataMaxAge = DefaultMetadataMaxAge
	}
	return c
}

// dialer makes transports of one configuration.
type dialer struct {
	c    Config
	tls  *tls.Config
	sasl sasl.Mechanism
}

func newDialer(c Config) (*dialer, error) {
	if len(c.Brokers) == 0 {
		return nil, fmt.Errorf("kafka: no broker address, expected at least one host:port")
	}
	for _, b := range c.Brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			return nil, fmt.Errorf("kafka: broker address %q: expected host:port: %w", b, err)
		}
	}
	d := &dialer{c: c.withDefaults()}
	var err error
	if c.Security.TLS {
		if d.tls, err = tlsConfig(c.Security); err != nil {
			return nil, err
		}
	}
	if d.sasl, err = mechanism(c.Security); err != nil {
		return nil, err
	}
	return d, nil
}

func tlsConfig(s Security) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CertFile != "" {
		own, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("kafka: our certificate %s with the key %s: %w", s.CertFile, s.KeyFile, err)
		}
		conf.Certificates = []tls.Certificate{own}
	}
	if s.CAFile == "" {
		return conf, nil
	}
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, fmt.Errorf("kafka: certificate authority: %w", err)
	}
	conf.RootCAs = x509.NewCertPool()
	if !conf.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("kafka: certificate authority %s: found no certificate, expected PEM", s.CAFile)
	}
	return conf, nil
}

func mechanism(s Security) (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "":
		return nil, nil
	case "PLAIN":
		return plain.Mechanism{Username: s.User, Password: s.Password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, s.User, s.Password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, s.User, s.Password)
	}
	return nil, fmt.Errorf("kafka: SASL mechanism %q, expected PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", s.Mechanism)
}

// client opens connections of its own when first used. topics bounds what is
// asked about the cluster, which may hold thousands of others.
func (d *dialer) client(topics ...string) (*kafkago.Client, *kafkago.Transport) {
	transport := &kafkago.Transport{
		ClientID: d.c.ClientID, DialTimeout: d.c.RequestTimeout,
		TLS: d.tls, SASL: d.sasl, MetadataTopics: topics,
	}
	return &kafkago.Client{
		Addr: kafkago.TCP(d.c.Brokers...),
		// kafka-go tells the broker half of it.
		Timeout:   2 * d.c.RequestTimeout,
		Transport: transport,
	}, transport
}
