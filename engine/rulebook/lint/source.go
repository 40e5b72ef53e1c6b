package lint

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"msgx/engine/rulebook/declaration"
	"msgx/engine/rulebook/syntax"
)

// maxFile is the size up to which a file is read; the loader refuses a larger one.
const maxFile = 256 << 10

// place is where something stands, counted in bytes from 1.
type place = declaration.Place

// source is one Lua file. Its tree is nil when it does not parse.
type source struct {
	name    string
	text    string
	lines   []string
	chunk   []ast.Stmt
	places  *syntax.Places
	file    *file             // once it has been checked
	exports *exports          // of a library, once asked for
	words   map[wordKey]place // once asked for
}

const (
	manifestFile = declaration.ManifestFile
	scriptFolder = declaration.ScriptFolder
	libFolder    = scriptFolder + "/lib"
)

// read parses every Lua file that a rule set consists of.
func (s *set) read(fsys fs.FS) error {
	names := []string{manifestFile}
	for _, dir := range []string{scriptFolder, libFolder} {
		entries, err := fs.ReadDir(fsys, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if !e.IsDir() && strings.HasSuffix(e.Name(), ".lua") && !strings.HasPrefix(e.Name(), ".") {
				names = append(names, path.Join(dir, e.Name()))
			}
		}
	}
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil || len(data) > maxFile {
			continue // the loader reports it
		}
		s.sources[name] = parsed(name, string(data))
	}
	return nil
}

// parsed reads a text. The parser reports what it does not understand, and panics on some.
func parsed(name, text string) (src *source) {
	src = &source{name: name, text: text, lines: strings.Split(text, "\n")}
	defer func() {
		if recover() != nil { // the loader reports it
			src.chunk = nil
		}
	}()
	chunk, err := parse.Parse(strings.NewReader(text), name)
	if err != nil {
		return src
	}
	if chunk == nil {
		chunk = []ast.Stmt{}
	}
	src.places = syntax.Locate(text, chunk)
	src.chunk = chunk
	return src
}

func (s *source) isScript() bool {
	return path.Dir(s.name) == scriptFolder
}

// at is where a node begins.
func (s *source) at(node ast.PositionHolder) place {
	p := s.places.Of(node)
	return place{Line: p.Line, Column: p.Column}
}

// nameAt is where the n-th name of a node stands.
func (s *source) nameAt(node ast.PositionHolder, n int) place {
	p := s.places.Name(node, n)
	return place{Line: p.Line, Column: p.Column}
}

// line is the text of a line, from 1.
func (s *source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	return strings.TrimRight(s.lines[n-1], "\r")
}

// locate gives a finding its place, in characters, and the line.
func (s *source) locate(f *Finding, at place) {
	if at.Line < 1 || at.Line > len(s.lines) {
		return
	}
	line := s.line(at.Line)
	column := min(at.Column, len(line)+1)
	if column < 1 {
		column = len(line) - len(strings.TrimLeft(line, " \t")) + 1
	}
	f.Line, f.Column = at.Line, utf8.RuneCountInString(line[:column-1])+1
	marked := word(line[column-1:])
	f.Width = min(utf8.RuneCountInString(marked), maxShown)
	// Of a line that no screen shows, the part around the finding.
	from, to := 0, len(line)
	if to > 2*maxShown {
		from, to = max(0, column-1-maxShown), min(to, column-1+maxShown)
	}
	f.Source = strings.ToValidUTF8(line[from:to], "�")
	f.before = strings.ToValidUTF8(line[from:column-1], "�")
}

// maxShown is how much of a line is shown on each side of a finding, in bytes.
const maxShown = 200

// word is the name, the string or the sign that a text begins with.
func word(text string) string {
	if text == "" {
		return " "
	}
	if q := text[0]; q == '"' || q == '\'' {
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case q:
				return text[:i+1]
			}
		}
		return text
	}
	end := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	switch {
	case end < 0:
		return text
	case end > 0:
		return text[:end]
	}
	_, size := utf8.DecodeRuneInString(text)
	return text[:size]
}

// wordAt is where a word stands on a line, as a name or a string; on line 0, anywhere.
func (s *source) wordAt(line int, text string) place {
	if text == "" || s.chunk == nil {
		return place{Line: line}
	}
	if s.words == nil {
		s.words = map[wordKey]place{}
		syntax.Inspect(s.chunk, func(node ast.PositionHolder, _ []ast.PositionHolder) bool {
			switch node.(type) {
			case *ast.IdentExpr, *ast.StringExpr:
				at := s.places.Of(node)
				for _, key := range []wordKey{{at.Line, at.Word}, {0, at.Word}} {
					if _, first := s.words[key]; !first && at.Column > 0 {
						s.words[key] = place{Line: at.Line, Column: at.Column}
					}
				}
			}
			return true
		})
	}
	if at, ok := s.words[wordKey{line, text}]; ok {
		return at
	}
	return place{Line: line}
}

// wordKey is a word on a line, or with line 0 anywhere.
type wordKey struct {
	line int
	word string
}
