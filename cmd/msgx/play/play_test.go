package play

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"msgx"
	"msgx/golden"
	"msgx/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// playground is a running server over a rule set and a corpus of its own.
type playground struct {
	*Server
	t      *testing.T
	dir    string // rule set directory
	golden string
}

// gatesFile is the script that tests edit.
const gatesFile = "rules/flop-gtdt@1.lua"

// gatesText is its text: that of the rule set, with lines that stay where they are.
const gatesText = `-- The gate allocations of a flight.

local merge = require("merge")

return {
  kind   = "FLOP-GTDT",
  writes = { "GTDT" },
  decide = function(view, msg)
    return merge.flop(view, msg, { GTDT = merge.replace })
  end,
}
`

// start serves; change may alter the options first.
func start(t *testing.T, change ...func(*Options)) *playground {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	p := &playground{t: t, dir: t.TempDir(), golden: t.TempDir()}
	if err := os.CopyFS(p.dir, msgx.Files); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, gatesFile), []byte(gatesText), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(p.golden, golden.Corpus); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Catalogue: cat, Rules: os.DirFS(p.dir), Dir: p.dir, Golden: p.golden, Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
		NewVersion: func(script string, _ int, text []byte, _ bool) (string, error) {
			file := "rules/" + script + "@2.lua"
			return file, os.WriteFile(filepath.Join(p.dir, file), text, 0o600)
		},
	}
	for _, c := range change {
		c(&o)
	}
	if p.Server, err = Listen(o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return p
}

// readOnly is the rule set and the corpus of the binary.
func readOnly(o *Options) { o.Rules, o.Dir, o.Golden = msgx.Files, "", "" }

// do sends a request; change may alter it first.
func (p *playground) do(method, path string, body []byte, change ...func(*http.Request)) (int, http.Header, string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.Address()+path, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

// ask posts a question and takes the answer of a status apart.
func ask[T any](p *playground, path string, question any, status int) T {
	p.t.Helper()
	body, err := json.Marshal(question)
	if err != nil {
		p.t.Fatal(err)
	}
	code, _, text := p.do(http.MethodPost, path, body)
	return answer[T](p, path, code, text, status)
}

func fetch[T any](p *playground, path string, status int) T {
	p.t.Helper()
	code, _, text := p.do(http.MethodGet, path, nil)
	return answer[T](p, path, code, text, status)
}

func answer[T any](p *playground, path string, code int, text string, status int) T {
	p.t.Helper()
	var out T
	if code != status {
		p.t.Fatalf("%s: found status %d, expected %d: %s", path, code, status, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		p.t.Fatalf("%s: %v in %s", path, err, text)
	}
	return out
}

// gates is a question about the case flop-gtdt; edit changes the script.
func (p *playground) gates(edit ...string) Question {
	p.t.Helper()
	source := strings.NewReplacer(edit...).Replace(gatesText)
	if len(edit) > 0 && source == gatesText {
		p.t.Fatalf("the edit %q changes nothing of\n%s", edit, gatesText)
	}
	return Question{File: gatesFile, Source: source, Input: fetch[Case](p, "api/case?name=flop-gtdt", http.StatusOK).Input}
}

func (p *playground) evaluated(q Question) Answer {
	p.t.Helper()
	return ask[Answer](p, "api/evaluate", q, http.StatusOK)
}

func (p *playground) onDisk(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}
