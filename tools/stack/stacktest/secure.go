package stacktest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"hash"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"msgx/tools/stack/server"
	"msgx/tools/stack/software"
)

// Secure is a private Kafka broker with a second address, at which connections are encrypted and log in.
type Secure struct {
	*Private
	Address  string // of the encrypted connections, host:port
	CAFile   string // the authority of the broker's certificate, PEM
	CertFile string // a client's certificate, of the same authority, with its key in KeyFile
	KeyFile  string
	User     string // may log in by PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512
	Password string
}

// PrivateKafkaSecure starts an Apache Kafka broker that also takes encrypted connections, which have to log in. With
// clients, it wants their certificates, too.
func PrivateKafkaSecure(t testing.TB, clients bool) *Secure {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Secure{Address: listener.Addr().String(), User: "msgx", Password: "open sesame"}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	store := s.certificates(t)
	auth := map[bool]string{true: "required", false: "none"}[clients]
	const module = "org.apache.kafka.common.security."
	s.Private = private(t, software.Kafka, server.Options{Secure: s.Address, More: []string{
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
		"sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		"listener.name.sasl_ssl.plain.sasl.jaas.config=" + module + fmt.Sprintf("plain.PlainLoginModule required user_%s=%q;", s.User, s.Password),
		"listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
		"listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=" + module + "scram.ScramLoginModule required;",
		"ssl.keystore.type=PEM", "ssl.keystore.location=" + store, "ssl.truststore.type=PEM", "ssl.truststore.location=" + s.CAFile, "listener.name.sasl_ssl.ssl.client.auth=" + auth,
	}}, 0)
	s.SetPassword(t, s.Password)
	return s
}

// certificates makes an authority, and certificates of the broker and of a client; it returns the broker's file.
func (s *Secure) certificates(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "msgx-certificates-") // which another account can reach
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, blocks ...*pem.Block) string {
		var data []byte
		for _, b := range blocks {
			data = append(data, pem.EncodeToMemory(b)...)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var authority *x509.Certificate
	var signer *ecdsa.PrivateKey
	issue := func(template x509.Certificate) (certificate, key *pem.Block) {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		if authority == nil {
			authority, signer = &template, own
		}
		der, err := x509.CreateCertificate(rand.Reader, &template, authority, &own.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := x509.MarshalPKCS8PrivateKey(own)
		if err != nil {
			t.Fatal(err)
		}
		return &pem.Block{Type: "CERTIFICATE", Bytes: der}, &pem.Block{Type: "PRIVATE KEY", Bytes: secret}
	}
	ca, _ := issue(x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	s.CAFile = write("ca.pem", ca)
	client, clientKey := issue(x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "client"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	s.CertFile, s.KeyFile = write("client.pem", client), write("client.key", clientKey)
	broker, brokerKey := issue(x509.Certificate{SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "broker"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return write("broker.pem", brokerKey, broker)
}

// SetPassword gives the user another password for SCRAM.
func (s *Secure) SetPassword(t testing.TB, password string) {
	t.Helper()
	s.Password = password
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(s.URL), Timeout: 30 * time.Second, Transport: transport}
	const iterations = 4096
	salt := []byte("a pinch of salt")
	salted := func(by func() hash.Hash, size int) []byte {
		key, err := pbkdf2.Key(by, s.Password, salt, iterations, size)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, u := range []kafka.UserScramCredentialsUpsertion{ // one at a time: a user may stand in a request once
		{Name: s.User, Mechanism: kafka.ScramMechanismSha256, Iterations: iterations, Salt: salt, SaltedPassword: salted(sha256.New, sha256.Size)},
		{Name: s.User, Mechanism: kafka.ScramMechanismSha512, Iterations: iterations, Salt: salt, SaltedPassword: salted(sha512.New, sha512.Size)},
	} {
		answer, err := client.AlterUserScramCredentials(ctx, &kafka.AlterUserScramCredentialsRequest{Upsertions: []kafka.UserScramCredentialsUpsertion{u}})
		if err == nil && len(answer.Results) > 0 {
			err = answer.Results[0].Error
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
