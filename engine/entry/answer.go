package entry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"text/template"
)

// Answer is what a client is told.
type Answer struct {
	Result string `json:"result"`           // queued, accepted, refused, unavailable or unknown
	ID     int64  `json:"id,omitempty"`     // of the row, 0 when none is known to be there
	Kind   string `json:"kind,omitempty"`   // of a message that can be decoded
	Detail string `json:"detail,omitempty"` // what is guaranteed, in words
	// Undecodable is why the message will come to nothing as things stand; it was taken all the same.
	Undecodable string `json:"undecodable,omitempty"`
}

func refused(reason string) Answer {
	return Answer{Result: Refused, Detail: "nothing was written: " + reason}
}

// answers writes them, as JSON or by a template.
type answers struct {
	text *template.Template // nil for JSON
	kind string
}

func newAnswers(o Options) (*answers, error) {
	a := &answers{kind: o.AnswerType}
	if o.Answer == "" {
		a.kind = "application/json; charset=utf-8"
		return a, nil
	}
	var err error
	if a.text, err = template.New("msgx.compat.answer").Parse(o.Answer); err == nil {
		err = a.text.Execute(&bytes.Buffer{}, Answer{})
	}
	if err != nil {
		return nil, fmt.Errorf("msgx.compat.answer: %w, expected a template such as {{.Result}} {{.ID}} {{.Detail}}", err)
	}
	return a, nil
}

func (a *answers) write(w http.ResponseWriter, status int, answer Answer) {
	var body bytes.Buffer
	if a.text != nil {
		_ = a.text.Execute(&body, answer) // it has been tried, and a buffer takes anything
	} else {
		enc := json.NewEncoder(&body)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(answer) // numbers and texts always marshal
	}
	if a.kind != "" {
		w.Header().Set("Content-Type", a.kind)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes())
}
