package entry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"msgx/engine/clock"
	"msgx/engine/fault"
	"msgx/engine/message"
)

// The results of a request.
const (
	Queued      = "queued"
	Accepted    = "accepted"
	Refused     = "refused"
	Unavailable = "unavailable"
	Unknown     = "unknown"
)

const (
	// places is how many messages are in hand at once: the inbox and the back-fill need the mailbox too.
	places       = 4
	placeWait    = 5 * time.Second
	enqueueBound = 5 * time.Second
)

// Mailbox is the shared mailbox. Characters tells whether its body column holds text.
type Mailbox interface {
	Characters(ctx context.Context) (bool, error)
	Insert(ctx context.Context, body []byte, meta message.Meta, at time.Time) (int64, error)
}

// Decoder reads messages.
type Decoder interface {
	Text(body []byte, charset string) ([]byte, error)
	Decode(raw message.Raw) (*message.Message, error)
}

// Parts are what the entry works with.
type Parts struct {
	// Mailbox returns nil until the mailbox was reached once.
	Mailbox func() Mailbox
	Decoder Decoder
	// Enqueue makes a row of the mailbox a record, if this instance is the active one and the row is beyond the watermark.
	Enqueue  func(ctx context.Context, msgID int64, received, at time.Time) error
	Wake     func() // says to the inbox that there is a row; must not block
	Clock    clock.Clock
	Log      *slog.Logger
	Registry prometheus.Registerer
}

// Entry is the handler of the path.
type Entry struct {
	parts    Parts
	options  Options
	guard    guard
	answers  *answers
	places   chan struct{}
	requests *prometheus.CounterVec
}

// New prepares the entry; its error names the setting at fault.
func New(p Parts, o Options) (*Entry, error) {
	g, err := newGuard(o)
	if err != nil {
		return nil, err
	}
	a, err := newAnswers(o)
	if err != nil {
		return nil, err
	}
	e := &Entry{parts: p, options: o, guard: g, answers: a, places: make(chan struct{}, places),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "msgx_entry_requests_total",
			Help: "Requests to the compatible entry by what was answered."}, []string{"result"})}
	if p.Registry != nil {
		if err := p.Registry.Register(e.requests); err != nil {
			return nil, fmt.Errorf("entry: metrics: %w", err)
		}
	}
	for _, result := range []string{Queued, Accepted, Refused, Unavailable, Unknown} {
		e.requests.WithLabelValues(result)
	}
	return e, nil
}

// ServeHTTP takes one message.
func (e *Entry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, answer := e.take(w, r)
	e.requests.WithLabelValues(answer.Result).Inc()
	level := slog.LevelDebug
	if answer.Result != Queued {
		level = slog.LevelInfo
	}
	e.parts.Log.Log(r.Context(), level, "entry: message "+answer.Result, "msg_id", answer.ID, "from", r.RemoteAddr, "detail", answer.Detail)
	e.answers.write(w, status, answer)
}

func (e *Entry) take(w http.ResponseWriter, r *http.Request) (int, Answer) {
	if status, reason := e.guard.refuses(r); status != 0 {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		return status, refused(reason)
	}
	charset, reason := charsetOf(r.Header)
	if reason != "" {
		return http.StatusUnsupportedMediaType, refused(reason)
	}
	leave, ok := e.enter(r.Context())
	if !ok {
		w.Header().Set("Retry-After", "1")
		return http.StatusServiceUnavailable, Answer{Result: Unavailable, Detail: "too many messages at once; nothing was written, repeat it"}
	}
	defer leave()
	body, status, reason := e.read(w, r)
	if status != 0 {
		return status, refused(reason)
	}
	text, err := e.parts.Decoder.Text(body, charset)
	if err != nil {
		status := http.StatusBadRequest
		var classed interface{ ErrorClass() message.ErrorClass }
		if errors.As(err, &classed) && classed.ErrorClass() == message.CodecError {
			status = http.StatusUnsupportedMediaType
		}
		return status, refused(err.Error())
	}
	// A client that hangs up must not leave its message half way.
	return e.send(context.WithoutCancel(r.Context()), w, body, text)
}

