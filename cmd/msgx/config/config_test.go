package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDefaultsAreComplete(t *testing.T) {
	c, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Identity.Memory, 30*24*time.Hour; got != want {
		t.Errorf("identity.memory: got %s, want %s", got, want)
	}
	// Every field has a parameter and every parameter a field, else one of
	// them is a dead letter.
	var fields []string
	for _, line := range c.Shown() {
		key, _, _ := strings.Cut(line, "=")
		fields = append(fields, strings.TrimPrefix(key, prefix))
	}
	known := map[string]bool{}
	for _, p := range Parameters() {
		known[p.Key] = true
	}
	for _, f := range fields {
		if !known[f] {
			t.Errorf("field %s has no parameter", f)
		}
		delete(known, f)
	}
	for key := range known {
		t.Errorf("parameter %s has no field", key)
	}
}

func TestTheLaterSourceWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "msgx.yaml")
	body := "msgx:\n  pipeline:\n    claim-batch: 7\n    poll-interval: 3s\n  kafka:\n    brokers: [a:1, b:2]\n"
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{File: path, Env: []string{"MSGX_PIPELINE_CLAIM_BATCH=8", "MSGX_KAFKA_BROKERS=c:3,d:4", "PATH=/bin", "MSGX_STACK_DIR=/x"},
		Set: []string{"pipeline.claim-batch=9", "pipeline.backoff=10ms, 1s,2s,3s"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Pipeline.ClaimBatch != 9 || c.Pipeline.PollInterval != 3*time.Second || len(c.Kafka.Brokers) != 2 || c.Kafka.Brokers[0] != "c:3" ||
		len(c.Pipeline.Backoff) != 4 || c.Pipeline.Backoff[1] != time.Second {
		t.Errorf("got claim-batch %d, poll-interval %s, brokers %v", c.Pipeline.ClaimBatch, c.Pipeline.PollInterval, c.Kafka.Brokers)
	}
}

func TestFaultsAreReportedTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		set, env []string
		want     []string
	}{
		"unknown key":         {set: []string{"pipeline.pol-interval=1s"}, want: []string{"unknown key msgx.pipeline.pol-interval", "did you mean msgx.pipeline.poll-interval?"}},
		"unknown environment": {env: []string{"MSGX_PIPELINE_R_KEP=1d"}, want: []string{"MSGX_PIPELINE_R_KEP names no parameter", "MSGX_PIPELINE_R_KEEP"}},
		"tiers":               {set: []string{"pipeline.max-attempts=3"}, want: []string{"backoff has 4 tiers", "= 2"}},
		"r beyond keep":       {set: []string{"pipeline.r=8d"}, want: []string{"msgx.pipeline.r is 192h0m0s", "r-keep = 168h0m0s"}},
		"memory":              {set: []string{"identity.memory=1d"}, want: []string{"msgx.identity.memory is 24h0m0s"}},
		"request":             {set: []string{"kafka.request-timeout=11s"}, want: []string{"msgx.kafka.request-timeout is 11s", "msgx.lease.duration = 10s"}},
		"zone":                {set: []string{"airport.zone=Mars/Olympus"}, want: []string{`"Mars/Olympus"`}},
		"no zone":             {set: []string{"airport.zone="}, want: []string{"msgx.airport.zone is \"\""}},
		"the machine's zone":  {set: []string{"airport.zone=Local"}, want: []string{`"Local"`}},
		"cut-over":            {set: []string{"pipeline.cutover-watermark=foo"}, want: []string{`"foo"`, "min, zero, max or an id"}},
		"negative cut-over":   {set: []string{"pipeline.cutover-watermark=-3"}, want: []string{`"-3"`}},
		"one topic for both":  {set: []string{"kafka.msg-topic=a", "kafka.schd-topic=a"}, want: []string{`both "a"`}},
		"word":                {set: []string{"schd.absent-optional=maybe"}, want: []string{"expected one of keep, clear"}},
		"not a duration":      {set: []string{"pipeline.r=soon"}, want: []string{`"soon" is not a duration`}},
		"bare number":         {set: []string{"lease.duration=10"}, want: []string{`"10" is not a duration`}},
		"negative":            {set: []string{"pipeline.late-window=-1s"}, want: []string{"expected 0s or more"}},
		"small":               {set: []string{"pipeline.claim-batch=0"}, want: []string{"msgx.pipeline.claim-batch is 0, expected at least 1"}},
		"not a number":        {set: []string{"pipeline.claim-batch=many"}, want: []string{`configuration: msgx.pipeline.claim-batch: found "many", expected a whole number`}},
		"not yes or no":       {set: []string{"pipeline.autostart=maybe"}, want: []string{`configuration: msgx.pipeline.autostart: found "maybe", expected true or false`}},
		"not durations":       {set: []string{"pipeline.backoff=1s 2s"}, want: []string{`configuration: msgx.pipeline.backoff[0]: "1s 2s" is not a duration`}},
		"two that do not fit": {set: []string{"pipeline.claim-batch=x", "pipeline.r=y"}, want: []string{"msgx.pipeline.claim-batch: found", "msgx.pipeline.r: "}},
		"no time to look":     {set: []string{"rules.watch-interval=0s", "rules.shadow-time=0s"}, want: []string{"msgx.rules.watch-interval is 0s", "msgx.rules.shadow-time is 0s"}},
		"never replayed":      {set: []string{"replay.classes=INFRA, PROTOCOL"}, want: []string{`msgx.replay.classes[1] is "PROTOCOL", expected one of CODEC_ERROR`}},
		"two at once":         {set: []string{"pipeline.claim-batch=0", "log.level=loud"}, want: []string{"claim-batch", "log.level"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(Sources{Set: tc.set, Env: tc.env})
			if err == nil {
				t.Fatal("got no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q\nwant it to contain %q", err, want)
				}
			}
		})
	}
}

