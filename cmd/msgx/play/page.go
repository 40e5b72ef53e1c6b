package play

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
)

//go:embed assets/page assets/codemirror
var embedded embed.FS

// assets are the scripts and styles of the page. Everything is in the binary.
var assets = http.FileServerFS(embedded)

// words are all texts of the page, by key: for the template, and as JSON for its scripts.
var words = func() map[string]string {
	data, err := fs.ReadFile(embedded, "assets/page/words.json")
	if err != nil {
		panic(err) // it is embedded
	}
	out := map[string]string{}
	if err := json.Unmarshal(data, &out); err != nil {
		panic(fmt.Sprintf("words.json: %v", err)) // a test reads it
	}
	return out
}()

func word(key string) (string, error) {
	text, ok := words[key]
	if !ok {
		return "", fmt.Errorf("words.json has no %q", key)
	}
	return text, nil
}

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{"word": word}).ParseFS(embedded, "assets/page/page.html"))

// view is what the template gets.
type view struct {
	*Lists
	Nonce     string
	Words     map[string]string
	Place     string // of the rule set
	ReadOnly  bool
	CanFile   bool // cases can be added to the corpus
	Libraries []string
}

// libraries are the parts of the editor, in the order in which they need each other.
var libraries = []string{"codemirror", "matchbrackets", "active-line", "searchcursor", "comment", "lua", "xml", "yaml"}

func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	lists, err := s.listed()
	if err != nil {
		s.write(w, r, nil, err)
		return
	}
	v := view{
		Lists: lists, Nonce: rand.Text(), Words: words, Place: s.rules.place(), ReadOnly: s.rules.dir == "", CanFile: s.golden != "", Libraries: libraries,
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, v); err != nil {
		s.write(w, r, nil, fmt.Errorf("page: %w", err))
		return
	}
	// Scripts are those with the nonce, and what they import; the editor sets styles
	// through the object model, which no policy counts as inline.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+v.Nonce+"'; style-src 'self'; "+
		"connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out.Bytes()) // a browser that has gone wants nothing
}