// enter takes a place.
func (e *Entry) enter(ctx context.Context) (leave func(), ok bool) {
	leave = func() { <-e.places }
	select {
	case e.places <- struct{}{}:
		return leave, true
	default:
	}
	timer := e.parts.Clock.NewTimer(placeWait)
	defer timer.Stop()
	select {
	case e.places <- struct{}{}:
		return leave, true
	case <-timer.C():
	case <-ctx.Done():
	}
	return nil, false
}

// send does the two steps.
func (e *Entry) send(ctx context.Context, w http.ResponseWriter, body, text []byte) (int, Answer) {
	var answer Answer
	var meta message.Meta
	m, err := e.parts.Decoder.Decode(message.Raw{Body: text, Characters: true})
	if err != nil {
		answer.Undecodable = err.Error()
	} else {
		meta, answer.Kind = m.Meta, m.Kind
	}
	now := e.parts.Clock.Now()
	id, step, err := e.insert(ctx, body, text, meta, now)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		return e.notInserted(step, err)
	}
	answer.ID = id
	e.parts.Wake()
	bound, cancel := context.WithTimeout(ctx, enqueueBound)
	defer cancel()
	received := now.Truncate(time.Second) // as the mailbox keeps it
	if err := e.parts.Enqueue(bound, id, received, now); err != nil {
		answer.Result = Accepted
		answer.Detail = fmt.Sprintf("the message is row %d of the mailbox and not known to be enqueued yet; the inbox will enqueue it (%s)", id, briefly(err))
		return http.StatusAccepted, answer
	}
	answer.Result = Queued
	answer.Detail = fmt.Sprintf("the message is row %d of the mailbox and enqueued; it is decided when everything before it was", id)
	return http.StatusOK, answer
}

// insert does the first step; begun tells whether the row may be there in spite of an error.
func (e *Entry) insert(ctx context.Context, body, text []byte, meta message.Meta, at time.Time) (id int64, begun bool, err error) {
	box := e.parts.Mailbox()
	if box == nil {
		return 0, false, fmt.Errorf("%w: the mailbox was not reached yet", fault.ErrUnavailable)
	}
	characters, err := box.Characters(ctx)
	if err != nil {
		return 0, false, err
	}
	if !characters {
		text = e.bytes(body, text)
	}
	id, err = box.Insert(ctx, text, meta, at)
	return id, true, err
}

var mark = []byte("\xEF\xBB\xBF")

// bytes is what a column of bytes holds: the body as it came if it says by itself what it is, else marked UTF-8.
func (e *Entry) bytes(body, text []byte) []byte {
	if own, err := e.parts.Decoder.Text(body, ""); err == nil && bytes.Equal(own, text) {
		return body
	}
	return append(bytes.Clone(mark), text...)
}

func (e *Entry) notInserted(begun bool, err error) (int, Answer) {
	switch {
	case !begun:
		return http.StatusServiceUnavailable, Answer{Result: Unavailable, Detail: "the mailbox cannot be reached; nothing was written, repeat it"}
	case errors.Is(err, fault.ErrUnavailable):
		e.parts.Log.Warn("entry: the mailbox did not answer", "error", err)
		return http.StatusServiceUnavailable, Answer{Result: Unknown,
			Detail: "the mailbox did not answer: the row may be there or not. Repeat it: a second row of the same message is known by its identity and skipped"}
	}
	e.parts.Log.Warn("entry: the mailbox refused a row", "error", err)
	return http.StatusUnprocessableEntity, refused("the mailbox refused the row: " + briefly(err))
}

// briefly is an error's text as a client may see it.
func briefly(err error) string { return message.SafeText(err.Error(), 200) }
