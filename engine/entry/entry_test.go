package entry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"msgx/engine/clock"
	"msgx/engine/codec"
	"msgx/engine/entry"
	"msgx/engine/fault"
	"msgx/engine/message"
	"msgx/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "a-token-of-32-characters-or-so"

const plain = `<MSG><META><SNDR>AODB</SNDR><SEQN>1</SEQN><DTTM>20260301080000</DTTM><TYPE>FLOP</TYPE><STYP>STND</STYP></META><FLOP><FLID>1</FLID><STND>12</STND></FLOP></MSG>`

// box is a mailbox that keeps bodies, and what it fails with.
type box struct {
	characters bool
	bodies     []string
	metas      []message.Meta
	err        error
}

func (b *box) Characters(context.Context) (bool, error) { return b.characters, nil }

func (b *box) Insert(_ context.Context, body []byte, meta message.Meta, _ time.Time) (int64, error) {
	if b.err != nil {
		return 0, b.err
	}
	b.bodies, b.metas = append(b.bodies, string(body)), append(b.metas, meta)
	return int64(len(b.bodies)), nil
}

type bench struct {
	box     *box
	enqueue error
	woken   int
}

func (b *bench) handler(t *testing.T, o entry.Options) http.Handler {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := codec.New(cat, codec.Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 4096
	}
	e, err := entry.New(entry.Parts{
		Mailbox: func() entry.Mailbox {
			if b.box == nil {
				return nil
			}
			return b.box
		},
		Decoder: decoder, Enqueue: func(context.Context, int64, time.Time, time.Time) error { return b.enqueue },
		Wake: func() { b.woken++ }, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func send(t *testing.T, h http.Handler, body string, headers ...string) (*httptest.ResponseRecorder, entry.Answer) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/cminmsgs/send", strings.NewReader(body))
	r.RemoteAddr = "10.1.2.3:4711"
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var a entry.Answer
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatalf("answer %q: %v", w.Body, err)
		}
	}
	return w, a
}

func TestAnswersPromiseWhatIsSo(t *testing.T) {
	for _, c := range []struct {
		name        string
		bench       bench
		body        string
		headers     []string
		status      int
		result      string
		rows, woken int
	}{
		{name: "both steps", bench: bench{box: &box{characters: true}}, status: 200, result: entry.Queued, rows: 1, woken: 1},
		{name: "not enqueued", bench: bench{box: &box{characters: true}, enqueue: fault.ErrFenced}, status: 202, result: entry.Accepted, rows: 1, woken: 1},
		{name: "commit in doubt", bench: bench{box: &box{characters: true}, enqueue: fault.ErrUnavailable}, status: 202, result: entry.Accepted, rows: 1, woken: 1},
		{name: "mailbox silent", bench: bench{box: &box{err: fmt.Errorf("insert: %w", fault.ErrUnavailable)}}, status: 503, result: entry.Unknown},
		{name: "mailbox refuses", bench: bench{box: &box{err: errors.New("data too long")}}, status: 422, result: entry.Refused},
		{name: "mailbox never reached", status: 503, result: entry.Unavailable},
		{name: "not a message", bench: bench{box: &box{characters: true}}, body: "<MSG>", status: 200, result: entry.Queued, rows: 1, woken: 1},
		{name: "empty", bench: bench{box: &box{}}, body: " \n", status: 400, result: entry.Refused},
		{name: "too large", bench: bench{box: &box{}}, body: plain + strings.Repeat(" ", 4096), status: 413, result: entry.Refused},
		{name: "charset unknown", bench: bench{box: &box{}}, headers: []string{"Content-Type: text/xml; charset=big5"}, status: 415, result: entry.Refused},
		{name: "not in its charset", bench: bench{box: &box{}}, body: "<a>\xff</a>", status: 400, result: entry.Refused},
		{name: "several parts", bench: bench{box: &box{}}, headers: []string{"Content-Type: multipart/form-data; boundary=x"}, status: 415, result: entry.Refused},
		{name: "compressed", bench: bench{box: &box{}}, headers: []string{"Content-Encoding: gzip"}, status: 415, result: entry.Refused},
		{name: "odd content type", bench: bench{box: &box{characters: true}}, headers: []string{"Content-Type: ;;"}, status: 200, result: entry.Queued, rows: 1, woken: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := c.body
			if body == "" {
				body = plain
			}
			w, a := send(t, c.bench.handler(t, entry.Options{Auth: entry.AuthNone}), body, c.headers...)
			rows := 0
			if c.bench.box != nil {
				rows = len(c.bench.box.bodies)
			}
			if w.Code != c.status || a.Result != c.result || rows != c.rows || c.bench.woken != c.woken || (a.ID != 0) != (c.rows > 0) {
				t.Errorf("got %d %+v, %d rows, woken %d times, want %d %s, %d rows, %d times", w.Code, a, rows, c.bench.woken, c.status, c.result, c.rows, c.woken)
			}
			if (a.Undecodable != "") != (c.name == "not a message") {
				t.Errorf("undecodable: %q", a.Undecodable)
			}
		})
	}
}

