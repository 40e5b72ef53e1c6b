package play

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"msgx/engine/nearest"
	"msgx/engine/rulebook"
	"msgx/engine/rulebook/declaration"
	"msgx/golden"
)

// Lists is what there is to choose from.
type Lists struct {
	Files []string `json:"files"`
	Cases []string `json:"cases"`
}

func (s *Server) lists(*http.Request) (any, error) { return s.listed() }

func (s *Server) listed() (*Lists, error) {
	files, err := s.rules.list()
	if err != nil {
		return nil, err
	}
	cases, err := golden.Names(s.corpus())
	if err != nil {
		return nil, err
	}
	return &Lists{Files: files, Cases: append([]string{}, cases...)}, nil
}

func (s *Server) corpus() fs.FS {
	if s.golden == "" {
		return golden.Corpus
	}
	return os.DirFS(s.golden)
}

// Case is a golden case, to be edited.
type Case struct {
	Name  string   `json:"name"`
	Input Input    `json:"input"`
	Files []string `json:"files"` // scripts that decide its messages, as the rule set lies there
}

func (s *Server) openCase(r *http.Request) (any, error) {
	name := r.FormValue("name")
	names, err := golden.Names(s.corpus())
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, name) {
		return nil, refuse(http.StatusNotFound, "none of %d cases is named %q%s", len(names), name, nearest.Hint(name, names))
	}
	data, err := fs.ReadFile(s.corpus(), path.Join("cases", name+".txtar"))
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", name, err)
	}
	out := &Case{Name: name, Input: inputOf(txtar.Parse(data)), Files: []string{}}
	done, err := s.take(r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	out.Files, err = s.decidedBy(&out.Input)
	return out, err
}

func inputOf(a *txtar.Archive) Input {
	in := Input{Comment: string(a.Comment), Messages: []Document{}}
	for _, f := range a.Files {
		switch {
		case f.Name == statePart:
			in.State = string(f.Data)
		case strings.HasSuffix(f.Name, ".xml"):
			in.Messages = append(in.Messages, Document{f.Name, string(f.Data)})
		default:
			in.Expect = &Document{f.Name, string(f.Data)}
		}
	}
	return in
}

// decidedBy lists the scripts that decide an input, in the order of its messages. Of what does not load
// or read there is none: opening it shows why.
func (s *Server) decidedBy(in *Input) ([]string, error) {
	out := []string{}
	c, faults, err := s.parse(in)
	if err != nil || len(faults) > 0 {
		return out, err
	}
	got, err := c.Replay(s.catalogue, func(settings rulebook.Settings) (*rulebook.Rulebook, error) {
		return rulebook.Load(s.rules.files, s.catalogue, settings, s.limits)
	})
	if err != nil {
		return out, nil //nolint:nilerr // evaluating it says what is wrong
	}
	for _, r := range got.Results {
		if r.Settlement.Script == "" {
			continue
		}
		if file := path.Join(declaration.ScriptFolder, r.Settlement.Script+".lua"); !slices.Contains(out, file) {
			out = append(out, file)
		}
	}
	return out, nil
}

// NewCase asks for a golden case of the input; what it expects is what the rules make of it.
type NewCase struct {
	Question
	Name    string `json:"name"`
	Comment string `json:"comment"` // what it shows
}

// Composed is the text of a case, and where it lies.
type Composed struct {
	Text string `json:"text"`
	File string `json:"file"` // "" when it has not been filed
}

// caseName is how cases are named.
var caseName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (s *Server) composeCase(r *http.Request, q NewCase) (any, error) {
	text, err := s.compose(r, &q)
	if err != nil {
		return nil, err
	}
	return &Composed{Text: text}, nil
}

func (s *Server) compose(r *http.Request, q *NewCase) (string, error) {
	if !caseName.MatchString(q.Name) {
		return "", refuse(http.StatusBadRequest, "found the name %q, expected small letters, digits and hyphens, such as gate-change-twice", q.Name)
	}
	if !slices.ContainsFunc(strings.Split(q.Comment, "\n"), said) {
		return "", refuse(http.StatusBadRequest, "found no comment, expected a sentence on what the case shows")
	}
	done, err := s.take(r.Context())
	if err != nil {
		return "", err
	}
	defer done()
	rules, _, _, err := s.rules.drafted(q.File, q.Source)
	if err != nil {
		return "", err
	}
	q.Input.Expect = nil
	c, faults, err := s.parse(&q.Input)
	if err != nil {
		return "", err
	}
	if len(faults) > 0 {
		return "", refuse(http.StatusBadRequest, "%s, line %d: %s", faults[0].Part, faults[0].Line, faults[0].Text)
	}
	text, err := golden.Compose(golden.Options{Catalogue: s.catalogue, Rules: rules, Limits: s.limits, Dir: s.golden}, golden.Draft{
		Name: q.Name, Comment: q.Comment, Settings: c.Settings, Before: c.Before(), Messages: c.Messages(),
	})
	if err != nil {
		return "", refuse(http.StatusBadRequest, "%v", err)
	}
	return string(text), nil
}

func (s *Server) saveCase(r *http.Request, q NewCase) (any, error) {
	if s.golden == "" {
		return nil, refuse(http.StatusForbidden, "the corpus is the one inside the binary, and cannot be added to; start msgx rules play with --golden and a golden directory, or copy the text")
	}
	text, err := s.compose(r, &q)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.golden)
	if err != nil {
		return nil, fmt.Errorf("save case: %w", err)
	}
	defer root.Close() //nolint:errcheck // what was written is closed by itself
	file := path.Join("cases", q.Name+".txtar")
	out, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, refuse(http.StatusConflict, "there is a case %s already; nothing is saved. Choose another name", q.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("save case: %w", err)
	}
	if _, err := out.WriteString(text); err != nil {
		return nil, errors.Join(fmt.Errorf("save case: %w", err), out.Close(), root.Remove(file))
	}
	if err := out.Close(); err != nil {
		return nil, fmt.Errorf("save case: %w", err)
	}
	return &Composed{Text: text, File: filepath.Join(s.golden, filepath.FromSlash(file))}, nil
}
