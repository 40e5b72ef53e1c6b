package play

import (
	"errors"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"msgx/engine/rulebook/declaration"
)

// File is a file of the rule set, and its text. Digest goes back with the save.
type File struct {
	Name     string   `json:"name"`
	Text     string   `json:"text"`
	Digest   string   `json:"digest"`
	Standing Standing `json:"standing"`
	Instead  string   `json:"instead"`
}

func (s *Server) openFile(r *http.Request) (any, error) {
	name := r.FormValue("name")
	text, digest, err := s.rules.read(name)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, refuse(http.StatusUnprocessableEntity, "%s is not UTF-8, and would not be saved as it is; expected UTF-8", name)
	}
	_, standing, instead, err := s.rules.drafted(name, string(text))
	if err != nil {
		return nil, err
	}
	return &File{Name: name, Text: string(text), Digest: digest, Standing: standing, Instead: instead}, nil
}

// Save asks to put a text in the place of a file that has the digest Base.
type Save struct {
	File   string `json:"file"`
	Source string `json:"source"`
	Base   string `json:"base"`
}

// Saved is the file as it is now.
type Saved struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
}

func (s *Server) saveFile(_ *http.Request, q Save) (any, error) {
	digest, err := s.rules.save(q.File, q.Source, q.Base)
	if err != nil {
		return nil, err
	}
	return &Saved{q.File, digest}, nil
}

// Version asks to file a text as the next version of a script.
type Version struct {
	File   string `json:"file"` // the version that it was made from
	Source string `json:"source"`
	Use    bool   `json:"use"` // have handlers.lua name it
}

func (s *Server) saveVersion(_ *http.Request, q Version) (any, error) {
	if err := errors.Join(known(q.File), s.rules.writable()); err != nil {
		return nil, err
	}
	if path.Dir(q.File) != declaration.ScriptFolder {
		return nil, refuse(http.StatusBadRequest, "%s has no versions; only scripts do", q.File)
	}
	s.rules.lock.Lock()
	defer s.rules.lock.Unlock()
	script, from := declaration.Split(strings.TrimSuffix(path.Base(q.File), ".lua"))
	file, err := s.newVersion(script, from, []byte(q.Source), q.Use)
	if err != nil {
		return nil, refuse(http.StatusConflict, "%v", err)
	}
	return &Saved{file, digestOf([]byte(q.Source))}, nil
}
