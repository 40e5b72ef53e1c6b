package kafka

import (
	"strings"
	"testing"
	"time"

	"msgx/engine/event"
	"msgx/tools/stack/stacktest"
)

// TestSecureBroker logs in at a real broker, over encrypted connections, in every way, and is told what is wrong.
func TestSecureBroker(t *testing.T) {
	broker := stacktest.PrivateKafkaSecure(t, true)
	topic := broker.Topic(1)
	right := Security{TLS: true, CAFile: broker.CAFile, CertFile: broker.CertFile, KeyFile: broker.KeyFile, Mechanism: "SCRAM-SHA-512", User: broker.User, Password: broker.Password}
	for _, tt := range []struct {
		name   string
		change func(*Security)
		fate   event.Fate
		says   string
	}{
		{"SCRAM-SHA-512", func(*Security) {}, event.Landed, ""},
		{"SCRAM-SHA-256", func(s *Security) { s.Mechanism = "SCRAM-SHA-256" }, event.Landed, ""},
		{"PLAIN", func(s *Security) { s.Mechanism = "PLAIN" }, event.Landed, ""},
		{"wrong password", func(s *Security) { s.Password = "wrong" }, event.NotStored, "user and password"},
		{"wrong password, PLAIN", func(s *Security) { s.Mechanism, s.Password = "PLAIN", "wrong" }, event.NotStored, "user and password"},
		{"unknown user", func(s *Security) { s.User = "nobody" }, event.NotStored, "user and password"},
		{"unknown authority", func(s *Security) { s.CAFile = "" }, event.NotStored, "certificate"},
		{"no certificate of ours", func(s *Security) { s.CertFile, s.KeyFile = "", "" }, event.NotStored, "certificate"},
		{"not encrypted", func(s *Security) { *s = Security{} }, event.NotStored, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := right
			tt.change(&s)
			p := newPublisher(t, Config{Brokers: []string{broker.Address}, RequestTimeout: 2 * time.Second, Security: s}, topic)
			r := p.Publish(t.Context(), records("1"))[0]
			if r.Fate != tt.fate || (r.Err != nil && !strings.Contains(r.Err.Error(), tt.says)) {
				t.Errorf("got %s %s %v, want %s with %q", r.Fate, r.Reason, r.Err, tt.fate, tt.says)
			}
			if r.Err != nil && s.Password != "" && (strings.Contains(r.Err.Error(), broker.Password) || strings.Contains(r.Err.Error(), "wrong\"")) {
				t.Errorf("the error tells the password: %v", r.Err)
			}
		})
	}
}
