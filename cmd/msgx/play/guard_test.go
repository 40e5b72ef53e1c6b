package play

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestOnlyWhoHasTheAddressGetsIn: nothing is served without the token, to another name, or to a
// page of somebody else.
func TestOnlyWhoHasTheAddressGetsIn(t *testing.T) {
	p := start(t)
	at := func(path string) func(*http.Request) { return func(r *http.Request) { r.URL.Path = path } }
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	own, err := url.Parse(p.Address())
	if err != nil {
		t.Fatal(err)
	}
	save := []byte(`{"file": "rules/fdel@1.lua", "source": "x", "base": "x"}`)
	tests := []struct {
		name   string
		method string
		body   []byte
		change func(*http.Request)
		status int
		says   string
	}{
		{"the address", http.MethodGet, nil, at("/" + p.token + "/"), 200, "<title>"},
		{"no token", http.MethodGet, nil, at("/"), 403, "token"},
		{"another token", http.MethodGet, nil, at("/" + strings.Repeat("a", len(p.token)) + "/"), 403, "token"},
		{"the beginning of the token", http.MethodGet, nil, at("/" + p.token[:5] + "/"), 403, "token"},
		{"an asset without a token", http.MethodGet, nil, at("/assets/page/page.css"), 403, "token"},
		{"another name for this address", http.MethodGet, nil, host("evil.example:" + own.Port()), 403, "does not answer to this name"},
		{"localhost", http.MethodGet, nil, host("localhost:" + own.Port()), 200, "<title>"},
		{"a tunnel from another port", http.MethodGet, nil, host("127.0.0.1:1"), 200, "<title>"},
		{"a write from another page", http.MethodPost, save, header("Origin", "http://evil.example"), 403, "a page of somebody else"},
		{"a write from another port", http.MethodPost, save, header("Sec-Fetch-Site", "same-site"), 403, "a page of somebody else"},
		{"a write from our page", http.MethodPost, save, header("Origin", "http://"+own.Host), 409, "changed on disk"},
		{"a form", http.MethodPost, save, header("Content-Type", "text/plain"), 415, "application/json"},
		{"too much", http.MethodPost, append([]byte(`{"source": "`), bytes.Repeat([]byte("x"), maxRequest)...), header("X", ""), 413, "larger than"},
		{"an unknown field", http.MethodPost, []byte(`{"fiel": ""}`), header("X", ""), 400, "fiel"},
		{"another method", http.MethodDelete, nil, header("X", ""), 405, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := "api/file"
			if test.method == http.MethodGet {
				path = ""
			}
			status, _, text := p.do(test.method, path, test.body, test.change)
			if status != test.status || !strings.Contains(text, test.says) {
				t.Errorf("found %d %.200q, expected %d and %q", status, text, test.status, test.says)
			}
			if test.status == 403 && strings.Contains(text, p.token) {
				t.Errorf("the refusal gives the token away: %s", text)
			}
		})
	}
	if now := p.onDisk("rules/fdel@1.lua"); now == "x" {
		t.Error("a refused write was carried out")
	}
}

// TestThePolicyLetsOnlyOurScriptsRun: a nonce of its own for each answer, nothing inline, nothing from elsewhere.
func TestThePolicyLetsOnlyOurScriptsRun(t *testing.T) {
	p := start(t)
	nonce := regexp.MustCompile(`script-src 'nonce-([A-Z0-9]+)';`)
	seen := map[string]bool{}
	for range 2 {
		_, header, text := p.do(http.MethodGet, "", nil)
		policy := header.Get("Content-Security-Policy")
		m := nonce.FindStringSubmatch(policy)
		if m == nil || seen[m[1]] || strings.Contains(policy, "unsafe") || !strings.HasPrefix(policy, "default-src 'none'") {
			t.Fatalf("found policy %q, expected a new nonce and nothing unsafe", policy)
		}
		seen[m[1]] = true
		for _, tag := range regexp.MustCompile(`<script[^>]*>`).FindAllString(text, -1) {
			if !strings.Contains(tag, `nonce="`+m[1]+`"`) {
				t.Errorf("%s has not the nonce %s", tag, m[1])
			}
		}
		if found := regexp.MustCompile(`(?i)\s(on[a-z]+|style)=|https?://`).FindString(text); found != "" {
			t.Errorf("the page has %q: handlers and styles are in files, and nothing is elsewhere", found)
		}
	}
}

// TestHostileNamesAreText: a name of a case is shown, whatever it is.
func TestHostileNamesAreText(t *testing.T) {
	p := start(t)
	const name = `<img src=x onerror=alert(1)>"'`
	if err := os.WriteFile(p.golden+"/cases/"+name+".txtar", []byte("A case.\n-- 01-a.xml --\n<MSG/>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, text := p.do(http.MethodGet, "", nil)
	if status != 200 || strings.Contains(text, "<img") || !strings.Contains(text, "&lt;img src=x onerror=alert(1)&gt;") {
		t.Errorf("found %d, expected the name escaped", status)
	}
	if got := fetch[Case](p, "api/case?name="+url.QueryEscape(name), http.StatusOK); got.Name != name {
		t.Errorf("found case %q, expected %q", got.Name, name)
	}
}

// TestWhoeverGoesAwayWaitsNoLonger: one runs rules at a time.
func TestWhoeverGoesAwayWaitsNoLonger(t *testing.T) {
	s := &Server{turn: make(chan struct{}, 1)}
	done, err := s.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.take(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected that it is cancelled", err)
	}
	done()
	if done, err = s.take(t.Context()); err != nil {
		t.Errorf("found %v, expected its turn", err)
	}
	done()
}