func TestServeNeedsAddressesAndTheOwnersBound(t *testing.T) {
	c, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(c.CheckServe()); got != 4 {
		t.Errorf("got %d faults, want 4: %v", got, c.CheckServe())
	}
}

// A secret may lie in a file, as those who run it are given it.
func TestSecretsFromFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c, err := Load(Sources{Set: []string{"postgres.url=file:" + write("url", "postgres://u:hunter2@h/db\n"),
		"kafka.sasl=PLAIN", "kafka.user=u", "kafka.password=file:" + write("password", "hunter2\n")}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Postgres.URL != "postgres://u:hunter2@h/db" || c.Kafka.Password != "hunter2" {
		t.Errorf("got %q and %q, want what is in the files", c.Postgres.URL, c.Kafka.Password)
	}
	if all := strings.Join(c.Shown(), "\n"); strings.Contains(all, "hunter2") {
		t.Errorf("a secret is shown:\n%s", all)
	}
	for path, want := range map[string]string{filepath.Join(dir, "none"): "msgx.mailbox.dsn: open ", write("empty", " \n"): "msgx.mailbox.dsn: the file is empty"} {
		if _, err := Load(Sources{Set: []string{"mailbox.dsn=file:" + path}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

func TestBrokerSecurityIsWhole(t *testing.T) {
	for _, tt := range []struct{ set, want string }{
		{"kafka.ca-file=x", "msgx.kafka.tls is false, expected true"},
		{"kafka.tls=true,kafka.cert-file=x", "expected both or none"},
		{"kafka.sasl=PLAIN,kafka.user=u", "expected msgx.kafka.user and msgx.kafka.password with it"},
		{"kafka.password=x", "and none without"},
		{"kafka.sasl=GSSAPI,kafka.user=u,kafka.password=p", "expected one of"},
	} {
		if _, err := Load(Sources{Set: strings.Split(tt.set, ",")}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.set, err, tt.want)
		}
	}
}

func TestSecretsAreHidden(t *testing.T) {
	c, err := Load(Sources{Set: []string{"postgres.url=postgres://u:hunter2@h/db?password=hunter2", "mailbox.dsn=m:hunter2@p@tcp(h:3306)/db?x=hunter2",
		"kafka.sasl=PLAIN", "kafka.user=u", "kafka.password=hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(c.Shown(), "\n")
	if strings.Contains(all, "hunter2") {
		t.Errorf("a secret is shown:\n%s", all)
	}
	for _, want := range []string{"postgres://u:xxxxx@h/db", "m:xxxxx@tcp(h:3306)/db"} {
		if !strings.Contains(all, want) {
			t.Errorf("want %s in:\n%s", want, all)
		}
	}
}
