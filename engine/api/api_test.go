package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestFacesOfARunningInstance(t *testing.T) {
	reg := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "msgx_test_total", Help: "h"})
	reg.MustRegister(counter)
	counter.Inc()
	broken := errors.New("connection refused")
	var postgres error
	s, err := Listen("127.0.0.1:0", reg, []Check{
		{"postgres", func(context.Context) error { return postgres }},
		{"kafka", func(context.Context) error { return nil }},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.Show("/rules", func(context.Context) (any, error) { return map[string]string{"live": "<a>"}, postgres })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	base := "http://" + s.Address()

	if code, body := get(t, base+"/metrics"); code != 200 || !strings.Contains(body, "msgx_test_total 1") {
		t.Errorf("/metrics: got %d %q", code, body)
	}
	if code, _ := get(t, base+"/healthz"); code != 200 {
		t.Errorf("/healthz: got %d, want 200", code)
	}
	if code, body := get(t, base+"/readyz"); code != 200 || body != "postgres: ok\nkafka: ok\n" {
		t.Errorf("/readyz: got %d %q", code, body)
	}
	if code, body := get(t, base+"/rules"); code != 200 || body != "{\n  \"live\": \"<a>\"\n}\n" {
		t.Errorf("/rules: got %d %q", code, body)
	}
	postgres = broken
	if code, body := get(t, base+"/rules"); code != 503 || body != "connection refused\n" {
		t.Errorf("/rules with PostgreSQL away: got %d %q", code, body)
	}
	if code, body := get(t, base+"/readyz"); code != 503 || body != "postgres: connection refused\nkafka: ok\n" {
		t.Errorf("/readyz with PostgreSQL away: got %d %q", code, body)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: got %v, want nil after its context ended", err)
	}
}

func TestATakenAddressIsRefusedAtOnce(t *testing.T) {
	first, err := Listen("127.0.0.1:0", prometheus.NewRegistry(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.listener.Close() }()
	if _, err := Listen(first.Address(), prometheus.NewRegistry(), nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), first.Address()) {
		t.Errorf("got %v, want an error that names %s", err, first.Address())
	}
}
