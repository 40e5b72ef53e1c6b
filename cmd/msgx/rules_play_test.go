package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"msgx"
)

func TestRulesPlayIsForThisMachineUnlessToldOtherwise(t *testing.T) {
	empty := t.TempDir()
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"every address", []string{"--listen", ":0"}, "--unsafe-listen"},
		{"an address of the network", []string{"--listen", "192.0.2.1:0"}, "--unsafe-listen"},
		{"a name", []string{"--listen", "example.com:0"}, "--unsafe-listen"},
		{"no port", []string{"--listen", "127.0.0.1"}, "127.0.0.1:8090"},
		{"no rule set", []string{"--dir", empty}, "found no rule set in " + empty},
		{"no corpus", []string{"--golden", empty}, "found no cases in " + empty},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := run(append([]string{"rules", "play"}, test.args...)...)
			if r.code != exitUsage || !strings.Contains(r.err, test.want) {
				t.Errorf("found exit %d and %q, expected %d and %q", r.code, r.err, exitUsage, test.want)
			}
		})
	}
}

// TestRulesPlayServesUntilItIsTold: it prints its address, answers there, files a new version, and ends well.
func TestRulesPlayServesUntilItIsTold(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, msgx.Files); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	read, out := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"rules", "play", "--dir", dir}, strings.NewReader(""), out, &errs)
		_ = out.Close()
	}()
	var said strings.Builder
	address := ""
	for lines := bufio.NewScanner(read); address == "" && lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/`).FindString(lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	if address == "" || !strings.Contains(said.String(), dir+" (saved there)") {
		t.Fatalf("found %q, %q, expected where the rules are and the address", said.String(), errs.String())
	}
	body := `{"file": "rules/flop-gtdt@1.lua", "source": "-- new\n", "use": true}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"api/version", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(answer), "rules/flop-gtdt@2.lua") {
		t.Fatalf("found %d %s, %v, expected version 2", response.StatusCode, answer, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "rules/flop-gtdt@2.lua"))
	if err != nil || string(text) != "-- new\n" {
		t.Errorf("found %q, %v, expected the text of the page", text, err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "handlers.lua"))
	if err != nil || !strings.Contains(string(manifest), `"flop-gtdt@2"`) {
		t.Errorf("found %v and\n%s\nexpected handlers.lua to name version 2", err, manifest)
	}
	stop()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("found exit %d, %q, expected %d", code, errs.String(), 0)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}
}
