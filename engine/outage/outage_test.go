package outage

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOneLineEachWay(t *testing.T) {
	var log bytes.Buffer
	o := Outage{Log: slog.New(slog.NewTextHandler(&log, nil)), Stage: "inbox", Server: "mailbox", Waits: []time.Duration{1, 2, 4}}
	o.Over()
	if log.Len() > 0 {
		t.Errorf("said something although nothing has happened: %s", log.String())
	}
	for range 2 {
		var waits []time.Duration
		for range 5 {
			waits = append(waits, o.Failed(errors.New("connection refused")))
		}
		if want := []time.Duration{1, 2, 4, 4, 4}; !slices.Equal(waits, want) {
			t.Errorf("waits: got %v, want %v", waits, want)
		}
		o.Over()
		o.Over()
	}
	text := log.String()
	if strings.Count(text, "server is away") != 2 || strings.Count(text, "server is back") != 2 || strings.Count(text, "failures=5") != 2 {
		t.Errorf("want one line each way for two outages:\n%s", text)
	}
}