func TestWhoMaySend(t *testing.T) {
	token := entry.Options{Auth: entry.AuthToken, Token: secret}
	allow := func(list ...string) entry.Options { return entry.Options{Auth: entry.AuthAllowList, Allow: list} }
	for _, c := range []struct {
		name    string
		options entry.Options
		header  string
		status  int
	}{
		{"token", token, "Authorization: Bearer " + secret, 200},
		{"scheme in another case", token, "Authorization: bearer " + secret, 200},
		{"wrong token", token, "Authorization: Bearer " + secret + "x", 401},
		{"no token", token, "X: y", 401},
		{"another scheme", token, "Authorization: Basic " + secret, 401},
		{"address", allow("10.1.2.3"), "X: y", 200},
		{"prefix", allow("192.168.0.0/16", "10.1.0.0/16"), "X: y", 200},
		{"another address", allow("10.2.0.0/16"), "X-Forwarded-For: 10.2.0.1", 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bench{box: &box{characters: true}}
			w, _ := send(t, b.handler(t, c.options), plain, c.header)
			if w.Code != c.status || (len(b.box.bodies) > 0) != (c.status == 200) {
				t.Errorf("got %d and %d rows, want %d", w.Code, len(b.box.bodies), c.status)
			}
		})
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	for name, o := range map[string]entry.Options{
		"short token":   {Auth: entry.AuthToken, Token: "short"},
		"nobody":        {Auth: entry.AuthAllowList},
		"no address":    {Auth: entry.AuthAllowList, Allow: []string{"10.1"}},
		"no such mode":  {Auth: "basic"},
		"no template":   {Auth: entry.AuthNone, Answer: "{{.Result"},
		"unknown field": {Auth: entry.AuthNone, Answer: "{{.Nothing}}"},
	} {
		if _, err := entry.New(entry.Parts{}, o); err == nil || !strings.HasPrefix(err.Error(), "msgx.compat.") {
			t.Errorf("%s: got %v, want an error that names the parameter", name, err)
		}
	}
}

func TestAnswerByTemplate(t *testing.T) {
	b := bench{box: &box{characters: true}}
	w, _ := send(t, b.handler(t, entry.Options{Auth: entry.AuthNone, Answer: "<r>{{.Result}} {{.ID}}</r>", AnswerType: "text/xml"}), plain)
	if w.Body.String() != "<r>queued 1</r>" || w.Header().Get("Content-Type") != "text/xml" {
		t.Errorf("got %s %q", w.Header().Get("Content-Type"), w.Body)
	}
}

// What is stored is the text in a character column; in one of bytes, what says by itself how it is to be read.
func TestTextOfBodies(t *testing.T) {
	const declared = `<?xml version="1.0" encoding="GBK"?><MSG>`
	for _, c := range []struct{ name, contentType, body, text, bytes string }{
		{"UTF-8", "", "<m>航</m>", "<m>航</m>", "<m>航</m>"},
		{"a mark", "text/xml; charset=gbk", "\xEF\xBB\xBF<m>航</m>", "<m>航</m>", "\xEF\xBB\xBF<m>航</m>"},
		{"named", "text/plain;charset=GBK", "<m>\xba\xbd</m>", "<m>航</m>", "\xEF\xBB\xBF<m>航</m>"},
		{"declared", "text/plain", declared + "\xba\xbd", declared + "航", declared + "\xba\xbd"},
		{"named and declared", "text/plain; charset=gb2312", declared + "\xba\xbd", declared + "航", declared + "\xba\xbd"},
		{"named against the declaration", "text/xml; charset=utf-8", declared + "航空", declared + "航空", "\xEF\xBB\xBF" + declared + "航空"},
		{"a name by default", "text/plain; charset=ISO-8859-1", declared + "\xba\xbd", declared + "航", declared + "\xba\xbd"},
	} {
		for _, characters := range []bool{true, false} {
			b := bench{box: &box{characters: characters}}
			w, a := send(t, b.handler(t, entry.Options{Auth: entry.AuthNone}), c.body, "Content-Type: "+c.contentType)
			want := map[bool]string{true: c.text, false: c.bytes}[characters]
			if w.Code != 200 || len(b.box.bodies) != 1 || b.box.bodies[0] != want {
				t.Errorf("%s, characters %v: got %d %+v %q, want %q", c.name, characters, w.Code, a, b.box.bodies, want)
			}
		}
	}
}
