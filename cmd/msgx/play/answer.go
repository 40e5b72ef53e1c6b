package play

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
)

// maxRequest bounds what a request may carry: a script, a state and messages.
const maxRequest = 4 << 20

// refusal is an error that is the asker's to mend; its text says how.
type refusal struct {
	Status int    `json:"-"`
	Text   string `json:"error"`
	Digest string `json:"digest,omitempty"` // of a conflict: of what is on disk
}

func (r *refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) error {
	return &refusal{Status: status, Text: fmt.Sprintf(format, args...)}
}

// read takes the JSON of a request apart; what it does not know it refuses.
func read[T any](w http.ResponseWriter, r *http.Request) (T, error) {
	var question T
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return question, refuse(http.StatusUnsupportedMediaType, "found Content-Type %q, expected application/json", r.Header.Get("Content-Type"))
	}
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	in.DisallowUnknownFields()
	err := in.Decode(&question)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return question, refuse(http.StatusRequestEntityTooLarge, "the request is larger than %d bytes", large.Limit)
	case err != nil:
		return question, refuse(http.StatusBadRequest, "the request is not what the page sends: %v", err)
	}
	return question, nil
}

// get makes a handler of what answers without a body.
func (s *Server) get(answer func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		got, err := answer(r)
		s.write(w, r, got, err)
	}
}

// post makes a handler of what answers a question.
func post[T any](s *Server, answer func(r *http.Request, question T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		question, err := read[T](w, r)
		if err != nil {
			s.write(w, r, nil, err)
			return
		}
		got, err := answer(r, question)
		s.write(w, r, got, err)
	}
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, answer any, err error) {
	status := http.StatusOK
	var no *refusal
	switch {
	case errors.As(err, &no):
		status, answer = no.Status, no
	case err != nil && r.Context().Err() != nil:
		return // nobody listens any more
	case err != nil:
		s.log.Error("play: request failed", "path", r.URL.Path, "error", err)
		status, answer = http.StatusInternalServerError, &refusal{Text: err.Error()}
	}
	data, err := json.Marshal(answer)
	if err != nil {
		s.log.Error("play: answer", "path", r.URL.Path, "error", err)
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a page that has gone wants nothing
}
