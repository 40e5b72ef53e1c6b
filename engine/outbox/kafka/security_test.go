package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"msgx/engine/event"
)

// certificate makes a self-signed certificate of this machine and the file of its authority.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func TestSecurity(t *testing.T) {
	cert, ca := certificate(t)
	cases := []struct {
		name     string
		security Security
		want     event.Fate
		reason   string
	}{
		{"plain", Security{TLS: true, CAFile: ca, Mechanism: "PLAIN", User: "msgx", Password: "right"}, event.Landed, ""},
		{"scram 256", Security{TLS: true, CAFile: ca, Mechanism: "SCRAM-SHA-256", User: "msgx", Password: "right"}, event.Landed, ""},
		{"scram 512", Security{TLS: true, CAFile: ca, Mechanism: "SCRAM-SHA-512", User: "msgx", Password: "right"}, event.Landed, ""},
		{"wrong password", Security{TLS: true, CAFile: ca, Mechanism: "PLAIN", User: "msgx", Password: "wrong"}, event.NotStored, "no-answer"},
		{"unknown authority", Security{TLS: true, Mechanism: "PLAIN", User: "msgx", Password: "right"}, event.NotStored, "certificate"},
	}
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"), kfake.EnableSASL(),
		kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}),
		kfake.Superuser("PLAIN", "msgx", "right"), kfake.Superuser("SCRAM-SHA-256", "msgx", "right"), kfake.Superuser("SCRAM-SHA-512", "msgx", "right"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newPublisher(t, Config{Brokers: broker.ListenAddrs(), RequestTimeout: 2 * time.Second, Security: c.security}, "t")
			r := p.Publish(t.Context(), records("1"))[0]
			if r.Fate != c.want || r.Reason != c.reason {
				t.Errorf("got %s %s %v, want %s %s", r.Fate, r.Reason, r.Err, c.want, c.reason)
			}
			// This broker hangs up where others answer with a code.
			if c.reason == "no-answer" && !strings.Contains(r.Err.Error(), "check user and password") {
				t.Errorf("got %v, want advice to check user and password", r.Err)
			}
		})
	}
}
